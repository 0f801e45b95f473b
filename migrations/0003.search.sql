-- The two searches. Under a policy `@@` cannot be an index condition, because it is not leakproof, so these run
-- as equerry_search, whose policy is `true`, and spell the tenant's policy out. Identity is never a parameter.

CREATE POLICY search ON assistant_passages FOR SELECT TO equerry_search USING (true);
GRANT SELECT ON assistant_passages TO equerry_search;

CREATE FUNCTION equerry_find_nearest(query vector, version_wanted text, corpora text[], wanted integer)
RETURNS TABLE (passage_id uuid, score double precision)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
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
            WHERE p.superseded_at IS NULL AND p.organisation_id = organisation AND p.corpus_id = ANY (corpora)
                AND p.readers && keys AND p.embedding_version = version_wanted
            ORDER BY p.embedding <=> query
            LIMIT wanted
        )
        SELECT near.id, 1 - near.distance FROM near ORDER BY near.distance, near.id;
END
$$;

-- For when the graph gave up before it had enough: the same rows, without it.
CREATE FUNCTION equerry_find_nearest_exact(query vector, version_wanted text, corpora text[], wanted integer)
RETURNS TABLE (passage_id uuid, score double precision)
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_indexscan = off
AS $$
    SELECT p.passage_id, 1 - (p.embedding <=> query)
    FROM assistant_passages AS p
    WHERE p.superseded_at IS NULL AND p.organisation_id = equerry_organisation() AND p.corpus_id = ANY (corpora)
        AND p.readers && equerry_qualify_keys(equerry_organisation(), equerry_reader_keys())
        AND p.embedding_version = version_wanted
    ORDER BY p.embedding <=> query, p.passage_id
    LIMIT wanted
$$;

-- Every word first, then two of them, then any. Each step ranks at most 4,000 passages: an unbounded "any" matches
-- a third of the table.
CREATE FUNCTION equerry_find_matching(question text, corpora text[], wanted integer)
RETURNS TABLE (passage_id uuid, score double precision)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    organisation text := equerry_organisation();
    keys text[] := equerry_qualify_keys(organisation, equerry_reader_keys());
    terms text[];
    steps tsquery[];
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
    steps := ARRAY[array_to_string(terms, ' & ')::tsquery];
    IF cardinality(terms) > 2 THEN
        steps := steps || (
            SELECT string_agg('(' || a.term || ' & ' || b.term || ')', ' | ')::tsquery
            FROM unnest(terms) WITH ORDINALITY AS a (term, n), unnest(terms) WITH ORDINALITY AS b (term, n)
            WHERE a.n < b.n
        );
    END IF;
    IF cardinality(terms) > 1 THEN
        steps := steps || array_to_string(terms, ' | ')::tsquery;
    END IF;
    FOR step IN 1 .. cardinality(steps) LOOP
        SELECT array_agg(best.id ORDER BY best.rank DESC, best.id), array_agg(best.rank ORDER BY best.rank DESC, best.id)
            INTO more_ids, more_scores
            FROM (
                SELECT candidate.id, (3 - step + ts_rank_cd(candidate.words, steps[step], 32)) / 3 AS rank
                FROM (
                    SELECT p.passage_id AS id, p.words
                    FROM assistant_passages AS p
                    WHERE p.superseded_at IS NULL AND p.organisation_id = organisation
                        AND p.corpus_id = ANY (corpora) AND p.readers && keys
                        AND p.words @@ steps[step] AND p.passage_id <> ALL (ids)
                    LIMIT 4000
                ) AS candidate
                ORDER BY rank DESC, candidate.id
                LIMIT wanted - cardinality(ids)
            ) AS best;
        ids := ids || coalesce(more_ids, '{}');
        scores := scores || coalesce(more_scores, '{}');
        EXIT WHEN cardinality(ids) >= wanted;
    END LOOP;
    RETURN QUERY SELECT * FROM unnest(ids, scores);
END
$$;

REVOKE ALL ON FUNCTION equerry_find_nearest(vector, text, text[], integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION equerry_find_nearest_exact(vector, text, text[], integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION equerry_find_matching(text, text[], integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION equerry_find_nearest(vector, text, text[], integer) TO equerry_runtime;
GRANT EXECUTE ON FUNCTION equerry_find_nearest_exact(vector, text, text[], integer) TO equerry_runtime;
GRANT EXECUTE ON FUNCTION equerry_find_matching(text, text[], integer) TO equerry_runtime;

-- A new owner needs CREATE on the schema at that moment, and never again.
GRANT CREATE ON SCHEMA public TO equerry_search;
ALTER FUNCTION equerry_find_nearest(vector, text, text[], integer) OWNER TO equerry_search;
ALTER FUNCTION equerry_find_nearest_exact(vector, text, text[], integer) OWNER TO equerry_search;
ALTER FUNCTION equerry_find_matching(text, text[], integer) OWNER TO equerry_search;
REVOKE CREATE ON SCHEMA public FROM equerry_search;
