"""Models: adapters for embedders, language models and tokenizers; only wiring imports them."""
