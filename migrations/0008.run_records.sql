-- What a run was made of, did and cost. A record holds structure and never anybody's words, so an organisation's
-- administrators may read it; like the conversation it belongs to, it goes with that conversation.

CREATE TABLE assistant_run_records (
    run_id uuid PRIMARY KEY,
    conversation_id uuid NOT NULL,
    organisation_id text NOT NULL,
    created_by text NOT NULL,
    profile text NOT NULL,
    surface text,
    mode text NOT NULL,
    mode_reason text NOT NULL,
    status text NOT NULL DEFAULT 'queued' CHECK (status IN ('queued', 'running', 'ended')),
    trace_id text,
    attempts integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    composition jsonb NOT NULL DEFAULT '{}',
    outcome jsonb NOT NULL DEFAULT '{}',
    deliveries jsonb,
    stop_reason text,
    error_code text,
    created_at timestamptz NOT NULL,
    started_at timestamptz,
    first_text_at timestamptz,
    ended_at timestamptz,
    FOREIGN KEY (conversation_id, organisation_id, created_by)
        REFERENCES assistant_conversations (conversation_id, organisation_id, created_by) ON DELETE CASCADE
);
CREATE INDEX assistant_run_records_incident
    ON assistant_run_records (organisation_id, created_at DESC, run_id DESC);
CREATE INDEX assistant_run_records_profile
    ON assistant_run_records (organisation_id, profile, created_at DESC, run_id DESC);
CREATE INDEX assistant_run_records_conversation ON assistant_run_records (conversation_id);

-- A tool call while it runs and after it: what the person is shown, and what the audit is written from. A row
-- without an end is a call whose worker died.
CREATE TABLE assistant_steps (
    run_id uuid NOT NULL,
    position integer NOT NULL CHECK (position >= 0),
    conversation_id uuid NOT NULL,
    organisation_id text NOT NULL,
    created_by text NOT NULL,
    call_id text NOT NULL,
    tool text NOT NULL,
    label text NOT NULL,
    arguments jsonb NOT NULL,
    model_id text,
    started_at timestamptz NOT NULL,
    finished_at timestamptz,
    duration_ms integer,
    ok boolean,
    failure text,
    text text,
    facts jsonb NOT NULL DEFAULT '{}',
    account jsonb NOT NULL DEFAULT '{}',
    PRIMARY KEY (run_id, position),
    CHECK ((finished_at IS NULL) = (ok IS NULL)),
    FOREIGN KEY (conversation_id, organisation_id, created_by)
        REFERENCES assistant_conversations (conversation_id, organisation_id, created_by) ON DELETE CASCADE
);
CREATE INDEX assistant_steps_conversation ON assistant_steps (conversation_id);

-- Who spent what. No foreign key: like the audit, it outlives the conversation.
CREATE TABLE assistant_usage (
    run_id uuid PRIMARY KEY,
    conversation_id uuid NOT NULL,
    organisation_id text NOT NULL,
    created_by text NOT NULL,
    profile text NOT NULL,
    surface text,
    task_class text NOT NULL,
    mode text NOT NULL,
    model_provider text,
    model_name text,
    input_tokens bigint NOT NULL CHECK (input_tokens >= 0),
    output_tokens bigint NOT NULL CHECK (output_tokens >= 0),
    cached_input_tokens bigint NOT NULL,
    cache_write_tokens bigint NOT NULL,
    reasoning_tokens bigint NOT NULL,
    -- false: a round broke off, and no provider told what it counted
    complete boolean NOT NULL,
    -- null: nobody knows a price for the model
    cost_usd numeric(16, 8),
    priced_on date,
    tool_calls integer NOT NULL,
    passages integer NOT NULL CHECK (passages >= 0),
    characters bigint NOT NULL CHECK (characters >= 0),
    at timestamptz NOT NULL
);
CREATE INDEX assistant_usage_person ON assistant_usage (organisation_id, created_by, at DESC) INCLUDE (characters);
CREATE INDEX assistant_usage_age ON assistant_usage (at);

-- `ok` stays for rows from before; where both are null, the call never reported its end.
ALTER TABLE assistant_actions
    ALTER COLUMN ok DROP NOT NULL,
    ALTER COLUMN duration_ms DROP NOT NULL,
    ADD COLUMN outcome text CHECK (outcome IN ('ok', 'error', 'refused')),
    ADD COLUMN result_summary jsonb NOT NULL DEFAULT '{}',
    ADD COLUMN target text,
    ADD COLUMN operation text,
    ADD COLUMN applied_record text,
    ADD COLUMN edited boolean;
CREATE INDEX assistant_actions_accepted ON assistant_actions (organisation_id, created_at)
    WHERE tool = 'draft_accepted';

ALTER TABLE assistant_run_records ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE assistant_steps ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE assistant_usage ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY own_or_administered ON assistant_run_records FOR SELECT TO equerry_runtime
    USING (organisation_id = equerry_organisation() AND (created_by = equerry_user() OR equerry_role() = 'admin'));
CREATE POLICY own_new ON assistant_run_records FOR INSERT TO equerry_runtime
    WITH CHECK (organisation_id = equerry_organisation() AND created_by = equerry_user());
CREATE POLICY own_changed ON assistant_run_records FOR UPDATE TO equerry_runtime
    USING (organisation_id = equerry_organisation() AND created_by = equerry_user());

CREATE POLICY own_or_administered ON assistant_steps FOR SELECT TO equerry_runtime
    USING (organisation_id = equerry_organisation() AND (created_by = equerry_user() OR equerry_role() = 'admin'));
CREATE POLICY own_new ON assistant_steps FOR INSERT TO equerry_runtime
    WITH CHECK (organisation_id = equerry_organisation() AND created_by = equerry_user());
CREATE POLICY own_changed ON assistant_steps FOR UPDATE TO equerry_runtime
    USING (organisation_id = equerry_organisation() AND created_by = equerry_user());

CREATE POLICY own_or_administered ON assistant_usage FOR SELECT TO equerry_runtime
    USING (organisation_id = equerry_organisation() AND (created_by = equerry_user() OR equerry_role() = 'admin'));
CREATE POLICY own_new ON assistant_usage FOR INSERT TO equerry_runtime
    WITH CHECK (organisation_id = equerry_organisation() AND created_by = equerry_user());

CREATE POLICY retention_reads ON assistant_run_records FOR SELECT TO equerry_platform USING (true);
CREATE POLICY retention_deletes ON assistant_run_records FOR DELETE TO equerry_platform USING (true);
CREATE POLICY retention_reads ON assistant_steps FOR SELECT TO equerry_platform USING (true);
CREATE POLICY retention_deletes ON assistant_steps FOR DELETE TO equerry_platform USING (true);
CREATE POLICY retention_reads ON assistant_usage FOR SELECT TO equerry_platform USING (true);
CREATE POLICY retention_deletes ON assistant_usage FOR DELETE TO equerry_platform USING (true);

GRANT SELECT, INSERT, UPDATE ON assistant_run_records, assistant_steps TO equerry_runtime;
GRANT SELECT, INSERT ON assistant_usage TO equerry_runtime;
GRANT SELECT, DELETE ON assistant_run_records, assistant_steps, assistant_usage TO equerry_platform;
