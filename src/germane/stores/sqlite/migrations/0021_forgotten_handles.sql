-- Of each archived entry that was forgotten a hash of its scope and its handle: a caller may still send the summary that names it.
CREATE TABLE forgotten_handles (
  mark TEXT PRIMARY KEY
) WITHOUT ROWID;
