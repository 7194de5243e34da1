"""LLM extraction of the graph: what a language model is asked about a text's entities, and what is accepted of its answer."""
