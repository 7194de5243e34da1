"""Leaving: in which order exchanges leave the prompt, by strategy (HIST-2).

What an exchange is worth is counted from its notes, so that it depends on nothing that comes after it: a constraint counts 3, a
decision or an open task 2, an error 1.5, any other artifact 0.5 up to 8 of them; each exchange counts 1 for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from germane.compaction.boundaries import Leaving, Span
from germane.compaction.notes import ExchangeNotes
from germane.compaction.strategy import CompactionStrategy, Importance, TimeDecay

__all__ = ["leaving", "worth"]

_CONSTRAINT, _OTHER, _MOST_OTHERS = 3.0, 0.5, 8
_WORTH = {"decision": 2.0, "task": 2.0, "error": 1.5}


def leaving(strategy: CompactionStrategy, notes: Callable[[Span], ExchangeNotes]) -> Leaving:
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
    return 1.0 + _CONSTRAINT * len(notes.constraints) + named + _OTHER * min(others, _MOST_OTHERS)
