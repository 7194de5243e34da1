-- The tables as they are today: what the scripts in migrations/ make of an empty file, with the indexes.
-- `make docs` writes this file, for people to read. A store is made by the scripts.

CREATE TABLE archival_entries (
  key INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  partition INTEGER NOT NULL REFERENCES partitions (id),
  text TEXT NOT NULL,
  metadata TEXT NOT NULL,
  created_at INTEGER NOT NULL
);
CREATE UNIQUE INDEX archival_entries_id ON archival_entries (id);
CREATE INDEX archival_entries_partition ON archival_entries (partition, created_at);

CREATE TABLE block_consents (
  id TEXT PRIMARY KEY,
  block INTEGER NOT NULL REFERENCES blocks (key) ON DELETE CASCADE,
  requester INTEGER NOT NULL,
  asked_of TEXT NOT NULL,
  operation TEXT NOT NULL,
  needs TEXT NOT NULL,
  digest BLOB NOT NULL,
  requested_by TEXT NOT NULL,
  requested_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  state TEXT NOT NULL,
  scope TEXT,
  until INTEGER,
  answered_at INTEGER,
  used_at INTEGER
) WITHOUT ROWID;
CREATE INDEX block_consents_block ON block_consents (block, requested_at);
CREATE INDEX block_consents_requester ON block_consents (requester);

CREATE TABLE block_shares (
  block INTEGER NOT NULL REFERENCES blocks (key) ON DELETE CASCADE,
  grantee INTEGER NOT NULL REFERENCES partitions (id),
  permission TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (block, grantee)
) WITHOUT ROWID;
CREATE INDEX block_shares_grantee ON block_shares (grantee);

CREATE TABLE block_snapshots (
  block INTEGER PRIMARY KEY REFERENCES blocks (key) ON DELETE CASCADE,
  number INTEGER NOT NULL,
  data BLOB NOT NULL
);

CREATE TABLE block_versions (
  block INTEGER NOT NULL REFERENCES blocks (key) ON DELETE CASCADE,
  number INTEGER NOT NULL,
  kind TEXT NOT NULL,
  at INTEGER NOT NULL,
  by TEXT NOT NULL,
  operation TEXT NOT NULL,
  reason TEXT NOT NULL,
  characters INTEGER NOT NULL,
  content_hash BLOB NOT NULL,
  frontiers BLOB NOT NULL,
  delta BLOB,
  size INTEGER NOT NULL,
  target INTEGER,
  span INTEGER,
  undone_by INTEGER,
  PRIMARY KEY (block, number)
);

CREATE TABLE blocks (
  key INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  partition INTEGER NOT NULL REFERENCES partitions (id),
  label TEXT NOT NULL,
  label_key TEXT NOT NULL,
  description TEXT NOT NULL,
  type TEXT NOT NULL,
  schema TEXT NOT NULL,
  permission TEXT NOT NULL,
  max_characters INTEGER NOT NULL,
  pinned INTEGER NOT NULL,
  text TEXT NOT NULL,
  content_hash BLOB NOT NULL,
  version INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  deleted_at INTEGER
);
CREATE UNIQUE INDEX blocks_id ON blocks (id);
CREATE UNIQUE INDEX blocks_label ON blocks (partition, label_key) WHERE deleted_at IS NULL;
CREATE INDEX blocks_partition ON blocks (partition);
CREATE INDEX blocks_standing ON blocks (partition)
  WHERE deleted_at IS NULL AND (type = 'core' OR (type = 'working' AND pinned));

CREATE TABLE counters (one INTEGER PRIMARY KEY CHECK (one = 1), revision INTEGER NOT NULL, events INTEGER NOT NULL, memories INTEGER NOT NULL, erasures INTEGER NOT NULL, erased INTEGER NOT NULL DEFAULT 0, scrubbed INTEGER NOT NULL DEFAULT 0, erased_at INTEGER, vanished INTEGER NOT NULL DEFAULT 0, replaced INTEGER NOT NULL DEFAULT 0, blocks INTEGER NOT NULL DEFAULT 0, tasks INTEGER NOT NULL DEFAULT 0);

CREATE TABLE "derivations" (
  source TEXT NOT NULL,
  thing TEXT NOT NULL,
  partition INTEGER NOT NULL REFERENCES partitions (id),
  PRIMARY KEY (source, thing)
) WITHOUT ROWID;
CREATE INDEX derivations_thing ON derivations (thing);

