"""LLM summary: summaries in a language model's words: how it is asked, and by which rules its answer is accepted."""
