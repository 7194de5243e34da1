"""Outline source: the lines of the sessions' outlines, for requests of a summary or of an order of events (HIST-5).

A summary wants a little of much, and no search finds much: it finds what is like the question. So the lines are ordered by
marginal relevance: by what a search finds of their exchanges, and by what each line adds to those before it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from germane.compaction.outline import OutlineLine
from germane.compaction.shown_line import OUTLINE, line_hash, shown_line
from germane.events.event import Event
from germane.pipeline.gather.candidates import from_event
from germane.pipeline.gather.source import EmbeddingSource, Skipped
from germane.search.marginal import by_marginal_relevance
from germane.search.relevance import Relevance, matrix
from germane.search.sigmoid import sigmoid
from germane.store import ScopedStore
from germane.text.analyse import analyse
from germane.types.candidate import Candidate, Provenance
from germane.types.evidence import Evidence
from germane.types.query import Query
from germane.types.strategy import SourcePlan

__all__ = ["OutlineSource"]

_READ = 1_000
"""The latest lines that are looked at."""
_FOUND = 130
"""Messages that are searched for, to tell what a line is about."""
_FIRST, _LAST = 0.95, 0.05
"""The evidence of the first line, and of the last one that the limit allows."""


class OutlineSource(EmbeddingSource):
    """Lines of outlines, where the request asks for a summary, an overview or an order of events. An exchange of one message
    has no line here, as the message says it already. A line and its first message are one thing, of which one form is shown; so
    a line whose first message the request holds isn't offered."""

    def __init__(self, store: ScopedStore, relevance: Relevance, *, wait: bool = False) -> None:
        self._store, self._relevance, self._wait = store, relevance, wait

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate]:
        if not query.broad:
            raise Skipped("no_overview")
        latest, likely = await asyncio.gather(
            self._store.history.latest_lines(_READ, filters=query.of_its_days(query.said_by_then)), self._search(query, plan)
        )
        lines = [line for line in latest if line.messages > 1 and line.text]
        if not lines:
            return []
        order = await asyncio.to_thread(_ordered, lines, likely, plan.limit)
        events = {event.id: event for event in await self._store.events.get([lines[index].first_id for index in order])}
        steps = np.linspace(_FIRST, _LAST, plan.limit)[: len(order)].tolist()
        return [
            _candidate(lines[index], events[lines[index].first_id], Evidence(outline=step))
            for index, step in zip(order, steps, strict=True)
            if lines[index].first_id in events
        ]

    async def _search(self, query: Query, plan: SourcePlan) -> Mapping[str, float]:
        """How likely each message is what the question is about, by id."""
        if not query.searchable:
            return {}
        asked = replace(query, filters=query.of_its_days(query.said_by_then), texts=False)
        found = await self._store.events.search(asked, _FOUND, keywords=plan.keywords, vectors=plan.vectors, wait=self._wait)
        likely = {one.id: one.probability for one in found.unread}
        if found.hits:  # of a store that reads texts all the same
            odds = self._relevance.log_odds(matrix([hit.evidence for hit in found.hits]))
            likely |= zip((hit.thing.id for hit in found.hits), sigmoid(odds).tolist(), strict=True)
        return likely


def _ordered(lines: Sequence[OutlineLine], likely: Mapping[str, float], limit: int) -> list[int]:
    """The indexes of the lines to offer, the best first. Takes tens of milliseconds for a thousand lines."""
    return by_marginal_relevance(_about(lines, likely), [frozenset(analyse(line.text)) for line in lines], limit)


def _about(lines: Sequence[OutlineLine], likely: Mapping[str, float]) -> list[float]:
    """How much each line is about the question: the root of the probability of its exchange's first or last message, over that
    of the best."""
    best = [max(likely.get(line.first_id, 0.0), likely.get(line.last_id, 0.0)) ** 0.5 for line in lines]
    most = max(best)
    return [one / most for one in best] if most > 0 else best


def _candidate(line: OutlineLine, event: Event, evidence: Evidence) -> Candidate:
    """A candidate of a line; `event` is the first message of its exchange."""
    said = from_event(event, OUTLINE, evidence)
    share = min(1.0, len(line.text) / max(1, len(event.text)))
    about = {"extracted": OUTLINE, "message_hash": event.content_hash, "share": share}
    return said._replace(
        id=shown_line(event.id),
        category=OUTLINE,
        text=line.text,
        kinds=(OUTLINE,),
        speaker="",
        role="",
        sensitivity=line.sensitivity,
        content_hash=line_hash(event.id, line.text),
        passage=None,
        outdated=None,
        provenance=Provenance(session=event.session, message_id=event.message_id, refs=(event.id,), metadata=about),
    )
