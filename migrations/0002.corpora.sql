-- Corpora, documents and passages. A passage is seen by readers who hold one of its keys; the indexer, which
-- acts for the organisation and not for a person, says so in app.role.

CREATE EXTENSION IF NOT EXISTS vector;

-- The reader keys of whoever asks: none at all unless both organisation and user are known.
CREATE FUNCTION equerry_reader_keys() RETURNS text[] LANGUAGE sql STABLE PARALLEL SAFE
    RETURN CASE
        WHEN nullif(current_setting('app.organisation_id', true), '') IS NULL
            OR nullif(current_setting('app.user_id', true), '') IS NULL THEN '{}'::text[]
        WHEN nullif(current_setting('app.project_ids', true), '') IS NULL
            THEN ARRAY['organisation', 'user:' || current_setting('app.user_id', true)]
        ELSE ARRAY['organisation', 'user:' || current_setting('app.user_id', true)]
            || string_to_array('project:' || replace(current_setting('app.project_ids', true), ',', ',project:'), ',')
    END;

-- Reader keys that name their organisation too, so that one index answers "whose" and "who may" together.
CREATE FUNCTION equerry_qualify_keys(organisation text, keys text[]) RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
    RETURN array(SELECT organisation || '/' || key FROM unnest(keys) AS key);

CREATE FUNCTION equerry_index_words(title text, heading_path text[], body text) RETURNS tsvector
    LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
    RETURN setweight(to_tsvector('english'::regconfig, title), 'C')
        || setweight(to_tsvector('english'::regconfig, array_to_string(heading_path, ' ')), 'B')
        || setweight(to_tsvector('english'::regconfig, body), 'D');

CREATE TABLE assistant_corpora (
    organisation_id text NOT NULL,
    corpus_id text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (organisation_id, corpus_id)
);

CREATE TABLE assistant_documents (
    document_id uuid PRIMARY KEY,
    organisation_id text NOT NULL,
    corpus_id text NOT NULL,
    path text COLLATE "C" NOT NULL,
    title text NOT NULL,
    status text NOT NULL CHECK (status IN ('pending', 'published', 'failed', 'deleted')),
    reason text,
    sha256 text NOT NULL,
    size_bytes bigint NOT NULL,
    visible_to text[] NOT NULL CHECK (cardinality(visible_to) > 0),
    version integer NOT NULL DEFAULT 0,
    passages integer NOT NULL DEFAULT 0,
    embedded integer NOT NULL DEFAULT 0,
    published_sha256 text,
    published_pipeline text,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (organisation_id, corpus_id, path),
    FOREIGN KEY (organisation_id, corpus_id) REFERENCES assistant_corpora,
    UNIQUE (document_id, organisation_id, corpus_id)
);

CREATE TABLE assistant_passages (
    passage_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    organisation_id text NOT NULL,
    corpus_id text NOT NULL,
    document_id uuid NOT NULL,
    version integer NOT NULL CHECK (version > 0),
    ordinal integer NOT NULL CHECK (ordinal >= 0),
    title text NOT NULL,
    source_path text NOT NULL,
    heading_path text[] NOT NULL,
    text text NOT NULL,
    token_count integer NOT NULL,
    hash text NOT NULL,
    embedding vector(384) NOT NULL,
    embedding_version text NOT NULL,
    visible_to text[] NOT NULL CHECK (cardinality(visible_to) > 0),
    readers text[] NOT NULL GENERATED ALWAYS AS (equerry_qualify_keys(organisation_id, visible_to)) STORED,
    words tsvector NOT NULL GENERATED ALWAYS AS (equerry_index_words(title, heading_path, text)) STORED,
    created_at timestamptz NOT NULL DEFAULT now(),
    superseded_at timestamptz,
    withdrawn_at timestamptz,
    CHECK (withdrawn_at IS NULL OR superseded_at IS NOT NULL),
    FOREIGN KEY (document_id, organisation_id, corpus_id)
        REFERENCES assistant_documents (document_id, organisation_id, corpus_id)
);
CREATE INDEX assistant_passages_document ON assistant_passages (document_id, hash);
CREATE INDEX assistant_passages_superseded ON assistant_passages (superseded_at)
    WHERE superseded_at IS NOT NULL;
CREATE INDEX assistant_passages_tenant ON assistant_passages (organisation_id, corpus_id)
    WHERE superseded_at IS NULL;
CREATE INDEX assistant_passages_readers ON assistant_passages USING gin (readers)
    WHERE superseded_at IS NULL;
CREATE INDEX assistant_passages_words ON assistant_passages USING gin (words)
    WHERE superseded_at IS NULL;
CREATE INDEX assistant_passages_embedding ON assistant_passages USING hnsw (embedding vector_cosine_ops)
    WHERE superseded_at IS NULL;

ALTER TABLE assistant_corpora ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE assistant_documents ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE assistant_passages ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY tenant ON assistant_corpora TO equerry_runtime
    USING (organisation_id = equerry_organisation())
    WITH CHECK (organisation_id = equerry_organisation() AND equerry_role() IN ('admin', 'indexer'));

CREATE POLICY readers ON assistant_documents FOR SELECT TO equerry_runtime
    USING (organisation_id = equerry_organisation()
        AND (visible_to && equerry_reader_keys() OR equerry_role() IN ('admin', 'indexer')));
CREATE POLICY announced ON assistant_documents FOR INSERT TO equerry_runtime
    WITH CHECK (organisation_id = equerry_organisation() AND equerry_role() IN ('admin', 'indexer'));
CREATE POLICY maintained ON assistant_documents FOR UPDATE TO equerry_runtime
    USING (organisation_id = equerry_organisation() AND equerry_role() IN ('admin', 'indexer'));

CREATE POLICY readers ON assistant_passages FOR SELECT TO equerry_runtime
    USING (organisation_id = equerry_organisation()
        AND (visible_to && equerry_reader_keys() AND withdrawn_at IS NULL OR equerry_role() = 'indexer'));
CREATE POLICY published ON assistant_passages FOR INSERT TO equerry_runtime
    WITH CHECK (organisation_id = equerry_organisation() AND equerry_role() = 'indexer');
CREATE POLICY maintained ON assistant_passages FOR UPDATE TO equerry_runtime
    USING (organisation_id = equerry_organisation() AND equerry_role() = 'indexer');

CREATE POLICY retention_reads ON assistant_corpora FOR SELECT TO equerry_platform USING (true);
CREATE POLICY retention_deletes ON assistant_corpora FOR DELETE TO equerry_platform USING (true);
CREATE POLICY retention_reads ON assistant_documents FOR SELECT TO equerry_platform USING (true);
CREATE POLICY retention_deletes ON assistant_documents FOR DELETE TO equerry_platform USING (true);
CREATE POLICY retention_reads ON assistant_passages FOR SELECT TO equerry_platform USING (true);
CREATE POLICY retention_deletes ON assistant_passages FOR DELETE TO equerry_platform USING (true);

GRANT SELECT, INSERT ON assistant_corpora TO equerry_runtime;
GRANT SELECT, INSERT, UPDATE ON assistant_documents, assistant_passages TO equerry_runtime;
GRANT SELECT, DELETE ON assistant_corpora, assistant_documents, assistant_passages TO equerry_platform;
