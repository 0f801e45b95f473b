-- A search and the join that reads what it found must see the database at one moment. A volatile function takes a
-- new snapshot for each of its statements: when a document was published in between, it named passages that the
-- query around it could not see yet, and the reader got nothing.
SET LOCAL ROLE equerry_search;
ALTER FUNCTION equerry_find_nearest(vector, text, text[], integer) STABLE;
ALTER FUNCTION equerry_find_nearest_exact(vector, text, text[], integer) STABLE;
ALTER FUNCTION equerry_find_matching(text, text[], integer) STABLE;
RESET ROLE;
