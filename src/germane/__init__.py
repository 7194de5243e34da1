"""Germane: a context assembly engine for LLM agents."""
