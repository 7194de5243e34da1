"""Sync: the blocking twin of `germane`. It only forwards its calls to the asynchronous implementation.

    from germane.sync import Germane

    with Germane.open("germane.db") as germane:
        context = germane.agent("support").assemble(messages, model="gpt-4o")

Each opened `Germane` has one event loop in one daemon thread, and any number of threads may call it. The docstrings of `api/`
and `access/keyring.py` say what the methods of the same names take, return and raise. A call that is interrupted is cancelled;
a call under way when another thread closes the `Germane` raises `StoreUnavailable`. Don't call it from an event loop, which it
would block, nor from a source or a progress callback of its own, which would wait for itself.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self, overload

from germane.api import agent as agents
from germane.api import agent_memories
from germane.api import germane as front
from germane.api.agent import Raw
from germane.api.arguments import System
from germane.api.blocking_keyring import Keyring
from germane.api.digest import MemoryDigest
from germane.api.embedder_argument import EmbedderArgument
from germane.api.export import Exported
from germane.api.extraction_worker import ExtractionRun
from germane.api.llm_argument import LLMArgument
from germane.api.loop_thread import Loop
from germane.api.restore import Line, Restored
from germane.api.strategies import Strategies
from germane.catalog.prices import Prices
from germane.clock import Clock
from germane.errors import StoreUnavailable
from germane.events.event import Event
from germane.events.reader import MessagePage, SessionPage
from germane.events.record import Recorded
from germane.memories.forget import Receipt
from germane.memories.memory import Memory
from germane.memories.reader import Page
from germane.pipeline.gather.source import SourceFactory
from germane.pipeline.status import State
from germane.search.relevance import Relevance
from germane.settings.settings import Settings
from germane.store import Checkup
from germane.text.secrets.screen import SecretPolicy
from germane.types.candidate import Provenance, Scored
from germane.types.context import Context
from germane.types.effort import Effort
from germane.types.inventory import AgentPage, Stats, UserPage
from germane.types.query import Filters
from germane.types.scope import Scope
from germane.types.strategy import Strategy
from germane.types.why import Why

__all__ = ["Agent", "Germane", "Keyring", "Recollections"]


class Germane:
    """As `germane.Germane`, opened with `with Germane.open(path) as germane:`."""

    def __init__(self, awaited: front.Germane) -> None:
        self._awaited = awaited
        self._loop: Loop | None = None

    @classmethod
    def open(
        cls,
        path: str | Path = "germane.db",
        *,
        settings: Settings | str | Path | None = None,
        embedder: EmbedderArgument | None = None,
        clock: Clock | None = None,
        sources: Mapping[str, SourceFactory] | None = None,
        freeze: bool = True,
        warm: bool = True,
        relevance: Relevance | str | Path | None = None,
        dimensions: int | None = None,
        embedder_model: str | None = None,
        secrets: SecretPolicy | None = None,
        extraction: bool | None = None,
        llm: LLMArgument | None = None,
    ) -> Germane:
        opened = front.Germane.open(
            path,
            settings=settings,
            embedder=embedder,
            clock=clock,
            sources=sources,
            freeze=freeze,
            warm=warm,
            relevance=relevance,
            dimensions=dimensions,
            embedder_model=embedder_model,
            secrets=secrets,
            extraction=extraction,
            llm=llm,
        )
        return cls(opened)

    def __enter__(self) -> Self:
        if self._loop is None:
            self._loop = Loop(self._awaited)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        loop, self._loop = self._loop, None
        if loop is not None:
            loop.close()

    def agent(self, agent: str = "default", *, org: str = "default", user: str | None = None, zone: str = "UTC") -> Agent:
        loop = self._running()
        return Agent(self._awaited.agent(agent, org=org, user=user, zone=zone), loop)

    @property
    def keys(self) -> Keyring:
        return Keyring(self._awaited.keys, self._running())

    @property
    def state(self) -> State:
        return self._running().call(self._state)

    @property
    def strategies(self) -> Strategies:
        self._running()
        return self._awaited.strategies

    @property
    def prices(self) -> Prices:
        self._running()
        return self._awaited.prices

    def pseudonym(self, id: str) -> str:
        self._running()
        return self._awaited.pseudonym(id)

    def agents(self, org: str = "default", *, limit: int = 50, cursor: str | None = None) -> AgentPage:
        return self._running().call(self._awaited.agents, org, limit=limit, cursor=cursor)

    def owner(self, id: str, *, org: str = "default") -> Scope | None:
        return self._running().call(self._awaited.owner, id, org=org)

    def count(self, text: str, *, model: str) -> int:
        self._running()
        return self._awaited.count(text, model=model)

    def backup(self, target: str | Path, progress: Callable[[int, int], None] | None = None) -> None:
        self._running().call(self._awaited.backup, target, progress)

    def export(self, org: str | None = None, agent: str | None = None) -> Iterator[Exported]:
        return _portions(self._running().call, self._awaited.export(org, agent))

    def restore(self, lines: Iterable[Line] | AsyncIterable[Line], *, skip_conflicts: bool = False) -> Restored:
        return self._running().call(self._awaited.restore, lines, skip_conflicts=skip_conflicts)

    def ping(self) -> None:
        self._running().call(self._awaited.ping)

    def check(self) -> Checkup:
        return self._running().call(self._awaited.check)

    def reembed(self, progress: Callable[[int, int], None] | None = None) -> int:
        return self._running().call(self._awaited.reembed, progress)

    def upgrade(self, progress: Callable[[int, int], None] | None = None) -> int:
        return self._running().call(self._awaited.upgrade, progress)

    def __repr__(self) -> str:
        return repr(self._awaited)

    async def _state(self) -> State:
        return self._awaited.state

    def _running(self) -> Loop:
        if self._loop is None:
            raise StoreUnavailable("this Germane isn't open: use  with Germane.open(…) as germane:")
        return self._loop


class Agent:
    """As `germane.Agent`; made by `Germane.agent`."""

    def __init__(self, awaited: agents.Agent, loop: Loop) -> None:
        self._awaited, self._call = awaited, loop.call
        self.scope: Scope = awaited.scope
        self.memories = Recollections(awaited.memories, loop)

    def __repr__(self) -> str:
        return repr(self._awaited)

    def assemble(
        self,
        messages: Sequence[Raw],
        *,
        model: str,
        provider: str | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
        query: str | None = None,
        session: str | None = None,
        at: datetime | None = None,
        deadline: float | None = 0.25,
        max_tokens: int | None = None,
        strategy: str | Strategy = "default",
        filters: Filters | None = None,
        effort: Effort | float | None = None,
        window: int | None = None,
        like: str | None = None,
        system: System | None = None,
    ) -> Context:
        return self._call(
            self._awaited.assemble,
            messages,
            model=model,
            provider=provider,
            tools=tools,
            query=query,
            session=session,
            at=at,
            deadline=deadline,
            max_tokens=max_tokens,
            strategy=strategy,
            filters=filters,
            effort=effort,
            window=window,
            like=like,
            system=system,
        )

    def fallback(
        self,
        messages: Sequence[Raw],
        *,
        model: str,
        provider: str | None = None,
        session: str | None = None,
        strategy: str | Strategy = "default",
        window: int | None = None,
        like: str | None = None,
        system: System | None = None,
        reason: str = "assembly_timeout",
    ) -> Context:
        return self._call(
            self._awaited.fallback,
            messages,
            model=model,
            provider=provider,
            session=session,
            strategy=strategy,
            window=window,
            like=like,
            system=system,
            reason=reason,
        )

    def digest(
        self,
        query: str,
        *,
        model: str = "gpt-4o",
        session: str | None = None,
        at: datetime | None = None,
        deadline: float | None = 0.25,
        max_tokens: int | None = None,
        filters: Filters | None = None,
        strategy: str | Strategy = "digest",
    ) -> MemoryDigest:
        return self._call(
            self._awaited.digest,
            query,
            model=model,
            session=session,
            at=at,
            deadline=deadline,
            max_tokens=max_tokens,
            filters=filters,
            strategy=strategy,
        )

    def recall(
        self,
        query: str,
        limit: int = 10,
        *,
        filters: Filters | None = None,
        at: datetime | None = None,
        strategy: str | Strategy = "default",
    ) -> tuple[Scored, ...]:
        return self._call(self._awaited.recall, query, limit, filters=filters, at=at, strategy=strategy)

    def record(
        self, messages: Sequence[Raw], *, session: str, source_kind: str = "user", channel: str | None = None
    ) -> Recorded:
        return self._call(self._awaited.record, messages, session=session, source_kind=source_kind, channel=channel)

    def extract(
        self,
        *,
        session: str | None = None,
        everything: bool = False,
        dry_run: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> ExtractionRun:
        return self._call(self._awaited.extract, session=session, everything=everything, dry_run=dry_run, progress=progress)

    def remember(
        self,
        text: str | None = None,
        *,
        kind: str = "note",
        agent_wide: bool = False,
        provenance: Provenance | None = None,
        **fields: Any,
    ) -> Memory:
        return self._call(self._awaited.remember, text, kind=kind, agent_wide=agent_wide, provenance=provenance, **fields)

    def forget(
        self,
        ids: Sequence[str] | None = None,
        *,
        key: str | None = None,
        tag: str | None = None,
        session: str | None = None,
        user: str | None = None,
        everything: bool = False,
        dry_run: bool = False,
        by: str = "",
        reason: str = "",
    ) -> Receipt:
        return self._call(
            self._awaited.forget,
            ids,
            key=key,
            tag=tag,
            session=session,
            user=user,
            everything=everything,
            dry_run=dry_run,
            by=by,
            reason=reason,
        )

    def feedback(self, ids: Sequence[str], *, helpful: bool = True) -> int:
        return self._call(self._awaited.feedback, ids, helpful=helpful)

    def texts(self, ids: Sequence[str]) -> dict[str, str]:
        return self._call(self._awaited.texts, ids)

    def find(self, id: str) -> Memory | Event:
        return self._call(self._awaited.find, id)

    def why(self, id: str, context: Context, *, session: str | None = None) -> Why:
        return self._call(self._awaited.why, id, context, session=session)

    def messages(
        self,
        session: str | None = None,
        *,
        filters: Filters | None = None,
        limit: int = 50,
        cursor: str | None = None,
        whole: bool = True,
    ) -> MessagePage:
        return self._call(self._awaited.messages, session, filters=filters, limit=limit, cursor=cursor, whole=whole)

    def sessions(self, *, limit: int = 50, cursor: str | None = None) -> SessionPage:
        return self._call(self._awaited.sessions, limit=limit, cursor=cursor)

    def users(self, *, limit: int = 50, cursor: str | None = None) -> UserPage:
        return self._call(self._awaited.users, limit=limit, cursor=cursor)

    def stats(self) -> Stats:
        return self._call(self._awaited.stats)

    @overload
    def directive(self) -> str: ...
    @overload
    def directive(self, text: str) -> str: ...
    def directive(self, text: str | None = None) -> str:
        return self._call(self._awaited.directive) if text is None else self._call(self._awaited.directive, text)

    def warm(self) -> None:
        self._call(self._awaited.warm)

    def export(self) -> Iterator[Exported]:
        return _portions(self._call, self._awaited.export())

    def restore(
        self, lines: Iterable[Line] | AsyncIterable[Line], *, into: bool = False, skip_conflicts: bool = False
    ) -> Restored:
        return self._call(self._awaited.restore, lines, into=into, skip_conflicts=skip_conflicts)


class Recollections:
    """As `germane.api.agent_memories.Recollections`, at `agent.memories`."""

    def __init__(self, awaited: agent_memories.Recollections, loop: Loop) -> None:
        self._awaited, self._call = awaited, loop.call

    def get(self, id: str) -> Memory:
        return self._call(self._awaited.get, id)

    def list(self, filters: Filters | None = None, *, limit: int = 50, cursor: str | None = None) -> Page:
        return self._call(self._awaited.list, filters, limit=limit, cursor=cursor)

    def update(self, id: str, text: str | None = None, **changes: Any) -> Memory:
        return self._call(self._awaited.update, id, text, **changes)

    def history(self, id: str) -> tuple[Memory, ...]:
        return self._call(self._awaited.history, id)


def _portions(call: Callable[..., Any], left: AsyncIterator[Exported]) -> Iterator[Exported]:
    while some := call(_next, left):
        yield from some


async def _next(left: AsyncIterator[Exported], maximum: int = 256) -> list[Exported]:
    """Some at a time: changing threads for each would cost more than reading it."""
    some: list[Exported] = []
    async for one in left:
        some.append(one)
        if len(some) == maximum:
            break
    return some
