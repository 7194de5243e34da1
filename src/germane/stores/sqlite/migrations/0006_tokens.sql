-- The tokens of each text, so that a search can tell what showing it costs without reading it. 0 stands for unknown, in the rows
-- of earlier versions.
ALTER TABLE units_events ADD COLUMN tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE units_memories ADD COLUMN tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE units_parts ADD COLUMN tokens INTEGER NOT NULL DEFAULT 0;
