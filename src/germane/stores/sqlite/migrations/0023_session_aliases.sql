-- By what a session is found again where a request doesn't name it: keyed hashes of how its conversation ends, and of ids that a
-- provider gave to its answers. `turns` are keyed hashes of the conversation's turns; empty for the id of an answer.
CREATE TABLE session_aliases (
  partition INTEGER NOT NULL REFERENCES partitions (id),
  alias TEXT NOT NULL,
  session TEXT NOT NULL,
  turns BLOB NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (partition, alias, session)
) WITHOUT ROWID;
CREATE INDEX session_aliases_session ON session_aliases (partition, session, at);
CREATE INDEX session_aliases_at ON session_aliases (partition, at);

-- When a session, an owner, an agent or an org was last forgotten as a whole, by a hash of its names: what was said before and waited to
-- be recorded isn't stored after it.
CREATE TABLE forgotten_scopes (
  mark TEXT PRIMARY KEY,
  at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX forgotten_scopes_at ON forgotten_scopes (at);
