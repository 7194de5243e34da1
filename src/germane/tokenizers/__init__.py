"""Tokenizers: token counts, exact where the vocabulary is installed, else upper estimates; cached, no network."""

from germane.tokenizers.named import TOKENIZERS, open_tokenizer

__all__ = ["TOKENIZERS", "open_tokenizer"]
