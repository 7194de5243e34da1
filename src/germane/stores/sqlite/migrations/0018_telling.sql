-- What may stand in a user's profile: the telling clauses of what the user wrote, each as its place in the text, in characters, with
-- the probabilities that it is a standing instruction and that it says what matters. Texts say which clauses these are; which
-- version of germane read them stands in `meta` under `telling`.
CREATE TABLE telling_clauses (
  event INTEGER NOT NULL REFERENCES events (key) ON DELETE CASCADE,
  start INTEGER NOT NULL,
  stop INTEGER NOT NULL,
  partition INTEGER NOT NULL,
  rule REAL NOT NULL,
  matters REAL NOT NULL,
  PRIMARY KEY (event, start)
) WITHOUT ROWID;
CREATE INDEX telling_clauses_most ON telling_clauses (partition, max(rule, matters) DESC, event DESC);

-- Sessions whose messages are still to be read for telling clauses, from the position `next` on.
CREATE TABLE untold (session INTEGER PRIMARY KEY REFERENCES sessions (key) ON DELETE CASCADE, next INTEGER NOT NULL DEFAULT 0);

-- The lines of a profile that somebody pinned or hid. `thing` is the id of the memory or message that the line is of.
CREATE TABLE profile_marks (
  partition INTEGER NOT NULL REFERENCES partitions (id),
  line TEXT NOT NULL,
  thing TEXT NOT NULL,
  mark TEXT NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (partition, line)
) WITHOUT ROWID;
CREATE INDEX profile_marks_thing ON profile_marks (thing);
