"""Conversations: what is kept of long conversations: the archive of what compactions took out, summaries, outlines."""
