"""Upper estimates for models whose vocabulary isn't at hand: another vocabulary's exact count times a factor.

The factor is an upper one: it is meant to overcount. A text of a few tokens, or one made to be unusual, can still beat it,
which is why an estimated model has a wider safety fraction (BUD-3). Rounding up each text makes sums of parts safe too.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from types import MappingProxyType

from germane.ports.tokenizer import Tokenizer

__all__ = ["FACTORS", "Bytes", "Estimate"]

FACTORS: Mapping[str, float] = MappingProxyType(
    {
        "claude": 1.45,  # measured: Claude up to 4.6 (1.3 expected)
        "claude-4.8": 1.95,  # measured: Claude 4.8 and later (1.65 expected)
        "gemini": 1.45,
        "deepseek": 1.45,
        "mistral": 1.6,
        "llama4": 1.3,
        "unknown": 2.0,
    }
)
"""Upper factor on o200k by family."""


class Estimate:
    """`base`'s count × `factor`, rounded up."""

    __slots__ = ("_base", "_factor", "_name")

    def __init__(self, base: Tokenizer, factor: float) -> None:
        self._base, self._factor = base, factor
        self._name = f"{base.name}×{factor:g} (estimate)"

    @property
    def name(self) -> str:
        return self._name

    @property
    def exact(self) -> bool:
        return False

    def count(self, text: str) -> int:
        return ceil(self._base.count(text) * self._factor)

    def ceiling(self, text: str) -> int:
        return ceil(self._base.ceiling(text) * self._factor)

    def __repr__(self) -> str:
        return f"<Estimate {self._name}>"


class Bytes:
    """One token a byte of UTF-8: what is left when no vocabulary is installed. Far too much, never too little."""

    __slots__ = ()
    name = "bytes (estimate)"
    exact = False

    def count(self, text: str) -> int:
        return len(text.encode("utf-8", "surrogatepass"))

    ceiling = count

    def __repr__(self) -> str:
        return "<Bytes>"
