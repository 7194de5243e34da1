-- Messages that a language model is still to read, as positions in sessions; no text. Each session that was ever queued has one
-- row without `stop`, which reaches to the session's end, and further rows for what was parked. `state` is 0 (nothing to read),
-- 1 (waiting, due from `not_before` on) or 2 (parked). `holder` has leased the row until `leased_until`.
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
CREATE UNIQUE INDEX extraction_queue_open ON extraction_queue (session) WHERE stop IS NULL;
CREATE INDEX extraction_queue_due ON extraction_queue (state, not_before) WHERE state > 0;

-- What language models cost, by day (days since 1970, UTC) and owner; what a forgotten owner cost still counts.
CREATE TABLE llm_usage (
  day INTEGER NOT NULL,
  partition INTEGER NOT NULL REFERENCES partitions (id),
  calls INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  PRIMARY KEY (day, partition)
) WITHOUT ROWID;
