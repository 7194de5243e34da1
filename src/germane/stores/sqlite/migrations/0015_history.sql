-- Histories. What compactions took out of prompts, by handle, and the summaries that stand for it: `session` is the caller's id
-- of the session, whose messages needn't be stored. `messages` are JSON, after the policy on secrets was applied to them.
CREATE TABLE history_archive (
  key INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  partition INTEGER NOT NULL REFERENCES partitions (id),
  session TEXT NOT NULL,
  handle TEXT NOT NULL,
  kind TEXT NOT NULL,
  provider TEXT NOT NULL,
  title TEXT NOT NULL,
  previous TEXT NOT NULL,
  part INTEGER NOT NULL,
  messages TEXT NOT NULL,
  checksum TEXT NOT NULL,
  created_at INTEGER NOT NULL
);
CREATE UNIQUE INDEX history_archive_id ON history_archive (id);
CREATE UNIQUE INDEX history_archive_handle ON history_archive (partition, handle, session);
CREATE INDEX history_archive_session ON history_archive (partition, session);

CREATE TABLE history_summaries (
  key INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  partition INTEGER NOT NULL REFERENCES partitions (id),
  session TEXT NOT NULL,
  covers INTEGER NOT NULL,
  ids TEXT NOT NULL,
  text TEXT NOT NULL,
  method TEXT NOT NULL,
  tokens INTEGER NOT NULL,
  note TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  created_at INTEGER NOT NULL
);
CREATE UNIQUE INDEX history_summaries_id ON history_summaries (id);
CREATE UNIQUE INDEX history_summaries_fingerprint ON history_summaries (partition, session, fingerprint, method);

-- Outlines: a line for each exchange of a session that has ended, made from its messages from one position to another.
CREATE TABLE history_outlines (
  session INTEGER NOT NULL REFERENCES sessions (key) ON DELETE CASCADE,
  first INTEGER NOT NULL,
  last INTEGER NOT NULL,
  messages INTEGER NOT NULL,
  line TEXT NOT NULL,
  sensitivity INTEGER NOT NULL,
  PRIMARY KEY (session, first)
) WITHOUT ROWID;

-- The position before which every message of the session is in a line.
ALTER TABLE sessions ADD COLUMN outlined INTEGER NOT NULL DEFAULT 0;

-- Sessions whose ended exchanges don't all have their lines yet.
CREATE TABLE unoutlined (session INTEGER PRIMARY KEY REFERENCES sessions (key) ON DELETE CASCADE);
INSERT INTO unoutlined SELECT key FROM sessions WHERE document IS NULL;
