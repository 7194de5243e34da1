"""Continuity: the session's last exchange, for a request that lacks it altogether ("make it shorter") (AMOUNT-4)."""

from __future__ import annotations

from collections.abc import Sequence

from germane.pipeline.gather.candidates import from_event
from germane.pipeline.gather.merge import RequestContents, fresh
from germane.pipeline.gather.source import Skipped
from germane.store import ScopedStore
from germane.types.candidate import Candidate
from germane.types.evidence import Evidence
from germane.types.query import Query
from germane.types.strategy import SourcePlan

__all__ = ["ContinuitySource"]


class ContinuitySource:
    """The last exchange of the running session: the newest stored messages back to the last one of the user. They are required,
    so that a reference to them can be understood; the packer shortens long ones. A request that holds any message of the
    exchange needs none of it back."""

    def __init__(self, store: ScopedStore, said: RequestContents) -> None:
        self._store, self._said = store, said

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate]:
        session = self._store.scope.session
        if session is None:
            raise Skipped("no_session")
        recent = self._store.events.recent
        events = await recent(plan.limit + 1, session=session, filters=query.filters, typed=False)
        found = [from_event(event, "continuity", Evidence(), at=query.at) for event in events]
        missing = {one.id for one in fresh(found, self._said, query.filters, session=session)}
        if found and found[0].id not in missing and found[0].role == "user":
            del found[0]  # the turn that is being answered was recorded first
        exchange = list[Candidate]()
        for candidate in found[: plan.limit]:
            exchange.append(candidate)
            if candidate.role == "user":
                break
        if any(candidate.id not in missing for candidate in exchange):
            return []
        return [candidate._replace(required=True) for candidate in exchange]
