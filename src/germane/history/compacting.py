"""Compacting: makes a conversation fit a model's window, without a store and without a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from germane.compaction.archive import Archive
from germane.compaction.archiving import archived
from germane.compaction.compaction import Compaction
from germane.compaction.fold import plan_compaction
from germane.compaction.notebook import Summaries
from germane.compaction.render import render
from germane.compaction.strategy import CompactionStrategy, Summarise
from germane.history.arguments import Compactable, compactable
from germane.types.message import Message

__all__ = ["compact"]

_SUMMARISE = Summarise()


def compact(
    messages: Sequence[Mapping[str, Any] | Message],
    *,
    model: str,
    max_tokens: int | None = None,
    provider: str | None = None,
    system: Any = None,
    tools: Sequence[Mapping[str, Any]] = (),
    strategy: CompactionStrategy = _SUMMARISE,
    archive: Archive | None = None,
    summaries: Summaries = (),
    low_water: float = 0.5,
    max_messages: int | None = None,
) -> Compaction:
    """Returns the messages as they fit `max_tokens`, which are those of the whole request: messages, system prompt and tools.

    Nothing changes while they fit. Else old tool outputs are masked first, then the oldest exchanges leave, with one summary
    for all of them, down to `low_water` of the tokens; the same conversation with one more message so keeps its beginning
    until the next time. `max_tokens` is by default what the model's window has beside its answer and a safety margin.

    With an `archive` what was taken out is kept there, and named by handles that bring it back. `summaries` were prepared
    earlier; the newest one that covers what left stands in the place of an extractive one. Raises `InvalidInput` for arguments
    that can't be used, and never for what the messages say."""
    given = compactable(
        messages,
        model=model,
        max_tokens=max_tokens,
        provider=provider,
        system=system,
        tools=tools,
        strategy=strategy,
        archive=archive,
        low_water=low_water,
        max_messages=max_messages,
    )
    return compacted(given, archive, summaries)


def compacted(given: Compactable, archive: Archive | None, summaries: Summaries = ()) -> Compaction:
    """Returns the compaction of checked arguments."""
    plan = plan_compaction(given.raws, given.messages, given.terms, summaries)
    if archive is None or not plan.entries:
        return render(plan)
    kept = archived(archive, plan.entries)
    return render(plan, kept.handles, kept.reasons)
