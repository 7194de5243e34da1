"""Compactors: what germane's compaction keeps of a conversation, and what LangChain's and OpenAI's keep, at the same budget."""
