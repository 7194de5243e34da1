"""open_tokenizer: opens a tokenizer by the name that the catalog uses."""

from __future__ import annotations

from germane.errors import UnknownName
from germane.ports.tokenizer import Tokenizer
from germane.tokenizers.bpe import ENCODINGS, Bpe
from germane.tokenizers.cached import CachedTokenizer
from germane.tokenizers.estimate import UPPER, Bytes, Estimate

__all__ = ["TOKENIZERS", "open_tokenizer"]

TOKENIZERS: frozenset[str] = frozenset({*ENCODINGS, *UPPER})
"""All names that `open_tokenizer` takes."""


def open_tokenizer(name: str) -> Tokenizer:
    """Returns a tokenizer with a cache of its own: keep it, as each call starts with an empty cache. Nothing is loaded before
    the first count.

    `name` is an encoding (`o200k`, `cl100k`, `llama3`, `qwen3`: exact) or a model family (`claude`, `gemini` …: upper
    estimate). An encoding whose vocabulary isn't installed is estimated likewise. Raises `UnknownName` for any other name.
    """
    if name in ENCODINGS:
        bpe = Bpe(name)
        return CachedTokenizer(bpe) if bpe.available else _estimated(name if name in UPPER else "unknown")
    if name in UPPER:
        return _estimated(name)
    raise UnknownName(f"unknown tokenizer {name!r}: use one of {', '.join(sorted(TOKENIZERS))}")


def _estimated(family: str) -> Tokenizer:
    base = Bpe("o200k")
    return CachedTokenizer(Estimate(base, UPPER[family])) if base.available else Bytes()