CREATE TABLE directives (partition INTEGER PRIMARY KEY REFERENCES partitions (id), text TEXT NOT NULL, revision INTEGER NOT NULL, id TEXT NOT NULL DEFAULT '');
CREATE INDEX directives_id ON directives (id);

CREATE TABLE entities (
  key INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  partition INTEGER NOT NULL REFERENCES partitions (id),
  type TEXT NOT NULL,
  name TEXT NOT NULL,
  name_key TEXT NOT NULL,
  aliases TEXT NOT NULL,
  properties TEXT NOT NULL,
  salience REAL NOT NULL,
  salient_at INTEGER NOT NULL,
  rank REAL NOT NULL,
  mentions INTEGER NOT NULL,
  sensitivity INTEGER NOT NULL,
  stated TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
);
CREATE UNIQUE INDEX entities_id ON entities (id);
CREATE INDEX entities_name ON entities (partition, name_key, id);
CREATE INDEX entities_rank ON entities (partition, type, rank DESC, id);
CREATE INDEX entities_salient ON entities (partition, salient_at);
CREATE INDEX entities_type ON entities (partition, type, name_key, id);

CREATE TABLE entity_names (
  partition INTEGER NOT NULL,
  key TEXT NOT NULL,
  entity INTEGER NOT NULL REFERENCES entities (key) ON DELETE CASCADE,
  PRIMARY KEY (partition, key, entity)
) WITHOUT ROWID;
CREATE INDEX entity_names_entity ON entity_names (entity);

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
, outcome TEXT NOT NULL DEFAULT '', task TEXT);
CREATE UNIQUE INDEX events_id ON events (id);
CREATE UNIQUE INDEX events_message ON events (session, message_id) WHERE message_id IS NOT NULL;
CREATE UNIQUE INDEX events_position ON events (session, position);
CREATE INDEX events_task ON events (partition, task) WHERE task IS NOT NULL;
CREATE INDEX events_time ON events (session, created_at, position);
CREATE INDEX events_type ON events (partition, type);

CREATE TABLE extraction_queue (
  session INTEGER NOT NULL REFERENCES sessions (key) ON DELETE CASCADE,
  first INTEGER NOT NULL,
  stop INTEGER,
  state INTEGER NOT NULL,
  not_before INTEGER NOT NULL,
  tries INTEGER NOT NULL DEFAULT 0,
  reason TEXT NOT NULL DEFAULT '',
  holder TEXT NOT NULL DEFAULT '',
  leased_until INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (session, first)
) WITHOUT ROWID;
CREATE INDEX extraction_queue_due ON extraction_queue (state, not_before) WHERE state > 0;
CREATE UNIQUE INDEX extraction_queue_open ON extraction_queue (session) WHERE stop IS NULL;

CREATE TABLE forgotten_handles (
  mark TEXT PRIMARY KEY
) WITHOUT ROWID;

