-- What a memory was made from: ids of messages and memories. The list is kept in the memory's row, as a JSON list, and once more by
-- source, so that what derives from a source can be found and is forgotten with it.
ALTER TABLE memories ADD COLUMN derived_from TEXT NOT NULL DEFAULT '[]';

CREATE TABLE derivations (
  source TEXT NOT NULL,
  memory INTEGER NOT NULL REFERENCES memories (key) ON DELETE CASCADE,
  PRIMARY KEY (source, memory)
) WITHOUT ROWID;
CREATE INDEX derivations_memory ON derivations (memory);
