"""LLMs: adapters for language models: OpenAI-compatible endpoints, Anthropic's, and plain functions."""
