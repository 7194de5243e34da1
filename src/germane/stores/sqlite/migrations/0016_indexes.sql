-- Indexes for statements that read a whole table, and so took longer the more others had stored: what a partition holds of blocks,
-- what it asked for, an agent's users page by page, whether another has its names, and which tasks and branches point at something;
-- and one for the names of a few speakers among all of a partition.
DROP INDEX blocks_deleted;
CREATE INDEX blocks_partition ON blocks (partition);
CREATE INDEX block_consents_requester ON block_consents (requester);
CREATE INDEX partitions_agent ON partitions (agent, org);
CREATE INDEX partitions_user ON partitions (user);
CREATE INDEX tasks_pointing ON tasks (partition) WHERE artifacts <> '[]';
CREATE INDEX task_branches_current ON task_branches (current);
CREATE INDEX speakers_code ON speakers (partition, code);
