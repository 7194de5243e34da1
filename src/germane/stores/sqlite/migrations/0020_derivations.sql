-- What a text was made of, whatever it is: ids of memories, messages and tasks. `thing` is the id of what was made, which is forgotten
-- with any of its sources; `partition` is its own, which may be another one than its source's.
CREATE TABLE made_of (
  source TEXT NOT NULL,
  thing TEXT NOT NULL,
  partition INTEGER NOT NULL REFERENCES partitions (id),
  PRIMARY KEY (source, thing)
) WITHOUT ROWID;
INSERT INTO made_of SELECT d.source, m.id, m.partition FROM derivations d JOIN memories m ON m.key = d.memory;

-- The notes of consolidations and the branches that were brought back: they only referred to what they were made of.
UPDATE memories SET derived_from = json_extract(provenance, '$.refs') WHERE typeof(provenance) = 'text' AND derived_from = '[]'
  AND json_type(provenance, '$.metadata.consolidated') = 'integer' AND json_type(provenance, '$.refs') = 'array';
INSERT OR IGNORE INTO made_of SELECT s.value, m.id, m.partition FROM memories m, json_each(m.derived_from) s
  WHERE m.derived_from <> '[]';
INSERT OR IGNORE INTO made_of SELECT s.value, t.id, t.partition FROM tasks t, json_each(t.provenance, '$.refs') s
  WHERE typeof(t.provenance) = 'text' AND json_type(t.provenance, '$.metadata.branch') = 'text';
DROP TABLE derivations;
ALTER TABLE made_of RENAME TO derivations;
CREATE INDEX derivations_thing ON derivations (thing);

-- The memories that were made of others which a consolidation removed: they say by what these could be found.
CREATE INDEX memories_replaced ON memories (partition) WHERE json_type(provenance, '$.metadata.replaced') = 'array';

-- What tasks point to, each with a title that somebody gave it, which goes with the thing.
CREATE TABLE task_pointers (
  thing TEXT NOT NULL,
  task INTEGER NOT NULL REFERENCES tasks (key) ON DELETE CASCADE,
  PRIMARY KEY (thing, task)
) WITHOUT ROWID;
CREATE INDEX task_pointers_task ON task_pointers (task);
INSERT OR IGNORE INTO task_pointers SELECT json_extract(a.value, '$[0]'), t.key FROM tasks t, json_each(t.artifacts) a
  WHERE t.artifacts <> '[]';
DROP INDEX tasks_pointing;

-- Records of what was injected name no blocks by their labels: they outlive these.
UPDATE injections SET relies_on = '[]', withdrawn = CASE WHEN instr(withdrawn, 'block:') THEN 'a block' ELSE withdrawn END
  WHERE relies_on <> '[]' OR instr(withdrawn, 'block:');
UPDATE counters SET erased_at = CASE WHEN erased > scrubbed THEN erased_at ELSE CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER) END,
  erased = revision WHERE revision > 0;

-- An id of each directive, so that one that was forgotten isn't restored from an export.
ALTER TABLE directives ADD COLUMN id TEXT NOT NULL DEFAULT '';
UPDATE directives SET id = lower(hex(randomblob(16)));
CREATE INDEX directives_id ON directives (id);
