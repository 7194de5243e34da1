"""Answer time: checks the seconds until an answer is due, and refuses what looks like milliseconds."""

from __future__ import annotations

from math import inf

from germane.errors import InvalidInput
from germane.types.limits import shown

__all__ = ["check_answer_time", "parse_answer_time"]

_MAX, _MAX_WHOLE = 60, 30
"""Seconds. A whole number (`int`) above the second is read as milliseconds that somebody meant: 48 seconds are 48.0."""


def check_answer_time(name: str, value: object, *, forever: str = "") -> None:
    """Raises `InvalidInput`, with a hint where milliseconds seem to be meant. `forever` says what None does, where it may be
    None."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < inf:
        allowed = f"at most {_MAX}, or None, which {forever}" if forever else f"at most {_MAX}"
        raise InvalidInput(f"{name} must be above 0 seconds and {allowed}, not {shown(value)}")
    whole = isinstance(value, int)
    if value > (_MAX_WHOLE if whole else _MAX):
        hint = f": did you mean {value / 1000:g}?" if value <= 1000 * _MAX else f": None {forever}" if forever else ""
        other = f" {value} seconds are {float(value)!r}." if whole and value <= _MAX else ""
        raise InvalidInput(f"{name} is in seconds, at most {_MAX}, not {shown(value)}{hint}{other}")


def parse_answer_time(name: str, written: str) -> float:
    """Returns the seconds that a text names in digits. Raises `InvalidInput`."""
    try:
        value = int(written) if written.strip().lstrip("+-").isdecimal() else float(written)
    except ValueError:
        raise InvalidInput(f"{name} is in seconds, such as 0.25, not {shown(written)}") from None
    check_answer_time(name, value)
    return value
