"""Blocking history: the blocking twin of `AgentHistory`, for `germane.sync`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from germane.kinds.archive.handle import SUMMARISE, EarlierMessages

if TYPE_CHECKING:
    from germane.api.workers.threads import Loop
    from germane.compaction.plan import Compaction
    from germane.compaction.strategy import CompactionStrategy
    from germane.kinds.archive import handle as agent_history
    from germane.kinds.archive.outline import OutlinePage
    from germane.kinds.archive.value import KeptSummary
    from germane.types.message import Raw


class AgentHistory:
    """As `germane.kinds.archive.handle.AgentHistory`."""

    def __init__(self, awaited: agent_history.AgentHistory, loop: Loop) -> None:
        self._awaited, self._call = awaited, loop.call

    def __repr__(self) -> str:
        return repr(self._awaited)

    def compact(
        self,
        messages: Sequence[Raw],
        *,
        session: str | None = None,
        model: str,
        max_tokens: int | None = None,
        strategy: CompactionStrategy = SUMMARISE,
        system: Any = None,
        tools: Sequence[Mapping[str, Any]] = (),
        provider: str | None = None,
        low_water: float = 0.5,
        max_messages: int | None = None,
        deadline: float | None = 5.0,
    ) -> Compaction:
        return self._call(
            self._awaited.compact,
            messages,
            session=session,
            model=model,
            max_tokens=max_tokens,
            strategy=strategy,
            system=system,
            tools=tools,
            provider=provider,
            low_water=low_water,
            max_messages=max_messages,
            deadline=deadline,
        )

    def rebuild(self, messages: Sequence[Raw], *, session: str | None = None, provider: str = "openai") -> list[Raw]:
        return self._call(self._awaited.rebuild, messages, session=session, provider=provider)

    def show(self, handle: str, *, session: str | None = None) -> EarlierMessages:
        return self._call(self._awaited.show, handle, session=session)

    def summaries(self, session: str | None = None, *, limit: int = 100) -> tuple[KeptSummary, ...]:
        return self._call(self._awaited.summaries, session, limit=limit)

    def outline(self, session: str | None = None, *, limit: int = 100, cursor: str | None = None) -> OutlinePage:
        return self._call(self._awaited.outline, session, limit=limit, cursor=cursor)
