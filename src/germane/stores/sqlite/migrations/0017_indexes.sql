-- Indexes for what read and sorted all that one user has of a kind: the latest tasks of all sessions, the entities of a type by name,
-- the patterns that say to do the same, by the beginning of what they say, and of a fact that has changed often the versions that
-- haven't ended.
CREATE INDEX tasks_partition ON tasks (partition);
CREATE INDEX entities_type ON entities (partition, type, name_key, id);
CREATE INDEX patterns_action ON patterns (partition, substr(action, 1, 64));
DROP INDEX memories_hash;
DROP INDEX memories_fact;
CREATE INDEX memories_hash ON memories (partition, content_hash, ifnull(valid_to, 9223372036854775807));
CREATE INDEX memories_fact ON memories (partition, fact_key, ifnull(valid_to, 9223372036854775807)) WHERE fact_key IS NOT NULL;
