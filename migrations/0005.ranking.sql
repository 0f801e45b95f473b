-- Ranks words by their rarity. Cover density over pairs of words took half a second on 20,000 passages; this takes
-- a twentieth of it and finds more.

-- Only its owner may replace a function, and needs CREATE on the schema at that moment.
GRANT CREATE ON SCHEMA public TO equerry_search;
SET LOCAL ROLE equerry_search;

-- Every word first, then two of them, then any. Each step ranks at most 3,000 passages: an unbounded "any" matches
-- a third of the table. A passage scores by the words it holds, rare ones counting more; how rare a word is, is
-- judged among the passages the reader may see.
CREATE OR REPLACE FUNCTION equerry_find_matching(question text, corpora text[], wanted integer)
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
                AND p.corpus_id = ANY (corpora) AND p.readers && keys
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
