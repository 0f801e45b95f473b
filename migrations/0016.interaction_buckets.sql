-- How somebody met a feature, and which message or suggestion it was about. Counting uses needs the four told apart:
-- what is only ever interacted with would otherwise look unused.
ALTER TABLE assistant_interactions
    ADD COLUMN bucket text NOT NULL DEFAULT 'interacted'
        CHECK (bucket IN ('viewed', 'applied', 'submitted', 'interacted')),
    ADD COLUMN about text;
