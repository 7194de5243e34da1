"""Tasks in SQL: the rows of frames, branches and checkpoints, what plans do with them, and their reader."""
