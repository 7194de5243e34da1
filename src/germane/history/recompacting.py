"""Recompacting: the way out after a provider has refused a request as too long."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from germane.compaction.archive import Archive
from germane.compaction.compaction import Compaction
from germane.compaction.notebook import Summaries
from germane.compaction.strategy import CompactionStrategy, Summarise
from germane.compaction.too_long import read_too_long
from germane.history.arguments import compactable
from germane.history.compacting import compacted
from germane.types.message import Message

__all__ = ["recompact"]

_SUMMARISE = Summarise()
_MARGIN = 0.95
"""The part of what the provider allows that is used: its count of what is left isn't known."""


def recompact(
    error: object,
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
    """Returns the messages of a refused request as they fit after all. `error` is the exception, its text, or the body of the
    provider's answer. What it says about the tokens of the request and of the limit tells how much the provider counts for a
    token of germane's, and so how much must go; where it says nothing, half of the tokens go. All else as for `compact`."""
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
    measure = given.terms.measure
    tokens = measure.fixed(system, given.terms.tools) + sum(
        measure.message(message, raw).cost for message, raw in zip(given.messages, given.raws, strict=True)
    )
    told = read_too_long(error)
    if told.most is None:
        allowed = tokens // 2
    elif told.used is None:
        allowed = min(int(told.most * _MARGIN), int(tokens * _MARGIN))
    else:
        allowed = int(tokens * told.most / told.used * _MARGIN)
    terms = replace(given.terms, max_tokens=min(given.terms.max_tokens, allowed))
    return compacted(replace(given, terms=terms), archive, summaries)