CREATE TABLE forgotten_scopes (
  mark TEXT PRIMARY KEY,
  at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX forgotten_scopes_at ON forgotten_scopes (at);

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
CREATE UNIQUE INDEX history_archive_handle ON history_archive (partition, handle, session);
CREATE UNIQUE INDEX history_archive_id ON history_archive (id);
CREATE INDEX history_archive_session ON history_archive (partition, session);

CREATE TABLE history_outlines (
  session INTEGER NOT NULL REFERENCES sessions (key) ON DELETE CASCADE,
  first INTEGER NOT NULL,
  last INTEGER NOT NULL,
  messages INTEGER NOT NULL,
  line TEXT NOT NULL,
  sensitivity INTEGER NOT NULL,
  PRIMARY KEY (session, first)
) WITHOUT ROWID;

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
CREATE UNIQUE INDEX history_summaries_fingerprint ON history_summaries (partition, session, fingerprint, method);
CREATE UNIQUE INDEX history_summaries_id ON history_summaries (id);

CREATE TABLE injected_items (
  item TEXT NOT NULL,
  injection INTEGER NOT NULL REFERENCES injections (key) ON DELETE CASCADE,
  PRIMARY KEY (item, injection)
) WITHOUT ROWID;
CREATE INDEX injected_items_injection ON injected_items (injection);

CREATE TABLE injections (
  key INTEGER PRIMARY KEY AUTOINCREMENT,
  partition INTEGER NOT NULL REFERENCES partitions (id),
  session TEXT NOT NULL,
  turn TEXT NOT NULL,
  said TEXT NOT NULL,
  occurrence INTEGER NOT NULL,
  text TEXT NOT NULL,
  tokens INTEGER NOT NULL,
  tokenizer TEXT NOT NULL,
  last_handle INTEGER NOT NULL,
  items TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  withdrawn TEXT NOT NULL DEFAULT '', relies_on TEXT NOT NULL DEFAULT '[]', prefix TEXT NOT NULL DEFAULT '',
  UNIQUE (partition, session, turn, occurrence)
);
CREATE INDEX injections_created ON injections (partition, created_at);

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
CREATE INDEX links_open ON links (partition, created_at) WHERE kind = 'conflict' AND resolved_at IS NULL;
CREATE INDEX links_other ON links (other);

CREATE TABLE llm_usage (
  day INTEGER NOT NULL,
  partition INTEGER NOT NULL REFERENCES partitions (id),
  calls INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  PRIMARY KEY (day, partition)
) WITHOUT ROWID;

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
, derived_from TEXT NOT NULL DEFAULT '[]', stale_since INTEGER);
CREATE INDEX memories_created ON memories (partition, created_at);
CREATE INDEX memories_fact ON memories (partition, fact_key, ifnull(valid_to, 9223372036854775807)) WHERE fact_key IS NOT NULL;
CREATE INDEX memories_hash ON memories (partition, content_hash, ifnull(valid_to, 9223372036854775807));
CREATE UNIQUE INDEX memories_id ON memories (id);
CREATE INDEX memories_pinned ON memories (partition) WHERE pinned;
CREATE INDEX memories_replaced ON memories (partition) WHERE json_type(provenance, '$.metadata.replaced') = 'array';
CREATE INDEX memories_session ON memories (partition, session) WHERE session IS NOT NULL;
CREATE INDEX memories_superseded ON memories (superseded_by) WHERE superseded_by IS NOT NULL;

CREATE TABLE memory_tags (
  partition INTEGER NOT NULL,
  tag TEXT NOT NULL,
  memory INTEGER NOT NULL REFERENCES memories (key) ON DELETE CASCADE,
  PRIMARY KEY (partition, tag, memory)
) WITHOUT ROWID;
CREATE INDEX memory_tags_memory ON memory_tags (memory);

CREATE TABLE mentions (
  domain TEXT NOT NULL,
  thing INTEGER NOT NULL,
  entity INTEGER NOT NULL REFERENCES entities (key) ON DELETE CASCADE,
  at INTEGER NOT NULL,
  said TEXT NOT NULL,
  PRIMARY KEY (domain, thing, entity)
) WITHOUT ROWID;
CREATE INDEX mentions_entity ON mentions (entity, at);

