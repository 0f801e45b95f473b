-- Administrators read the audit of their organisation's tool calls: structure only, there is no content in it.
DROP POLICY creator ON assistant_actions;
CREATE POLICY own_or_administered ON assistant_actions FOR SELECT TO equerry_runtime
    USING (organisation_id = equerry_organisation() AND (created_by = equerry_user() OR equerry_role() = 'admin'));
CREATE POLICY own ON assistant_actions FOR INSERT TO equerry_runtime
    WITH CHECK (organisation_id = equerry_organisation() AND created_by = equerry_user());

CREATE INDEX assistant_actions_activity
    ON assistant_actions (organisation_id, created_at DESC, run_id DESC, position DESC);
