"""Transcripts: reads the transcripts that coding agents write, for an import and for hooks."""