CREATE TABLE meta (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;

CREATE TABLE models (id INTEGER PRIMARY KEY, identity TEXT NOT NULL UNIQUE, dimension INTEGER NOT NULL);

CREATE TABLE partitions (
  id INTEGER PRIMARY KEY,
  org TEXT NOT NULL,
  agent TEXT NOT NULL,
  user TEXT NOT NULL,
  revision INTEGER NOT NULL DEFAULT 0,
  UNIQUE (org, agent, user)
);
CREATE INDEX partitions_agent ON partitions (agent, org);
CREATE INDEX partitions_user ON partitions (user);

CREATE TABLE pattern_refs (
  domain TEXT NOT NULL,
  thing INTEGER NOT NULL,
  pattern INTEGER NOT NULL REFERENCES patterns (key) ON DELETE CASCADE,
  PRIMARY KEY (domain, thing, pattern)
) WITHOUT ROWID;
CREATE INDEX pattern_refs_pattern ON pattern_refs (pattern);

CREATE TABLE pattern_words (
  partition INTEGER NOT NULL,
  word TEXT NOT NULL,
  pattern INTEGER NOT NULL REFERENCES patterns (key) ON DELETE CASCADE,
  PRIMARY KEY (partition, word, pattern)
) WITHOUT ROWID;
CREATE INDEX pattern_words_pattern ON pattern_words (pattern);

CREATE TABLE patterns (
  key INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  partition INTEGER NOT NULL REFERENCES partitions (id),
  action TEXT NOT NULL,
  keywords TEXT NOT NULL,
  intent TEXT,
  entity_types TEXT NOT NULL,
  successes INTEGER NOT NULL,
  applications INTEGER NOT NULL,
  sensitivity INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
);
CREATE INDEX patterns_action ON patterns (partition, substr(action, 1, 64));
CREATE UNIQUE INDEX patterns_id ON patterns (id);
CREATE INDEX patterns_partition ON patterns (partition);

CREATE TABLE profile_marks (
  partition INTEGER NOT NULL REFERENCES partitions (id),
  line TEXT NOT NULL,
  thing TEXT NOT NULL,
  mark TEXT NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (partition, line)
) WITHOUT ROWID;
CREATE INDEX profile_marks_thing ON profile_marks (thing);

CREATE TABLE relation_refs (
  domain TEXT NOT NULL,
  thing INTEGER NOT NULL,
  relation INTEGER NOT NULL REFERENCES relations (key) ON DELETE CASCADE,
  said TEXT NOT NULL,
  PRIMARY KEY (domain, thing, relation)
) WITHOUT ROWID;
CREATE INDEX relation_refs_relation ON relation_refs (relation);

CREATE TABLE relations (
  key INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  partition INTEGER NOT NULL REFERENCES partitions (id),
  source INTEGER NOT NULL REFERENCES entities (key) ON DELETE CASCADE,
  type TEXT NOT NULL,
  target INTEGER NOT NULL REFERENCES entities (key) ON DELETE CASCADE,
  weight REAL NOT NULL,
  confidence REAL NOT NULL,
  strength REAL NOT NULL,
  properties TEXT NOT NULL,
  valid_from INTEGER NOT NULL,
  valid_to INTEGER,
  ended_by TEXT,
  sensitivity INTEGER NOT NULL,
  stated TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
);
CREATE INDEX relations_ended ON relations (ended_by) WHERE ended_by IS NOT NULL;
CREATE UNIQUE INDEX relations_id ON relations (id);
CREATE UNIQUE INDEX relations_open ON relations (source, type, target) WHERE valid_to IS NULL;
CREATE INDEX relations_partition ON relations (partition);
CREATE INDEX relations_past ON relations (source, type, valid_from) WHERE valid_to IS NOT NULL;
CREATE INDEX relations_source ON relations (source, strength DESC, id);
CREATE INDEX relations_target ON relations (target, strength DESC, id);

CREATE TABLE replacements (
  older TEXT NOT NULL,
  newer INTEGER NOT NULL,
  ends INTEGER NOT NULL,
  PRIMARY KEY (older, newer)
) WITHOUT ROWID;
CREATE INDEX replacements_newer ON replacements (newer);

CREATE TABLE session_aliases (
  partition INTEGER NOT NULL REFERENCES partitions (id),
  alias TEXT NOT NULL,
  session TEXT NOT NULL,
  turns BLOB NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (partition, alias, session)
) WITHOUT ROWID;
CREATE INDEX session_aliases_at ON session_aliases (partition, at);
CREATE INDEX session_aliases_session ON session_aliases (partition, session, at);

CREATE TABLE sessions (
  key INTEGER PRIMARY KEY AUTOINCREMENT,
  partition INTEGER NOT NULL REFERENCES partitions (id),
  id TEXT NOT NULL,
  number INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  last_at INTEGER NOT NULL,
  length INTEGER NOT NULL,
  next INTEGER NOT NULL, document TEXT, outlined INTEGER NOT NULL DEFAULT 0,
  UNIQUE (partition, id)
);
CREATE INDEX sessions_documents ON sessions (partition, started_at) WHERE document IS NOT NULL;
CREATE INDEX sessions_last ON sessions (partition, last_at) WHERE document IS NULL;
CREATE INDEX sessions_started ON sessions (partition, started_at) WHERE document IS NULL;

CREATE TABLE speakers (
  partition INTEGER NOT NULL REFERENCES partitions (id),
  name TEXT NOT NULL,
  code INTEGER NOT NULL,
  events INTEGER NOT NULL,
  PRIMARY KEY (partition, name)
) WITHOUT ROWID;
CREATE INDEX speakers_code ON speakers (partition, code);

CREATE TABLE sqlite_sequence(name,seq);

CREATE TABLE task_branches (
  partition INTEGER NOT NULL REFERENCES partitions (id),
  session TEXT NOT NULL,
  name TEXT NOT NULL,
  parent TEXT,
  base TEXT,
  root TEXT,
  current TEXT,
  state TEXT NOT NULL,
  forked_at INTEGER NOT NULL,
  closed_at INTEGER,
  PRIMARY KEY (partition, session, name)
) WITHOUT ROWID;
CREATE INDEX task_branches_current ON task_branches (current);

CREATE TABLE task_checkpoints (
  partition INTEGER NOT NULL REFERENCES partitions (id),
  session TEXT NOT NULL,
  name TEXT NOT NULL,
  branch TEXT NOT NULL,
  frame TEXT,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (partition, session, name)
) WITHOUT ROWID;

CREATE TABLE task_heads (
  partition INTEGER NOT NULL REFERENCES partitions (id),
  session TEXT NOT NULL,
  branch TEXT NOT NULL,
  moves INTEGER NOT NULL,
  PRIMARY KEY (partition, session)
) WITHOUT ROWID;

CREATE TABLE task_pointers (
  thing TEXT NOT NULL,
  task INTEGER NOT NULL REFERENCES tasks (key) ON DELETE CASCADE,
  PRIMARY KEY (thing, task)
) WITHOUT ROWID;
CREATE INDEX task_pointers_task ON task_pointers (task);

CREATE TABLE tasks (
  key INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  partition INTEGER NOT NULL REFERENCES partitions (id),
  session TEXT NOT NULL,
  branch TEXT NOT NULL,
  parent TEXT,
  depth INTEGER NOT NULL,
  status TEXT NOT NULL,
  goal TEXT NOT NULL,
  result TEXT,
  artifacts TEXT NOT NULL,
  provenance TEXT,
  sensitivity INTEGER NOT NULL,
  version INTEGER NOT NULL,
  delegated TEXT,
  child_session TEXT,
  delegation_depth INTEGER NOT NULL,
  allowed TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  closed_at INTEGER
);
CREATE INDEX tasks_child ON tasks (child_session) WHERE child_session IS NOT NULL;
CREATE UNIQUE INDEX tasks_id ON tasks (id);
CREATE INDEX tasks_open ON tasks (partition, session) WHERE status IN ('active', 'blocked');
CREATE INDEX tasks_parent ON tasks (partition, parent, key);
CREATE INDEX tasks_partition ON tasks (partition);
CREATE INDEX tasks_roots ON tasks (partition, session, key) WHERE parent IS NULL;
CREATE INDEX tasks_session ON tasks (partition, session, key);

CREATE TABLE telling_clauses (
  event INTEGER NOT NULL REFERENCES events (key) ON DELETE CASCADE,
  start INTEGER NOT NULL,
  stop INTEGER NOT NULL,
  partition INTEGER NOT NULL,
  rule REAL NOT NULL,
  matters REAL NOT NULL,
  PRIMARY KEY (event, start)
) WITHOUT ROWID;
CREATE INDEX telling_clauses_most ON telling_clauses (partition, max(rule, matters) DESC, event DESC);

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

CREATE TABLE undivided (key INTEGER PRIMARY KEY);

CREATE TABLE units_blocks (
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
  words INTEGER NOT NULL,
  tokens INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX units_blocks_pending ON units_blocks (key) WHERE vector IS NULL;
CREATE INDEX units_blocks_revision ON units_blocks (partition, revision);

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
, tokens INTEGER NOT NULL DEFAULT 0);
CREATE INDEX units_events_pending ON units_events (key) WHERE vector IS NULL;
CREATE INDEX units_events_revision ON units_events (partition, revision);

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
, tokens INTEGER NOT NULL DEFAULT 0);
CREATE INDEX units_memories_pending ON units_memories (key) WHERE vector IS NULL;
CREATE INDEX units_memories_revision ON units_memories (partition, revision);

CREATE TABLE units_parts (
  key INTEGER NOT NULL,
  part INTEGER NOT NULL,
  start INTEGER NOT NULL,
  stop INTEGER NOT NULL,
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
  words INTEGER NOT NULL, tokens INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (key, part)
);
CREATE INDEX units_parts_pending ON units_parts (key) WHERE vector IS NULL;
CREATE INDEX units_parts_revision ON units_parts (partition, revision);

CREATE TABLE unoutlined (session INTEGER PRIMARY KEY REFERENCES sessions (key) ON DELETE CASCADE);

CREATE TABLE untold (session INTEGER PRIMARY KEY REFERENCES sessions (key) ON DELETE CASCADE, next INTEGER NOT NULL DEFAULT 0);
