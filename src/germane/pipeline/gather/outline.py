"""Outline source: the lines of the sessions' outlines, for requests of a summary or of an order of events (HIST-5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from germane.compaction.outline import OutlineLine
from germane.events.event import Event
from germane.pipeline.gather.candidates import from_event
from germane.pipeline.gather.source import EmbeddingSource, Skipped
from germane.store import ScopedStore
from germane.text.normal import content_hash
from germane.types.candidate import Candidate, Provenance
from germane.types.evidence import Evidence
from germane.types.query import Query
from germane.types.strategy import SourcePlan

__all__ = ["OUTLINE", "OutlineSource"]

OUTLINE = "outline"
"""The category of a line of an outline."""
_READ = 2_000
"""The latest lines that are looked at."""
_FOUND = 250
"""Messages that are searched for to tell what a line is about."""


class OutlineSource(EmbeddingSource):
    """Lines of outlines, one for each exchange, where the request asks for a summary, an overview or an order of events. A line
    is as relevant as what a search finds of its exchange, and for being asked for. Of many lines the most relevant are offered:
    the context writes them by time."""

    def __init__(self, store: ScopedStore, *, wait: bool = False) -> None:
        self._store, self._wait = store, wait

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate]:
        if not query.broad:
            raise Skipped("no_overview")
        filters = query.said_by_then
        lines = await self._store.history.latest_lines(_READ, filters=filters)
        if not lines:
            return []
        evidence = await self._evidence(query, plan)
        chosen = sorted(lines, key=lambda line: _found(line, evidence).own, reverse=True)[: plan.limit]
        events = {event.id: event for event in await self._store.events.get([line.first_id for line in chosen])}
        return [_candidate(line, events[line.first_id], _found(line, evidence)) for line in chosen if line.first_id in events]
