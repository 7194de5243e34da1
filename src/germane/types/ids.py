"""Ids: UUIDv7 (RFC 9562), which sort by the time they were made."""

from __future__ import annotations

import secrets
from collections.abc import Callable

__all__ = ["uuid7"]


def uuid7(milliseconds: int, randomness: Callable[[int], int] = secrets.randbits) -> str:
    """A UUIDv7 of this Unix time in milliseconds; `randomness(n)` gives n random bits."""
    low = randomness(74)
    value = (milliseconds & (1 << 48) - 1) << 80 | 0x7 << 76 | low >> 62 << 64 | 0b10 << 62 | low & (1 << 62) - 1
    digits = f"{value:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
