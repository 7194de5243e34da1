-- The search rows of the parts of long texts, several for one event. `part` counts from 0; `start` and `stop` are bytes of the text.
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
  words INTEGER NOT NULL,
  PRIMARY KEY (key, part)
);
CREATE INDEX units_parts_revision ON units_parts (partition, revision);
CREATE INDEX units_parts_pending ON units_parts (key) WHERE vector IS NULL;

-- Long texts that an earlier version stored with one search row: they are divided into parts after the store was opened.
CREATE TABLE undivided (key INTEGER PRIMARY KEY);
INSERT INTO undivided SELECT key FROM events WHERE octet_length(text) > 6144;
