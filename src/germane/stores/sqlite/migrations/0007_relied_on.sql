-- Handles, as a JSON list, of the items that weren't added for a turn because they stood at earlier turns.
ALTER TABLE injections ADD COLUMN relies_on TEXT NOT NULL DEFAULT '[]';
