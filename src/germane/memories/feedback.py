"""Feedback: the plans that count votes on memories and their retrievals; they never change content (MEM-5)."""

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
    """Counts one vote for each memory in `ids` that the scope owns; the outcome is their number. Repeated ids count once. Ids
    of messages, of other owners' memories and unknown ids are skipped, so the ids of a whole context can be given.

    Where the scope has a user, agent-wide memories are skipped too: a vote on them changes their usefulness for every user of
    the agent, so it takes a scope without a user. Raises `InvalidInput` where `helpful` isn't a bool.
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
    """Adds one retrieval to a memory for each time that `ids` names it: a batch of several contexts names a memory once for
    each of them. Ids that aren't memories of the scope are skipped. The outcome is the length of `ids`."""
    yield from ()
    mentions = Counter(ids)
    rounds = range(max(mentions.values(), default=0))
    changes = tuple(CountRetrievals(tuple(id for id, times in mentions.items() if times > turn)) for turn in rounds)
    return Decision(changes, mentions.total())
