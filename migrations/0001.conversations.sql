-- Conversations and what hangs on them: private to their creator, in every table.
-- Identity comes from transaction settings alone; after a transaction such a setting reads '' rather than null.

CREATE FUNCTION equerry_organisation() RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
    RETURN nullif(current_setting('app.organisation_id', true), '');

CREATE FUNCTION equerry_user() RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
    RETURN nullif(current_setting('app.user_id', true), '');

CREATE FUNCTION equerry_role() RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
    RETURN nullif(current_setting('app.role', true), '');

CREATE TABLE assistant_conversations (
    conversation_id uuid PRIMARY KEY,
    organisation_id text NOT NULL,
    created_by text NOT NULL,
    profile text NOT NULL,
    title text NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    -- what children refer to, so that a child can never belong to somebody else than its conversation
    UNIQUE (conversation_id, organisation_id, created_by)
);
CREATE INDEX assistant_conversations_recent
    ON assistant_conversations (organisation_id, created_by, updated_at DESC);
CREATE INDEX assistant_conversations_stale ON assistant_conversations (updated_at);

CREATE TABLE assistant_messages (
    message_id uuid PRIMARY KEY,
    conversation_id uuid NOT NULL,
    organisation_id text NOT NULL,
    created_by text NOT NULL,
    run_id uuid NOT NULL,
    position bigint GENERATED ALWAYS AS IDENTITY,
    role text NOT NULL CHECK (role IN ('user', 'assistant')),
    content text NOT NULL,
    citations jsonb NOT NULL DEFAULT '[]',
    created_at timestamptz NOT NULL,
    FOREIGN KEY (conversation_id, organisation_id, created_by)
        REFERENCES assistant_conversations (conversation_id, organisation_id, created_by) ON DELETE CASCADE
);
CREATE INDEX assistant_messages_transcript ON assistant_messages (conversation_id, position);

CREATE TABLE assistant_runs (
    run_id uuid PRIMARY KEY,
    conversation_id uuid NOT NULL,
    organisation_id text NOT NULL,
    created_by text NOT NULL,
    user_message_id uuid NOT NULL,
    assistant_message_id uuid NOT NULL,
    profile text NOT NULL,
    profile_version text,
    mode text NOT NULL,
    mode_reason text NOT NULL,
    status text NOT NULL CHECK (status IN ('queued', 'running', 'ended')),
    provider_started boolean NOT NULL DEFAULT false,
    model_provider text,
    model_name text,
    stop_reason text,
    error_code text,
    error_message text,
    usage jsonb NOT NULL DEFAULT '{}',
    last_seq integer NOT NULL DEFAULT 0,
    citations_removed integer NOT NULL DEFAULT 0,
    passages_retrieved text[] NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL,
    started_at timestamptz,
    ended_at timestamptz,
    CHECK ((status = 'ended') = (stop_reason IS NOT NULL)),
    FOREIGN KEY (conversation_id, organisation_id, created_by)
        REFERENCES assistant_conversations (conversation_id, organisation_id, created_by) ON DELETE CASCADE
);
CREATE INDEX assistant_runs_active ON assistant_runs (conversation_id, created_at) WHERE status <> 'ended';
CREATE INDEX assistant_runs_conversation ON assistant_runs (conversation_id);

-- No foreign key: the audit outlives the conversation it describes.
CREATE TABLE assistant_actions (
    run_id uuid NOT NULL,
    call_id text NOT NULL,
    conversation_id uuid NOT NULL,
    organisation_id text NOT NULL,
    created_by text NOT NULL,
    position integer NOT NULL,
    tool text NOT NULL,
    arguments jsonb NOT NULL,
    ok boolean NOT NULL,
    summary text,
    duration_ms integer NOT NULL,
    model_id text,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (run_id, position)
);
CREATE INDEX assistant_actions_age ON assistant_actions (created_at);

