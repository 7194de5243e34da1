"""Verbs: the verbs of an agent that take more than a few lines, by subject; most are imported at their first call."""
