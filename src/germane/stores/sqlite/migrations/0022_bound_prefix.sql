-- For models that bind their thinking to what stands before it: a keyed hash of all of germane's text up to the turn.
ALTER TABLE injections ADD COLUMN prefix TEXT NOT NULL DEFAULT '';
