-- Writes that somebody was proposed and has yet to judge, or has judged. Private to who was asked, who need not be
-- whose conversation it is; there only while they may enter it.

ALTER TABLE assistant_conversations ADD UNIQUE (conversation_id, organisation_id);

CREATE TABLE assistant_drafts (
    draft_id uuid PRIMARY KEY,
    conversation_id uuid NOT NULL,
    organisation_id text NOT NULL,
    created_by text NOT NULL,
    run_id uuid NOT NULL,
    -- a model's own call, or a proposal that was put into form for it
    source text NOT NULL CHECK (source IN ('tool_call', 'advisory_formalize')),
    operation text NOT NULL,
    request jsonb NOT NULL,
    status text NOT NULL DEFAULT 'pending'
        CHECK (status IN ('pending', 'applying', 'accepted', 'rejected', 'superseded')),
    -- what a change or a judgement is about: an older one is refused
    version integer NOT NULL DEFAULT 1 CHECK (version > 0),
    last_error text,
    -- accepted, and the assistant has not yet gone on from there
    continuation_pending boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    CHECK (status = 'accepted' OR NOT continuation_pending),
    FOREIGN KEY (conversation_id, organisation_id)
        REFERENCES assistant_conversations (conversation_id, organisation_id) ON DELETE CASCADE
);
CREATE INDEX assistant_drafts_conversation ON assistant_drafts (conversation_id, created_at);
-- Erasure asks by the person alone.
CREATE INDEX assistant_drafts_creator ON assistant_drafts (created_by);

ALTER TABLE assistant_drafts ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY creator ON assistant_drafts TO equerry_runtime
    USING (organisation_id = equerry_organisation() AND created_by = equerry_user());
CREATE POLICY project_membership ON assistant_drafts AS RESTRICTIVE TO equerry_runtime
    USING (equerry_within_projects(conversation_id));
CREATE POLICY retention_reads ON assistant_drafts FOR SELECT TO equerry_platform USING (true);
CREATE POLICY retention_deletes ON assistant_drafts FOR DELETE TO equerry_platform USING (true);
GRANT SELECT, INSERT, UPDATE ON assistant_drafts TO equerry_runtime;
GRANT SELECT, DELETE ON assistant_drafts TO equerry_platform;
