-- What became of an event, and the task that it belongs to.
ALTER TABLE events ADD COLUMN outcome TEXT NOT NULL DEFAULT '';
ALTER TABLE events ADD COLUMN task TEXT;
CREATE INDEX events_task ON events (partition, task) WHERE task IS NOT NULL;

-- Entities: who and what events and memories are about. `stated` holds what was stored of one on purpose (its names and
-- properties) and is NULL for those that were only found. `rank` is log2(salience) plus the days up to `salient_at` in half-lives:
-- it orders entities by their salience at any time after that.
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

-- The keys that an entity is found by: those of its name and of its aliases.
CREATE TABLE entity_names (
  partition INTEGER NOT NULL,
  key TEXT NOT NULL,
  entity INTEGER NOT NULL REFERENCES entities (key) ON DELETE CASCADE,
  PRIMARY KEY (partition, key, entity)
) WITHOUT ROWID;
CREATE INDEX entity_names_entity ON entity_names (entity);

-- Which events and memories mention which entities. `thing` is the key of a row of the table `domain`, `at` its time; `said` is
-- what it says of the entity (names and properties), so that what is forgotten takes that along.
CREATE TABLE mentions (
  domain TEXT NOT NULL,
  thing INTEGER NOT NULL,
  entity INTEGER NOT NULL REFERENCES entities (key) ON DELETE CASCADE,
  at INTEGER NOT NULL,
  said TEXT NOT NULL,
  PRIMARY KEY (domain, thing, entity)
) WITHOUT ROWID;
CREATE INDEX mentions_entity ON mentions (entity, at);

-- How one entity stands to another, from `valid_from` until `valid_to`. `strength` is weight times confidence. `ended_by` is the
-- relation that took its place; `stated` is NULL for a relation that was only found.
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
CREATE UNIQUE INDEX relations_id ON relations (id);
CREATE UNIQUE INDEX relations_open ON relations (source, type, target) WHERE valid_to IS NULL;
CREATE INDEX relations_past ON relations (source, type, valid_from) WHERE valid_to IS NOT NULL;
CREATE INDEX relations_source ON relations (source, strength DESC, id);
CREATE INDEX relations_target ON relations (target, strength DESC, id);
CREATE INDEX relations_partition ON relations (partition);
CREATE INDEX relations_ended ON relations (ended_by) WHERE ended_by IS NOT NULL;

-- Which events and memories state which relations; `said` as in `mentions`.
CREATE TABLE relation_refs (
  domain TEXT NOT NULL,
  thing INTEGER NOT NULL,
  relation INTEGER NOT NULL REFERENCES relations (key) ON DELETE CASCADE,
  said TEXT NOT NULL,
  PRIMARY KEY (domain, thing, relation)
) WITHOUT ROWID;
CREATE INDEX relation_refs_relation ON relation_refs (relation);

-- What worked before in what kind of situation.
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
CREATE UNIQUE INDEX patterns_id ON patterns (id);
CREATE INDEX patterns_partition ON patterns (partition);

-- The keywords of patterns; '' where a pattern has none.
CREATE TABLE pattern_words (
  partition INTEGER NOT NULL,
  word TEXT NOT NULL,
  pattern INTEGER NOT NULL REFERENCES patterns (key) ON DELETE CASCADE,
  PRIMARY KEY (partition, word, pattern)
) WITHOUT ROWID;
CREATE INDEX pattern_words_pattern ON pattern_words (pattern);

-- Which events and memories a pattern was learned from; it is forgotten with any of them.
CREATE TABLE pattern_refs (
  domain TEXT NOT NULL,
  thing INTEGER NOT NULL,
  pattern INTEGER NOT NULL REFERENCES patterns (key) ON DELETE CASCADE,
  PRIMARY KEY (domain, thing, pattern)
) WITHOUT ROWID;
CREATE INDEX pattern_refs_pattern ON pattern_refs (pattern);
