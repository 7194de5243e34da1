-- What was injected for each turn of a session. `turn` and `said` are keyed hashes, `items` is a JSON list. A record whose text was
-- withdrawn keeps its row without text and items, and `withdrawn` has the handles of what was forgotten.
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
  withdrawn TEXT NOT NULL DEFAULT '',
  UNIQUE (partition, session, turn, occurrence)
);
CREATE INDEX injections_created ON injections (partition, created_at);

-- Which records hold a memory or a message, so that forgetting it withdraws them.
CREATE TABLE injected_items (
  item TEXT NOT NULL,
  injection INTEGER NOT NULL REFERENCES injections (key) ON DELETE CASCADE,
  PRIMARY KEY (item, injection)
) WITHOUT ROWID;
CREATE INDEX injected_items_injection ON injected_items (injection);
