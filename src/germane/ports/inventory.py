"""Inventory: the protocol for looking through what one scope holds: counts, users, ids by prefix, tombstones (SCOPE-2)."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, Protocol

from germane.types.inventory import Stats, Tombstone, UserPage

__all__ = ["Inventory"]


class Inventory(Protocol):
    """Every method sees only the scope that the inventory was made for."""

    async def stats(self, *, at: datetime) -> Stats:
        """Counts what the scope sees. `at` decides which memories are valid."""

    async def users(self, limit: int, cursor: str | None = None) -> UserPage:
        """Returns a page of at most `limit` users of the scope's agent who have something stored, in the order of their first
        write; an empty page where the scope has a user. Raises `InvalidInput` for a limit below 1 or a cursor of another
        listing."""

    async def ids(self, prefix: str, limit: int, *, domain: Literal["memories", "events"]) -> tuple[str, ...]:
        """Returns at most `limit` ids of germane's that begin with `prefix`, sorted."""

    async def said_as(self, message_id: str, limit: int) -> tuple[str, ...]:
        """Returns germane's ids of at most `limit` messages that have this id of the caller's; each session may have one."""

    async def tombstone(self, id: str) -> Tombstone | None:
        """Returns what remains of a forgotten memory or message with this id of germane's; None where nothing does."""
