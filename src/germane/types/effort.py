"""Effort: how readily an assembly spends tokens, and the price that an item's tokens have to be worth (AMOUNT-2).

The price is the share of what is still missing that one token must be expected to bring. A higher effort means a lower price,
so more goes in. A number is relative to `medium`: 1 is medium, and 2 halves the price.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Final, Literal

from germane.errors import InvalidInput
from germane.types.limits import shown

__all__ = ["Effort", "parse_effort", "price"]

Effort = Literal["low", "medium", "high"]

_MEDIUM: Final = 3.19e-4
_PRICES: Mapping[str, float] = MappingProxyType({"low": 2 * _MEDIUM, "medium": _MEDIUM, "high": _MEDIUM / 2.08})
"""Share of what is missing per token."""
_LEAST, _MOST = 0.01, 100


def price(effort: Effort | float) -> float:
    """Returns the price per token. Raises `InvalidInput` for another word and for a number outside 0.01 to 100."""
    if isinstance(effort, str):
        if effort in _PRICES:
            return _PRICES[effort]
    elif isinstance(effort, int | float) and not isinstance(effort, bool) and _LEAST <= effort <= _MOST:
        return _MEDIUM / effort
    words = ", ".join(_PRICES)
    raise InvalidInput(f"effort must be {words}, or a number from {_LEAST} to {_MOST} (1 is medium), not {shown(effort)}")


def parse_effort(written: str) -> Effort | float:
    """Returns the effort that a text names: a word, or a number in digits. Raises `InvalidInput`."""
    effort: Effort | float = written  # type: ignore[assignment]
    if written not in _PRICES:
        with suppress(ValueError):
            effort = float(written)
    price(effort)
    return effort
