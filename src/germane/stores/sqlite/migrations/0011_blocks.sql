-- Memory blocks: labelled texts that an agent keeps and edits. `text` is the content as it was rendered last, `version` the
-- number of the last entry in the block's history.
ALTER TABLE counters ADD COLUMN blocks INTEGER NOT NULL DEFAULT 0;

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
CREATE INDEX blocks_deleted ON blocks (partition) WHERE deleted_at IS NOT NULL;
CREATE INDEX blocks_standing ON blocks (partition)
  WHERE deleted_at IS NULL AND (type = 'core' OR (type = 'working' AND pinned));

-- What happened to a block, and by whom. `delta` is what the document gained, of `size` bytes (NULL once only a snapshot holds
-- it), `frontiers` its state afterwards. An undo or redo names the edit it concerns in `target`. `span` is the version that made
-- this edit's change last, and `undone_by` the one that took it back.
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

-- The whole document up to a version.
CREATE TABLE block_snapshots (
  block INTEGER PRIMARY KEY REFERENCES blocks (key) ON DELETE CASCADE,
  number INTEGER NOT NULL,
  data BLOB NOT NULL
);

-- Blocks that another agent of the org may see and edit. `grantee` is that agent's partition, of the same user as the block.
CREATE TABLE block_shares (
  block INTEGER NOT NULL REFERENCES blocks (key) ON DELETE CASCADE,
  grantee INTEGER NOT NULL REFERENCES partitions (id),
  permission TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (block, grantee)
) WITHOUT ROWID;
CREATE INDEX block_shares_grantee ON block_shares (grantee);

-- Edits that a partner or a person has to agree to. `digest` is a hash of the edit, `requester` the partition that asked.
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

-- Texts that an agent keeps for later searches; they are never changed. `key` is of the same count as that of blocks.
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

-- The search rows of archival blocks and entries. `kind` is that of a block once it isn't to be found any more.
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
CREATE INDEX units_blocks_revision ON units_blocks (partition, revision);
CREATE INDEX units_blocks_pending ON units_blocks (key) WHERE vector IS NULL;
