-- Erasure asks for a person's rows whatever their organisations, and for what was opened to them by name. No index
-- began with the person, so it read each table whole.
CREATE INDEX assistant_conversations_person ON assistant_conversations (created_by);
CREATE INDEX assistant_usage_creator ON assistant_usage (created_by);

-- What everybody in an organisation may read names nobody: only the rest is worth an index.
CREATE INDEX assistant_documents_named ON assistant_documents USING gin (visible_to)
    WHERE visible_to <> ARRAY['organisation'];
CREATE INDEX assistant_passages_named ON assistant_passages USING gin (visible_to)
    WHERE visible_to <> ARRAY['organisation'];
