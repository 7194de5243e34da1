"""Source: turns a part of what is stored into candidates. One file a source; users register their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from germane.store import ScopedStore
from germane.types.candidate import Candidate
from germane.types.query import Query
from germane.types.strategy import SourcePlan

__all__ = ["Busy", "Skipped", "Source", "SourceFactory"]


class Skipped(Exception):
    """Raised by a source that has nothing to do this time; the message is the reason in the trace, a word or two."""


class Source(Protocol):
    """`gather` may be cancelled at any await, and may raise: neither touches another source. It sees one scope only."""

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate]:
        """At most `plan.limit` candidates."""


class Busy:
    """In a source's place when there isn't the time to search."""

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate]:
        raise Skipped("busy")


SourceFactory = Callable[[ScopedStore], Source]
