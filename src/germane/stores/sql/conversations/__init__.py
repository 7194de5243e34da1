"""Conversations in SQL: what compaction took out of conversations, its summaries, and the outlines of sessions."""
