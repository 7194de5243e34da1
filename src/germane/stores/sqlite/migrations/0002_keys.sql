-- API keys: whose each is and what it opens. Of the key itself only a SHA-256: what opens anything can't be read from here.
-- `agents` is a JSON list, or NULL for every agent of the org; `rights` is a JSON list.
CREATE TABLE keys (
  id TEXT PRIMARY KEY,
  digest BLOB NOT NULL,
  org TEXT NOT NULL,
  agents TEXT,
  rights TEXT NOT NULL,
  note TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  revoked_at INTEGER,
  replaced_by TEXT,
  last_used_at INTEGER
) WITHOUT ROWID;
CREATE INDEX keys_org ON keys (org, created_at, id);
