"""Profile: what has to be known of a model to fit a context into it (BUD-1)."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Profile"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Sizes in tokens. `tokenizer` names a counter of `tokenizers/`; `images` names the rule that prices an image.

    `known` is false for a model the catalog doesn't have: window 8,192 and the widest safety fraction.
    """

    name: str
    provider: str
    """The dialect its API speaks: openai, anthropic or gemini."""
    window: int = 8192
    max_output: int = 4096
    tokenizer: str = "unknown"
    per_message: int = 4
    """Overhead of each message: role and separators."""
    per_request: int = 3
    images: str = "unknown"
    safety: float = 0.10
    known: bool = True
