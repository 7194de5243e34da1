"""Eviction: the order in which exchanges leave the prompt, by strategy, and a quick way without one (HIST-2).

What an exchange is worth is counted from its notes, so that it depends on nothing that comes after it: a constraint counts
3, a decision or an open task 2, an error 1.5, any other artifact 0.5 up to 8 of them; each exchange counts 1 for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from germane.compaction.boundaries import EvictionOrder, Span
from germane.compaction.exchanges import divide
from germane.compaction.notes import ExchangeNotes
from germane.compaction.strategy import CompactionStrategy, Importance, TimeDecay
from germane.types.message import Message

_CONSTRAINT_WORTH, _OTHER_WORTH, _MAX_OTHERS = 3.0, 0.5, 8
_WORTH = {"decision": 2.0, "task": 2.0, "error": 1.5}


def eviction_order(strategy: CompactionStrategy, notes: Callable[[Span], ExchangeNotes]) -> EvictionOrder:
    """Returns the order of the strategy: for `Truncate` and `Summarise` the oldest first. `Importance`: those older than its
    newest `keep_recent`, but for the `keep_important` that are worth most, oldest first; then these, the least worth first;
    then the newest ones. `TimeDecay`: the least worth first, worth halving every `half_life` exchanges."""
    if isinstance(strategy, Importance):
        recent, important = strategy.keep_recent, strategy.keep_important

        def by_importance(chunks: Sequence[Span]) -> list[Span]:
            older = chunks[: max(0, len(chunks) - recent)]
            ranked = sorted(older, key=lambda chunk: (-worth(notes(chunk)), -chunk[0]))
            best = ranked[:important]
            matter = set(best)
            return [*(chunk for chunk in older if chunk not in matter), *reversed(best), *chunks[len(older) :]]

        return by_importance
    if isinstance(strategy, TimeDecay):
        half_life = strategy.half_life

        def by_decay(chunks: Sequence[Span]) -> list[Span]:
            def left(place: int) -> tuple[float, int]:
                return worth(notes(chunks[place])) * 0.5 ** ((len(chunks) - place) / half_life), place

            return [chunks[place] for place in sorted(range(len(chunks)), key=left)]

        return by_decay
    return list


def worth(notes: ExchangeNotes) -> float:
    """Returns what an exchange is worth by its notes, 1 or more."""
    others = sum(each.kind not in _WORTH for each in notes.artifacts)
    named = sum(_WORTH.get(each.kind, 0.0) for each in notes.artifacts)
    return 1.0 + _CONSTRAINT_WORTH * len(notes.constraints) + named + _OTHER_WORTH * min(others, _MAX_OTHERS)


# The quick way, where no time is left for a plan: the newest exchanges that fit are kept, each with its tool calls and
# results. Only whole exchanges are left out, the oldest first. The newest one, which is being worked on, always stays.


class KeptMessages(NamedTuple):
    """`lead` system messages stand before the conversation and stay; the messages from `lead` to `start` are left out. `active`
    is the index of the newest batch. `tokens` are those of what stays, lead included."""

    lead: int
    start: int
    active: int
    tokens: int
    batches_left_out: int

    @property
    def messages_left_out(self) -> int:
        return self.start - self.lead


def keep_newest(messages: Sequence[Message], costs: Sequence[int], max_tokens: int, max_messages: int) -> KeptMessages:
    """Returns which batches stay: the newest ones that cost at most `max_tokens` together and hold at most `max_messages`, and
    at least the newest. `costs` are the messages' tokens. Lead messages count neither way."""
    lead, exchanges = divide(messages)
    starts = [exchange.start for exchange in exchanges]
    fixed = sum(costs[:lead])
    if not starts:
        return KeptMessages(lead, lead, lead, fixed, 0)
    tokens, kept = 0, len(starts)
    for place in range(len(starts) - 1, -1, -1):
        end = starts[place + 1] if place + 1 < len(starts) else len(messages)
        cost = sum(costs[starts[place] : end])
        too_much = tokens + cost > max_tokens or len(messages) - starts[place] > max_messages
        if too_much and kept < len(starts):
            break
        tokens, kept = tokens + cost, place
        if too_much:
            break
    return KeptMessages(lead, starts[kept], starts[-1], fixed + tokens, kept)
