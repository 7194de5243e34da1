"""Source: the protocol of a source of candidates, for built-in sources and for those that users register."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from germane.store import ScopedStore
from germane.types.candidate import Candidate
from germane.types.query import Query
from germane.types.strategy import SourcePlan
from germane.types.unread import Unread

__all__ = ["BusySource", "EmbeddingSource", "Skipped", "Source", "SourceFactory"]


class Skipped(Exception):
    """Raised by a source that has nothing to do for a query; the message is the reason shown in the trace, a word or two."""


class Source(Protocol):
    """Turns a part of one scope's store into candidates. `gather` may raise, and may be cancelled at any await; neither affects
    other sources."""

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate | Unread]:
        """At most `plan.limit` candidates; what was found besides and not read is named. Raises `Skipped` when there is nothing
        to do."""


class EmbeddingSource:
    """Base of the sources whose searches make the query's vector themselves, where `Query.embed` is set."""


class BusySource:
    """Stands for a source when there isn't time to search: raises `Skipped`."""

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate]:
        raise Skipped("busy")


SourceFactory = Callable[[ScopedStore], Source]
"""Makes a source for one scoped store."""
