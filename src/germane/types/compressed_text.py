"""Compressed text: a text made to fit into a number of tokens, and how; and the count of a text's tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["CompressedText", "CompressionMethod", "TokenCount"]

CompressionMethod = Literal["whole", "extractive", "llm"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CompressedText:
    """`tokens` are those of `text`, `original_tokens` those of what was given, as the model counts them or by an upper
    estimate. `method` is `whole` where nothing had to be done, `extractive` for sentences of the text itself, `llm` for what a
    language model wrote. `share` is the length of `text` over that of the original, in [0, 1]. `note` says why a language
    model's answer wasn't used."""

    text: str
    tokens: int
    original_tokens: int
    method: CompressionMethod
    share: float
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenCount:
    """`exact` tells whether this is the model's own count; else it is an upper estimate. `tokenizer` is what counted."""

    tokens: int
    exact: bool
    tokenizer: str
