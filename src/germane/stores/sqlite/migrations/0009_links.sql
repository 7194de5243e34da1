-- What belongs together among the memories of one owner: near-duplicates, of which one is shown at a time, and conflicts, which a
-- person decides. `one` and `other` are memories, the older one first.
CREATE TABLE links (
  id TEXT PRIMARY KEY,
  partition INTEGER NOT NULL,
  kind TEXT NOT NULL,
  one INTEGER NOT NULL,
  other INTEGER NOT NULL,
  reason TEXT NOT NULL,
  cosine REAL,
  created_at INTEGER NOT NULL,
  resolved_at INTEGER,
  kept TEXT,
  UNIQUE (one, other, kind)
) WITHOUT ROWID;
CREATE INDEX links_other ON links (other);
CREATE INDEX links_open ON links (partition, created_at) WHERE kind = 'conflict' AND resolved_at IS NULL;

-- Since when something that the memory was made from is no longer as it was.
ALTER TABLE memories ADD COLUMN stale_since INTEGER;
