-- Tasks: what an agent is doing, as frames. `session` is the caller's id of the session. `result` is what came of a closed frame,
-- or what a blocked one waits for. `delegated` is how the task was given to another agent, who works in `child_session`.
ALTER TABLE counters ADD COLUMN tasks INTEGER NOT NULL DEFAULT 0;

CREATE TABLE tasks (
  key INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  partition INTEGER NOT NULL REFERENCES partitions (id),
  session TEXT NOT NULL,
  branch TEXT NOT NULL,
  parent TEXT,
  depth INTEGER NOT NULL,
  status TEXT NOT NULL,
  goal TEXT NOT NULL,
  result TEXT,
  artifacts TEXT NOT NULL,
  provenance TEXT,
  sensitivity INTEGER NOT NULL,
  version INTEGER NOT NULL,
  delegated TEXT,
  child_session TEXT,
  delegation_depth INTEGER NOT NULL,
  allowed TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  closed_at INTEGER
);
CREATE UNIQUE INDEX tasks_id ON tasks (id);
CREATE INDEX tasks_session ON tasks (partition, session, key);
CREATE INDEX tasks_parent ON tasks (partition, parent, key);
CREATE INDEX tasks_roots ON tasks (partition, session, key) WHERE parent IS NULL;
CREATE INDEX tasks_open ON tasks (partition, session) WHERE status IN ('active', 'blocked');
CREATE INDEX tasks_child ON tasks (child_session) WHERE child_session IS NOT NULL;

-- Lines of work of a session. `base` is the frame that a branch left from, `current` the one it stands at.
CREATE TABLE task_branches (
  partition INTEGER NOT NULL REFERENCES partitions (id),
  session TEXT NOT NULL,
  name TEXT NOT NULL,
  parent TEXT,
  base TEXT,
  root TEXT,
  current TEXT,
  state TEXT NOT NULL,
  forked_at INTEGER NOT NULL,
  closed_at INTEGER,
  PRIMARY KEY (partition, session, name)
) WITHOUT ROWID;

-- The running branch of each session, and how often it moved.
CREATE TABLE task_heads (
  partition INTEGER NOT NULL REFERENCES partitions (id),
  session TEXT NOT NULL,
  branch TEXT NOT NULL,
  moves INTEGER NOT NULL,
  PRIMARY KEY (partition, session)
) WITHOUT ROWID;

-- Named places that a branch may begin at.
CREATE TABLE task_checkpoints (
  partition INTEGER NOT NULL REFERENCES partitions (id),
  session TEXT NOT NULL,
  name TEXT NOT NULL,
  branch TEXT NOT NULL,
  frame TEXT,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (partition, session, name)
) WITHOUT ROWID;
