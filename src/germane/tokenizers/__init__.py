"""Tokenizers: exact counts where the vocabulary is at hand, upper estimates elsewhere, both remembered. No network."""

from germane.tokenizers.named import TOKENIZERS, open_tokenizer

__all__ = ["TOKENIZERS", "open_tokenizer"]
