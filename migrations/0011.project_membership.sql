-- Which projects a conversation holds content of. It is there only for who belongs to all of them now, and so is
-- everything that hangs on it.

ALTER TABLE assistant_conversations
    ADD COLUMN project_ids text[] NOT NULL DEFAULT '{}',
    -- What is older than this has not been told of its projects: closed until the backfill has run.
    ADD COLUMN project_scope_known boolean NOT NULL DEFAULT false;
ALTER TABLE assistant_conversations ALTER COLUMN project_scope_known SET DEFAULT true;

-- The projects of whoever asks, as somebody found them out before this transaction.
CREATE FUNCTION equerry_projects() RETURNS text[] LANGUAGE sql STABLE PARALLEL SAFE
    RETURN coalesce(string_to_array(nullif(current_setting('app.project_ids', true), ''), ','), '{}');

-- Through which projects the reader came to see something; none where it is open to them without any.
CREATE FUNCTION equerry_shared_projects(visible_to text[]) RETURNS text[] LANGUAGE sql STABLE PARALLEL SAFE
    RETURN CASE
        WHEN visible_to && ARRAY['organisation', 'user:' || equerry_user()] THEN '{}'::text[]
        ELSE array(
            SELECT project FROM unnest(equerry_projects()) AS project
            WHERE 'project:' || project = ANY (visible_to) ORDER BY project
        )
    END;

-- A keeper writes down how a run of this creator's went, and ends it, also for one who has left a project meanwhile.
CREATE FUNCTION equerry_may_enter(scope_known boolean, project_ids text[]) RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN equerry_role() IS NOT DISTINCT FROM 'keeper' OR scope_known AND project_ids <@ equerry_projects();

-- For the tables that administrators read: they see no conversation but their own, yet its projects bind them too.
-- What outlives its conversation holds nobody's words, and stays.
CREATE POLICY membership ON assistant_conversations FOR SELECT TO equerry_membership USING (true);
GRANT SELECT ON assistant_conversations TO equerry_membership;
CREATE FUNCTION equerry_within_projects(wanted uuid) RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE SECURITY DEFINER
    SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT NOT EXISTS (
        SELECT FROM assistant_conversations AS conversation
        WHERE conversation.conversation_id = wanted AND conversation.organisation_id = equerry_organisation()
            AND NOT equerry_may_enter(conversation.project_scope_known, conversation.project_ids)
    )
$$;
REVOKE ALL ON FUNCTION equerry_within_projects(uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION equerry_within_projects(uuid) TO equerry_runtime;
GRANT CREATE ON SCHEMA public TO equerry_membership;
ALTER FUNCTION equerry_within_projects(uuid) OWNER TO equerry_membership;
REVOKE CREATE ON SCHEMA public FROM equerry_membership;

CREATE POLICY project_membership ON assistant_conversations AS RESTRICTIVE TO equerry_runtime
    USING (equerry_may_enter(project_scope_known, project_ids));

-- The conversation's own policies decide in these subqueries.
CREATE POLICY project_membership ON assistant_messages AS RESTRICTIVE TO equerry_runtime
    USING (EXISTS (SELECT FROM assistant_conversations AS conversation
        WHERE conversation.conversation_id = assistant_messages.conversation_id));
CREATE POLICY project_membership ON assistant_runs AS RESTRICTIVE TO equerry_runtime
    USING (EXISTS (SELECT FROM assistant_conversations AS conversation
        WHERE conversation.conversation_id = assistant_runs.conversation_id));
CREATE POLICY project_membership ON assistant_artifacts AS RESTRICTIVE TO equerry_runtime
    USING (EXISTS (SELECT FROM assistant_conversations AS conversation
        WHERE conversation.conversation_id = assistant_artifacts.conversation_id));
CREATE POLICY project_membership ON assistant_interactions AS RESTRICTIVE TO equerry_runtime
    USING (EXISTS (SELECT FROM assistant_conversations AS conversation
        WHERE conversation.conversation_id = assistant_interactions.conversation_id));

CREATE POLICY project_membership ON assistant_actions AS RESTRICTIVE TO equerry_runtime
    USING (equerry_within_projects(conversation_id));
CREATE POLICY project_membership ON assistant_run_records AS RESTRICTIVE TO equerry_runtime
    USING (equerry_within_projects(conversation_id));
CREATE POLICY project_membership ON assistant_steps AS RESTRICTIVE TO equerry_runtime
    USING (equerry_within_projects(conversation_id));
CREATE POLICY project_membership ON assistant_usage AS RESTRICTIVE TO equerry_runtime
    USING (equerry_within_projects(conversation_id));

-- Its index answers alone, as before: the policy asks for the conversation of each row.
DROP INDEX assistant_usage_person;
CREATE INDEX assistant_usage_person ON assistant_usage (organisation_id, created_by, at DESC)
    INCLUDE (characters, conversation_id);
