"""Feedback: what came of memories that were injected. It moves usefulness and frequency, never content (MEM-5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from germane.errors import InvalidInput
from germane.memories.operations import CountFeedback, CountRetrievals, MemoriesById
from germane.types.limits import shown
from germane.types.plan import Decision, Plan, read
from germane.types.scope import Scope

__all__ = ["count_retrievals", "feedback"]


def feedback(ids: Iterable[str], helpful: bool, *, scope: Scope) -> Plan[int]:
    """One verdict for each memory among `ids` that is the scope's own, however often it is named; the outcome is how many those
    were. Ids of messages, of others and of nothing are passed over, so the ids of a whole context can be given.

    So are agent-wide memories where the scope has a user: what moves their usefulness moves it for every user of the agent, so
    only a scope without a user judges them, to the good as to the bad.
    """
    if not isinstance(helpful, bool):
        raise InvalidInput(f"helpful must be True or False, not {shown(helpful)}")
    wanted = tuple(dict.fromkeys((ids,) if isinstance(ids, str) else ids))
    if not wanted:
        return Decision((), 0)
    found = yield from read(MemoriesById(wanted))
    own = tuple(id for id in wanted if id in found and found[id].user == scope.user)
    return Decision((CountFeedback(own, helpful),) if own else (), len(own))


def count_retrievals(ids: Iterable[str]) -> Plan[int]:
    """One more retrieval for each mention in `ids`: a batch of several answers names a memory once for each. What isn't a
    memory of this scope, the store passes over. The outcome is the number of mentions."""
    yield from ()
    mentions = Counter(ids)
    rounds = range(max(mentions.values(), default=0))
    changes = tuple(CountRetrievals(tuple(id for id, times in mentions.items() if times > turn)) for turn in rounds)
    return Decision(changes, mentions.total())
