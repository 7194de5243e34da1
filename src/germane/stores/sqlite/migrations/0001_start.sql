-- What a store holds. Times are microseconds since 1970-01-01 UTC; a user of '' stands for agent-wide.

CREATE TABLE meta (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;

-- One row. `revision` rises with every commit that touches content; the others are the highest keys ever given out.
CREATE TABLE counters (one INTEGER PRIMARY KEY CHECK (one = 1), revision INTEGER NOT NULL, events INTEGER NOT NULL, memories INTEGER NOT NULL, erasures INTEGER NOT NULL);
INSERT INTO counters VALUES (1, 0, 0, 0, 0);

CREATE TABLE models (id INTEGER PRIMARY KEY, identity TEXT NOT NULL UNIQUE, dimension INTEGER NOT NULL);

-- Whose things: all that one user, or everybody of one agent, may see.
CREATE TABLE partitions (
  id INTEGER PRIMARY KEY,
  org TEXT NOT NULL,
  agent TEXT NOT NULL,
  user TEXT NOT NULL,
  revision INTEGER NOT NULL DEFAULT 0,
  UNIQUE (org, agent, user)
);

CREATE TABLE directives (partition INTEGER PRIMARY KEY REFERENCES partitions (id), text TEXT NOT NULL, revision INTEGER NOT NULL);

CREATE TABLE speakers (
  partition INTEGER NOT NULL REFERENCES partitions (id),
  name TEXT NOT NULL,
  code INTEGER NOT NULL,
  events INTEGER NOT NULL,
  PRIMARY KEY (partition, name)
) WITHOUT ROWID;

-- `number` counts a partition's sessions by beginning, `length` what is held, `next` is the next event's position.
CREATE TABLE sessions (
  key INTEGER PRIMARY KEY AUTOINCREMENT,
  partition INTEGER NOT NULL REFERENCES partitions (id),
  id TEXT NOT NULL,
  number INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  last_at INTEGER NOT NULL,
  length INTEGER NOT NULL,
  next INTEGER NOT NULL,
  UNIQUE (partition, id)
);
CREATE INDEX sessions_started ON sessions (partition, started_at);
CREATE INDEX sessions_last ON sessions (partition, last_at);

CREATE TABLE events (
  key INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  partition INTEGER NOT NULL,
  session INTEGER NOT NULL REFERENCES sessions (key),
  position INTEGER NOT NULL,
  type TEXT NOT NULL,
  role TEXT NOT NULL,
  name TEXT NOT NULL,
  text TEXT NOT NULL,
  message_id TEXT,
  created_at INTEGER NOT NULL,
  recorded_at INTEGER NOT NULL,
  sensitivity INTEGER NOT NULL,
  content_hash INTEGER NOT NULL,
  raw TEXT,
  provenance TEXT
);
CREATE UNIQUE INDEX events_id ON events (id);
CREATE UNIQUE INDEX events_position ON events (session, position);
CREATE UNIQUE INDEX events_message ON events (session, message_id) WHERE message_id IS NOT NULL;
CREATE INDEX events_time ON events (session, created_at, position);
CREATE INDEX events_type ON events (partition, type);

CREATE TABLE memories (
  key INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  partition INTEGER NOT NULL REFERENCES partitions (id),
  kind TEXT NOT NULL,
  content TEXT NOT NULL,
  fact_key TEXT,
  tags TEXT NOT NULL,
  session TEXT,
  message_id TEXT,
  provenance TEXT,
  sensitivity INTEGER NOT NULL,
  confidence REAL NOT NULL,
  pinned INTEGER NOT NULL,
  helpful INTEGER NOT NULL,
  harmful INTEGER NOT NULL,
  retrieval_count INTEGER NOT NULL,
  content_hash INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  valid_from INTEGER NOT NULL,
  valid_to INTEGER,
  expires_at INTEGER,
  superseded_by TEXT
);
CREATE UNIQUE INDEX memories_id ON memories (id);
CREATE INDEX memories_created ON memories (partition, created_at);
CREATE INDEX memories_hash ON memories (partition, content_hash);
CREATE INDEX memories_fact ON memories (partition, fact_key) WHERE fact_key IS NOT NULL;
CREATE INDEX memories_pinned ON memories (partition) WHERE pinned;
CREATE INDEX memories_session ON memories (partition, session) WHERE session IS NOT NULL;
CREATE INDEX memories_superseded ON memories (superseded_by) WHERE superseded_by IS NOT NULL;

CREATE TABLE memory_tags (
  partition INTEGER NOT NULL,
  tag TEXT NOT NULL,
  memory INTEGER NOT NULL REFERENCES memories (key) ON DELETE CASCADE,
  PRIMARY KEY (partition, tag, memory)
) WITHOUT ROWID;
CREATE INDEX memory_tags_memory ON memory_tags (memory);

-- The search rows: what germane.search.unit derives from a text, plus when and with which model. `key` is the thing's own.
CREATE TABLE units_events (
  key INTEGER PRIMARY KEY,
  partition INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  model INTEGER,
  session INTEGER NOT NULL,
  created_at REAL NOT NULL,
  terms BLOB NOT NULL,
  vector BLOB,
  flags INTEGER NOT NULL,
  speaker INTEGER NOT NULL,
  sensitivity INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  valid_from REAL NOT NULL,
  valid_to REAL NOT NULL,
  words INTEGER NOT NULL
);
CREATE INDEX units_events_revision ON units_events (partition, revision);
CREATE INDEX units_events_pending ON units_events (key) WHERE vector IS NULL;

CREATE TABLE units_memories (
  key INTEGER PRIMARY KEY,
  partition INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  model INTEGER,
  session INTEGER NOT NULL,
  created_at REAL NOT NULL,
  terms BLOB NOT NULL,
  vector BLOB,
  flags INTEGER NOT NULL,
  speaker INTEGER NOT NULL,
  sensitivity INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  valid_from REAL NOT NULL,
  valid_to REAL NOT NULL,
  words INTEGER NOT NULL
);
CREATE INDEX units_memories_revision ON units_memories (partition, revision);
CREATE INDEX units_memories_pending ON units_memories (key) WHERE vector IS NULL;

-- What was forgotten: who, when and why, no content. Readers in other processes follow it by revision.
CREATE TABLE tombstones (
  id TEXT PRIMARY KEY,
  what TEXT NOT NULL,
  key INTEGER NOT NULL,
  partition INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  at INTEGER NOT NULL,
  by TEXT NOT NULL,
  reason TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX tombstones_revision ON tombstones (partition, what, revision);
