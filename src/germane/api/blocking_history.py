"""Blocking history: the blocking twin of `AgentHistory`, for `germane.sync`."""

from __future__ import annotations

from germane.api import agent_history
from germane.api.agent_history import EarlierMessages
from germane.api.loop_thread import Loop
from germane.compaction.kept_history import KeptSummary
from germane.compaction.outline import OutlinePage

__all__ = ["AgentHistory"]


class AgentHistory:
    """As `germane.api.agent_history.AgentHistory`."""

    def __init__(self, awaited: agent_history.AgentHistory, loop: Loop) -> None:
        self._awaited, self._call = awaited, loop.call

    def __repr__(self) -> str:
        return repr(self._awaited)

    def show(self, handle: str, *, session: str | None = None) -> EarlierMessages:
        return self._call(self._awaited.show, handle, session=session)

    def summaries(self, session: str | None = None, *, limit: int = 100) -> tuple[KeptSummary, ...]:
        return self._call(self._awaited.summaries, session, limit=limit)

    def outline(self, session: str | None = None, *, limit: int = 100, cursor: str | None = None) -> OutlinePage:
        return self._call(self._awaited.outline, session, limit=limit, cursor=cursor)
