"""Tokenizers by the names the catalog uses."""

from __future__ import annotations

from germane.errors import UnknownName
from germane.ports.tokenizer import Tokenizer
from germane.tokenizers.bpe import ENCODINGS, Bpe
from germane.tokenizers.cached import CachedTokenizer
from germane.tokenizers.estimate import UPPER, Bytes, Estimate

__all__ = ["TOKENIZERS", "open_tokenizer"]

TOKENIZERS: frozenset[str] = frozenset({*ENCODINGS, *UPPER})


def open_tokenizer(name: str) -> Tokenizer:
    """A counter with a cache of its own; nothing is loaded before the first count. Keep it: opening again starts cold.

    `name` is an encoding (`o200k`, `cl100k`, `llama3`, `qwen3`: exact) or a family (`claude`, `gemini` …: an upper estimate).
    Raises `UnknownName` for any other.
    """
    if name in ENCODINGS:
        bpe = Bpe(name)
        return CachedTokenizer(bpe) if bpe.available else _estimated("unknown")
    if name in UPPER:
        return _estimated(name)
    raise UnknownName(f"unknown tokenizer {name!r}: use one of {', '.join(sorted(TOKENIZERS))}")


def _estimated(family: str) -> Tokenizer:
    base = Bpe("o200k")
    return CachedTokenizer(Estimate(base, UPPER[family])) if base.available else Bytes()
