-- Indexes for what reads and sorts all that one user has of a kind: the latest tasks of all sessions, and the patterns that say to do
-- the same, by the beginning of what they say.
CREATE INDEX tasks_partition ON tasks (partition);
CREATE INDEX patterns_action ON patterns (partition, substr(action, 1, 64));
