"""Strict JSON: JSON that no two readers can read differently: no key twice, no NaN and no infinity."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["strict_json"]


def strict_json(text: str) -> Any:
    """Returns the value. Raises `ValueError` for text that isn't such JSON, and `RecursionError` for one that is too deep."""
    return json.loads(text, object_pairs_hook=_once, parse_constant=_refused)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key twice")
    return found


def _refused(constant: str) -> float:
    raise ValueError(constant)
