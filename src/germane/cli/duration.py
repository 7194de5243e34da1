"""Duration: parses a span of time such as 30m, 24h, 90d or 1d12h."""

from __future__ import annotations

import re
from datetime import timedelta

from germane.errors import InvalidInput

__all__ = ["duration"]

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_PART = re.compile(r"(\d{1,9})([smhdw])")


def duration(text: str, option: str) -> timedelta:
    """Parse whole numbers with the units s, m (minutes), h, d and w, in any order, each unit at most once.

    Raises `InvalidInput`, which names `option`."""
    normalised = text.strip().lower()
    parts = _PART.findall(normalised)
    units = [_UNITS[unit] for _, unit in parts]
    if not parts or "".join(number + unit for number, unit in parts) != normalised or len(set(units)) < len(units):
        hint = "a number needs a unit" if normalised.isdecimal() else "units are s, m, h, d and w"
        raise InvalidInput(f"{option} must be a duration such as 30m, 24h or 90d, not {text[:40]!r} ({hint})")
    try:
        return timedelta(**{unit: int(number) for unit, (number, _) in zip(units, parts, strict=True)})
    except OverflowError:
        raise InvalidInput(f"{option} of {text[:40]} is too long (90d is three months)") from None
