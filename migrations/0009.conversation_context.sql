-- Where a conversation stands in the product around it, what it is about, and whether it is still listed.
ALTER TABLE assistant_conversations
    ADD COLUMN surface text NOT NULL DEFAULT 'chat',
    ADD COLUMN about text,
    ADD COLUMN state text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'archived')),
    ADD COLUMN archived_at timestamptz,
    ADD COLUMN context jsonb,
    ADD CHECK ((state = 'archived') = (archived_at IS NOT NULL));

-- A page of the list is one walk along this index, whatever else the person or the organisation has.
CREATE INDEX assistant_conversations_active
    ON assistant_conversations (organisation_id, created_by, updated_at DESC, conversation_id DESC)
    WHERE state = 'active';
DROP INDEX assistant_conversations_recent;
-- The whole list, archived ones too, for erasure and for the owner's questions.
CREATE INDEX assistant_conversations_creator ON assistant_conversations (organisation_id, created_by);

-- What the page said about itself when the question was asked: hints, never authority.
ALTER TABLE assistant_messages ADD COLUMN context jsonb;

-- A message is written when it is final. Nobody changes one after that, not even who owns the table.
CREATE FUNCTION equerry_keep_message() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'a message never changes once it is written' USING ERRCODE = 'restrict_violation';
END
$$;
CREATE TRIGGER assistant_messages_final BEFORE UPDATE ON assistant_messages
    FOR EACH ROW EXECUTE FUNCTION equerry_keep_message();

-- What an organisation may use; without a row the deployment's own default holds.
CREATE TABLE assistant_tenancies (
    organisation_id text PRIMARY KEY,
    enabled boolean NOT NULL,
    -- null: every surface, every profile
    surfaces text[],
    profiles text[],
    updated_at timestamptz NOT NULL DEFAULT now()
);
ALTER TABLE assistant_tenancies ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON assistant_tenancies FOR SELECT TO equerry_runtime
    USING (organisation_id = equerry_organisation());
CREATE POLICY operated ON assistant_tenancies TO equerry_platform USING (true);
GRANT SELECT ON assistant_tenancies TO equerry_runtime;
GRANT SELECT, INSERT, UPDATE, DELETE ON assistant_tenancies TO equerry_platform;
