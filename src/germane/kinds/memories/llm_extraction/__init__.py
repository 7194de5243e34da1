"""LLM extraction: memories that a language model finds in recorded messages: queue, prompt, and what is accepted."""
