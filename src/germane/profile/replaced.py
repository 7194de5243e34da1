"""Replaced: when a line that a language model wrote in place of others doesn't stand (PERSON-1).

A model may write one line for several: "bad left knee: no stairs" for what was said on three days. Such a line stands while all
that it was made of holds. Where a part of it has ended or changed, or was hidden or pinned, the line falls, and its parts stand
by themselves again; nothing is lost with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from germane.memories.written_line import written_line
from germane.profile.shown_clause import stored_clause

if TYPE_CHECKING:
    from datetime import datetime

    from germane.memories.memory import Memory
    from germane.profile.marking import Mark
    from germane.store import ScopedStore

__all__ = ["fallen"]


async def fallen(store: ScopedStore, memories: Iterable[Memory], marks: Mapping[str, Mark], at: datetime) -> frozenset[str]:
    """Returns the ids of those memories whose lines fall. Reads the messages of the parts, where there are any."""
    parts = [(memory, replaces) for memory in memories if (replaces := written_line(memory).replaces)]
    if not parts:
        return frozenset()
    holding = await store.profile.holding(frozenset(chain.from_iterable(_messages(names) for _, names in parts)), at)

    def stands(memory: Memory, names: Sequence[str]) -> bool:
        return memory.stale_since is None and holding >= _messages(names) and not any(name in marks for name in names)

    return frozenset(memory.id for memory, names in parts if not stands(memory, names))


def _messages(names: Iterable[str]) -> frozenset[str]:
    """The messages of those names that are of clauses."""
    return frozenset(clause[0] for name in names if (clause := stored_clause(name)) is not None)
