"""Tasks: what an agent is doing right now, as a stack of frames, with branches and delegated tasks."""
