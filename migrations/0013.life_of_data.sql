-- What the platform role keeps to end the life of data: clocks of disabled organisations, what is still to be
-- deleted in other stores, and the proof that it was. No tenant sees or writes any of it.

-- An organisation the product reports as disabled, since when it has been seen so. The row goes last.
CREATE TABLE assistant_org_offboarding (
    organisation_id text PRIMARY KEY,
    first_disabled_at timestamptz NOT NULL,
    -- null: nothing has been removed yet; else a purge that died is taken up again by the next run
    purge_started_at timestamptz
);

-- Rows that went, whose remains lie outside this database. Written in the transaction that removed the rows, and
-- gone when the remains are: whoever dies in between is followed by somebody who finds it here.
CREATE TABLE assistant_disposals (
    disposal_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind text NOT NULL CHECK (kind IN ('conversation', 'run', 'document', 'person', 'organisation')),
    organisation_id text NOT NULL,
    user_id text NOT NULL DEFAULT '',
    thing_id text NOT NULL DEFAULT '',
    due_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX assistant_disposals_due ON assistant_disposals (organisation_id, user_id, disposal_id);

-- That a person was erased or an organisation purged: when, on whose request and how much. A person's id is there
-- until it is done, so that it can be taken up again, and only as a digest after that.
CREATE TABLE assistant_deletions (
    kind text NOT NULL CHECK (kind IN ('person', 'organisation')),
    digest text NOT NULL,
    request_id text NOT NULL,
    subject text,
    removed jsonb NOT NULL DEFAULT '[]',
    started_at timestamptz NOT NULL,
    completed_at timestamptz,
    PRIMARY KEY (kind, digest, request_id),
    CHECK (completed_at IS NULL OR subject IS NULL)
);

-- An organisation may keep its own for less time than the platform does.
ALTER TABLE assistant_tenancies
    ADD COLUMN conversation_days integer CHECK (conversation_days BETWEEN 30 AND 3650),
    ADD COLUMN action_days integer CHECK (action_days BETWEEN 90 AND 3650);

ALTER TABLE assistant_org_offboarding ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE assistant_disposals ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE assistant_deletions ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY operated ON assistant_org_offboarding TO equerry_platform USING (true);
CREATE POLICY operated ON assistant_disposals TO equerry_platform USING (true);
CREATE POLICY operated ON assistant_deletions TO equerry_platform USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON assistant_org_offboarding, assistant_disposals TO equerry_platform;
-- A proof is completed, never removed.
GRANT SELECT, INSERT, UPDATE ON assistant_deletions TO equerry_platform;

-- Erasure takes a person's key off what others may read too.
CREATE POLICY erasure_changes ON assistant_documents FOR UPDATE TO equerry_platform USING (true);
CREATE POLICY erasure_changes ON assistant_passages FOR UPDATE TO equerry_platform USING (true);
GRANT UPDATE (visible_to) ON assistant_documents, assistant_passages TO equerry_platform;

-- A person's rows, whatever their organisations: erasure asks so, and no index began with the person.
CREATE INDEX assistant_actions_person ON assistant_actions (created_by);
-- Conversations of one organisation by age, for those that keep them for less time.
CREATE INDEX assistant_conversations_aging ON assistant_conversations (organisation_id, updated_at);
-- What was withdrawn, by age.
CREATE INDEX assistant_documents_withdrawn ON assistant_documents (updated_at) WHERE status = 'deleted';
