"""Ids: UUIDv7 (RFC 9562), which sort by the time they were made."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from uuid import UUID

__all__ = ["uuid7"]


def uuid7(milliseconds: int, randomness: Callable[[int], int] = secrets.randbits) -> str:
    """A UUIDv7 of this Unix time in milliseconds; `randomness(n)` gives n random bits."""
    value = (milliseconds & (1 << 48) - 1) << 80 | 0x7 << 76 | randomness(12) << 64 | 0b10 << 62 | randomness(62)
    return str(UUID(int=value))
