-- How far erasing has come, in revisions. `erased` is the last commit that took content away, `scrubbed` the last one of which
-- nothing is left in any file, `erased_at` the time since which the two differ. `vanished` is the last commit that took a
-- whole partition, `replaced` the last one that took or replaced a directive: what processes remember of those ends with it.
ALTER TABLE counters ADD COLUMN erased INTEGER NOT NULL DEFAULT 0;
ALTER TABLE counters ADD COLUMN scrubbed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE counters ADD COLUMN erased_at INTEGER;
ALTER TABLE counters ADD COLUMN vanished INTEGER NOT NULL DEFAULT 0;
ALTER TABLE counters ADD COLUMN replaced INTEGER NOT NULL DEFAULT 0;

-- What a store of the version before holds of forgotten texts isn't known: it is scrubbed once.
UPDATE counters SET erased = revision, erased_at = CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER) WHERE revision > 0;
