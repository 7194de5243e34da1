"""Tokenizers: the wiring of `germane.history`: one tokenizer for each vocabulary and process, with one cache of counts."""

from __future__ import annotations

from functools import cache

from germane.ports.tokenizer import Tokenizer
from germane.tokenizers.named import open_tokenizer

__all__ = ["tokenizer"]


@cache
def tokenizer(name: str) -> Tokenizer:
    """Returns the tokenizer of that name. Raises `UnknownName`."""
    return open_tokenizer(name)