CREATE TABLE assistant_artifacts (
    artifact_id uuid PRIMARY KEY,
    conversation_id uuid NOT NULL,
    organisation_id text NOT NULL,
    created_by text NOT NULL,
    run_id uuid NOT NULL,
    kind text NOT NULL,
    title text NOT NULL,
    size_bytes bigint NOT NULL CHECK (size_bytes >= 0),
    created_at timestamptz NOT NULL,
    FOREIGN KEY (conversation_id, organisation_id, created_by)
        REFERENCES assistant_conversations (conversation_id, organisation_id, created_by) ON DELETE CASCADE
);
CREATE INDEX assistant_artifacts_conversation ON assistant_artifacts (conversation_id, created_at);

CREATE TABLE assistant_interactions (
    interaction_id uuid PRIMARY KEY,
    conversation_id uuid NOT NULL,
    organisation_id text NOT NULL,
    created_by text NOT NULL,
    run_id uuid,
    kind text NOT NULL,
    details jsonb NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL,
    FOREIGN KEY (conversation_id, organisation_id, created_by)
        REFERENCES assistant_conversations (conversation_id, organisation_id, created_by) ON DELETE CASCADE
);
CREATE INDEX assistant_interactions_conversation ON assistant_interactions (conversation_id, created_at);

ALTER TABLE assistant_conversations ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE assistant_messages ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE assistant_runs ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE assistant_actions ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE assistant_artifacts ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE assistant_interactions ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY creator ON assistant_conversations TO equerry_runtime
    USING (organisation_id = equerry_organisation() AND created_by = equerry_user());
CREATE POLICY creator ON assistant_messages TO equerry_runtime
    USING (organisation_id = equerry_organisation() AND created_by = equerry_user());
CREATE POLICY creator ON assistant_runs TO equerry_runtime
    USING (organisation_id = equerry_organisation() AND created_by = equerry_user());
CREATE POLICY creator ON assistant_actions TO equerry_runtime
    USING (organisation_id = equerry_organisation() AND created_by = equerry_user());
CREATE POLICY creator ON assistant_artifacts TO equerry_runtime
    USING (organisation_id = equerry_organisation() AND created_by = equerry_user());
CREATE POLICY creator ON assistant_interactions TO equerry_runtime
    USING (organisation_id = equerry_organisation() AND created_by = equerry_user());

CREATE POLICY retention_reads ON assistant_conversations FOR SELECT TO equerry_platform USING (true);
CREATE POLICY retention_deletes ON assistant_conversations FOR DELETE TO equerry_platform USING (true);
CREATE POLICY retention_reads ON assistant_messages FOR SELECT TO equerry_platform USING (true);
CREATE POLICY retention_deletes ON assistant_messages FOR DELETE TO equerry_platform USING (true);
CREATE POLICY retention_reads ON assistant_runs FOR SELECT TO equerry_platform USING (true);
CREATE POLICY retention_deletes ON assistant_runs FOR DELETE TO equerry_platform USING (true);
CREATE POLICY retention_reads ON assistant_actions FOR SELECT TO equerry_platform USING (true);
CREATE POLICY retention_deletes ON assistant_actions FOR DELETE TO equerry_platform USING (true);
CREATE POLICY retention_reads ON assistant_artifacts FOR SELECT TO equerry_platform USING (true);
CREATE POLICY retention_deletes ON assistant_artifacts FOR DELETE TO equerry_platform USING (true);
CREATE POLICY retention_reads ON assistant_interactions FOR SELECT TO equerry_platform USING (true);
CREATE POLICY retention_deletes ON assistant_interactions FOR DELETE TO equerry_platform USING (true);

GRANT SELECT, INSERT, UPDATE ON assistant_conversations, assistant_runs TO equerry_runtime;
GRANT SELECT, INSERT ON assistant_messages, assistant_actions, assistant_artifacts, assistant_interactions
    TO equerry_runtime;
GRANT SELECT, DELETE ON assistant_conversations, assistant_messages, assistant_runs, assistant_actions,
    assistant_artifacts, assistant_interactions TO equerry_platform;
