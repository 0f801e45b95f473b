-- Which corpora somebody may read is known to the search itself. Null stands for all of them, so that nobody has to
-- list them first: that read every document of the organisation before each search.

-- Only its owner may replace a function, and needs CREATE on the schema at that moment.
GRANT CREATE ON SCHEMA public TO equerry_search;
SET LOCAL ROLE equerry_search;

CREATE OR REPLACE FUNCTION equerry_find_nearest(query vector, version_wanted text, corpora text[], wanted integer)
RETURNS TABLE (passage_id uuid, score double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    organisation text := equerry_organisation();
    keys text[] := equerry_qualify_keys(organisation, equerry_reader_keys());
BEGIN
    IF organisation IS NULL OR cardinality(keys) = 0 OR cardinality(corpora) = 0 THEN
        RETURN;
    END IF;
    -- Without iterative scans a filtered graph returns too little; relaxed order recalls more, and is sorted below.
    PERFORM set_config('hnsw.iterative_scan', 'relaxed_order', true), set_config('hnsw.ef_search', '200', true);
    RETURN QUERY
        WITH near AS MATERIALIZED (
            SELECT p.passage_id AS id, p.embedding <=> query AS distance
            FROM assistant_passages AS p
            WHERE p.superseded_at IS NULL AND p.organisation_id = organisation
                AND (corpora IS NULL OR p.corpus_id = ANY (corpora))
                AND p.readers && keys AND p.embedding_version = version_wanted
            ORDER BY p.embedding <=> query
            LIMIT wanted
        )
        SELECT near.id, 1 - near.distance FROM near ORDER BY near.distance, near.id;
END
$$;

CREATE OR REPLACE FUNCTION equerry_find_nearest_exact(query vector, version_wanted text, corpora text[], wanted integer)
RETURNS TABLE (passage_id uuid, score double precision)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_indexscan = off
AS $$
    SELECT p.passage_id, 1 - (p.embedding <=> query)
    FROM assistant_passages AS p
    WHERE p.superseded_at IS NULL AND p.organisation_id = equerry_organisation()
        AND (corpora IS NULL OR p.corpus_id = ANY (corpora))
        AND p.readers && equerry_qualify_keys(equerry_organisation(), equerry_reader_keys())
        AND p.embedding_version = version_wanted
    ORDER BY p.embedding <=> query, p.passage_id
    LIMIT wanted
$$;

CREATE OR REPLACE FUNCTION equerry_find_matching(question text, corpora text[], wanted integer)
RETURNS TABLE (passage_id uuid, score double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    organisation text := equerry_organisation();
    keys text[] := equerry_qualify_keys(organisation, equerry_reader_keys());
    terms text[];
    steps tsquery[];
    likeness tsquery;
    ids uuid[] := '{}';
    scores double precision[] := '{}';
    more_ids uuid[];
    more_scores double precision[];
BEGIN
    -- Lexemes, quoted: a person's words never reach the query parser as syntax.
    SELECT array_agg('''' || replace(replace(found.lexeme, '\', '\\'), '''', '''''') || '''')
        INTO terms
        FROM (SELECT lexeme FROM unnest(to_tsvector('english', question)) ORDER BY positions[1] LIMIT 16) AS found;
    IF organisation IS NULL OR cardinality(keys) = 0 OR cardinality(corpora) = 0 OR terms IS NULL THEN
        RETURN;
    END IF;
    likeness := array_to_string(terms, ' | ')::tsquery;
    steps := ARRAY[array_to_string(terms, ' & ')::tsquery];
    IF cardinality(terms) > 2 THEN
        steps := steps || (
            SELECT string_agg('(' || a.term || ' & ' || b.term || ')', ' | ')::tsquery
            FROM unnest(terms) WITH ORDINALITY AS a (term, n), unnest(terms) WITH ORDINALITY AS b (term, n)
            WHERE a.n < b.n
        );
    END IF;
    IF cardinality(terms) > 1 THEN
        steps := steps || likeness;
    END IF;
    FOR step IN 1 .. cardinality(steps) LOOP
        WITH candidate AS MATERIALIZED (
            SELECT p.passage_id AS id, p.words
            FROM assistant_passages AS p
            WHERE p.superseded_at IS NULL AND p.organisation_id = organisation
                AND (corpora IS NULL OR p.corpus_id = ANY (corpora)) AND p.readers && keys
                AND p.words @@ steps[step] AND p.passage_id <> ALL (ids)
            LIMIT 3000
        ), held AS MATERIALIZED (
            SELECT candidate.id, term.n
            FROM candidate, unnest(terms::tsquery[]) WITH ORDINALITY AS term (query, n)
            WHERE candidate.words @@ term.query
        ), rarity AS (
            SELECT held.n, ln(1 + (SELECT count(*) FROM candidate) / count(*)::double precision) AS weight
            FROM held GROUP BY held.n
        ), likely AS (
            SELECT held.id, sum(rarity.weight) / (SELECT sum(rarity.weight) FROM rarity) AS share
            FROM held JOIN rarity USING (n) GROUP BY held.id
        ), best AS (
            SELECT likely.id,
                (3 - step + 0.8 * likely.share + 0.2 * ts_rank(candidate.words, likeness, 32)) / 3 AS rank
            FROM likely JOIN candidate USING (id)
            ORDER BY rank DESC, likely.id
            LIMIT wanted - cardinality(ids)
        )
        SELECT array_agg(best.id ORDER BY best.rank DESC, best.id), array_agg(best.rank ORDER BY best.rank DESC, best.id)
            INTO more_ids, more_scores FROM best;
        ids := ids || coalesce(more_ids, '{}');
        scores := scores || coalesce(more_scores, '{}');
        EXIT WHEN cardinality(ids) >= wanted;
    END LOOP;
    RETURN QUERY SELECT * FROM unnest(ids, scores);
END
$$;

RESET ROLE;
REVOKE CREATE ON SCHEMA public FROM equerry_search;
