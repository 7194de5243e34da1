"""Estimate: upper estimates of token counts for models whose vocabulary isn't public.

The estimate is made from the exact count of another vocabulary, the base:

    tokens ≤ factor × base + wide × (characters beyond ASCII) + digit × (ASCII digits), rounded up

One factor doesn't fit all texts: compared with o200k, other vocabularies need up to twice as many tokens for scripts other than
Latin, and those that split numbers into digits up to 2.5 times as many for figures. The estimate is meant to be too high. A
text of a few tokens, or one written to be unusual, can still exceed it; therefore an estimated model gets a wider safety
fraction (BUD-3). Each text is rounded up, so that sums over parts are upper estimates too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from types import MappingProxyType

from germane.ports.tokenizer import Tokenizer

__all__ = ["UPPER", "Bytes", "Estimate", "Upper"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Upper:
    """The coefficients of the estimate, see the module."""

    factor: float
    wide: float = 0.0
    digit: float = 0.0


UPPER: Mapping[str, Upper] = MappingProxyType(
    {
        # Measured, with reconstructed counts: conversation 1.23, code 1.17, Hindi 2.46, Thai 2.18.
        "claude": Upper(factor=1.45, wide=0.4),
        # Measured in the same way: conversation 1.50, code 1.54, Hindi 2.6, Thai 2.3; short German and capitals reach 2.4.
        "claude-4.8": Upper(factor=1.95, wide=0.25),
        # Measured with the vocabulary of V4: conversation 1.04, code 1.06, Hindi 2.2. Earlier versions are assumed to be alike.
        "deepseek": Upper(factor=1.35, wide=0.25),
        # Measured with the 131k vocabulary: conversation 1.16, code 1.04, figures 2.5, XML with ids 1.37.
        "mistral": Upper(factor=1.35, wide=0.3, digit=0.75),
        # Measured with the older 32k vocabulary: conversation 1.21, code 1.22, Korean 2.2, Hindi 4.2, figures 2.5.
        "mistral-32k": Upper(factor=1.5, wide=1.0, digit=0.75),
        # Assumed: a vocabulary of 256k that splits numbers into digits.
        "gemini": Upper(factor=1.35, wide=0.25, digit=0.75),
        # Assumed: a vocabulary of 200k split like o200k.
        "llama4": Upper(factor=1.3, wide=0.25),
        # Measured, for where the vocabulary isn't installed: conversation 1.25, code 1.04, German 1.35, Georgian 5.3.
        "llama3": Upper(factor=1.3, wide=1.7),
        # Measured in the same way: conversation 1.25, code 1.23, German 1.35, figures 2.2, Tamil 3.4.
        "qwen3": Upper(factor=1.3, wide=1.2, digit=0.95),
        # Assumed: the highest of the above.
        "unknown": Upper(factor=1.95, wide=1.0, digit=0.75),
    }
)
"""Coefficients by model family, for counts of o200k as the base. Those of `llama3` and `qwen3` serve where the extra `tokens`
isn't installed."""


class Estimate:
    """Estimates from `base`'s counts; `exact` is always False."""

    __slots__ = ("_base", "_name", "_upper")

    def __init__(self, base: Tokenizer, upper: Upper) -> None:
        self._base, self._upper = base, upper
        self._name = f"{base.name}×{upper.factor:g} (estimate)"

    @property
    def name(self) -> str:
        return self._name

    @property
    def exact(self) -> bool:
        return False

    def count(self, text: str) -> int:
        upper = self._upper
        tokens = upper.factor * self._base.count(text)
        if upper.wide and not text.isascii():
            tokens += upper.wide * (len(text) - len(text.encode("ascii", "ignore")))
        if upper.digit:
            tokens += upper.digit * sum(map(text.count, "0123456789"))
        return ceil(tokens)

    def ceiling(self, text: str) -> int:
        return ceil(self._upper.factor * self._base.ceiling(text) + max(self._upper.wide, self._upper.digit) * len(text))

    def __repr__(self) -> str:
        return f"<Estimate {self._name}>"


class Bytes:
    """Counts one token for each byte of UTF-8, for installations without any vocabulary: far too high, never too low."""

    __slots__ = ()

    @property
    def name(self) -> str:
        return "bytes (estimate)"

    @property
    def exact(self) -> bool:
        return False

    def count(self, text: str) -> int:
        return len(text.encode("utf-8", "surrogatepass"))

    def ceiling(self, text: str) -> int:
        return self.count(text)

    def __repr__(self) -> str:
        return "<Bytes>"
