-- Which messages make earlier ones outdated, or may: `older` is the id of the earlier one, so that the two can be stored in any order.
-- `ends` says that something that it states ended; otherwise the two are only about the same.
CREATE TABLE replacements (
  older TEXT NOT NULL,
  newer INTEGER NOT NULL,
  ends INTEGER NOT NULL,
  PRIMARY KEY (older, newer)
) WITHOUT ROWID;
CREATE INDEX replacements_newer ON replacements (newer);
