"""Extraction by a language model: the queue of messages, the prompts, and what is accepted of the answers."""
