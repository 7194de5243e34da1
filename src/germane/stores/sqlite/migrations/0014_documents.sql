-- Documents: sessions whose events are passages. `document` is what is known of one, as JSON; NULL for a conversation.
ALTER TABLE sessions ADD COLUMN document TEXT;
DROP INDEX sessions_started;
DROP INDEX sessions_last;
CREATE INDEX sessions_started ON sessions (partition, started_at) WHERE document IS NULL;
CREATE INDEX sessions_last ON sessions (partition, last_at) WHERE document IS NULL;
CREATE INDEX sessions_documents ON sessions (partition, started_at) WHERE document IS NOT NULL;
