"""Sync: the blocking twin of `germane`. It only forwards its calls to the asynchronous implementation.

    from germane.sync import Germane

    with Germane.open("germane.db") as germane:
        context = germane.agent("support").assemble(messages, model="gpt-4o")

Without `with` it opens at its first call, in a notebook, or in a web server's module, and `close` closes it. A process that
ends without `close` loses nothing that a call has returned. Each opened `Germane` has one event loop in one daemon thread, and
any number of threads may call it. The docstrings of `api/`
and `kinds/keys/handle.py` say what the methods of the same names take, return and raise. A call that is interrupted is
cancelled; a call under way when another thread closes the `Germane` raises `StoreUnavailable`. Don't call it from an event
loop, which it would block, nor from a source or a progress callback of its own, which would wait for itself.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from germane.api import germane as front
from germane.api.blocking_agent import Agent, Recollections
from germane.api.blocking_keyring import Keyring
from germane.api.workers.threads import Loop
from germane.errors import StoreUnavailable

if TYPE_CHECKING:
    from germane.api.arguments import EmbedderArgument, LLMArgument
    from germane.api.blocking_blocks import MemoryBlocks
    from germane.api.blocking_documents import Documents
    from germane.api.blocking_history import AgentHistory
    from germane.api.blocking_tasks import Delegation, Delegations, TaskStack
    from germane.api.strategies import Strategies
    from germane.api.verbs.transfer import Exported, Line, Restored
    from germane.catalog.profiles import Prices
    from germane.clock import Clock
    from germane.engine.engine import State
    from germane.kinds.archetypes.registry import Archetypes
    from germane.kinds.archetypes.value import Archetype
    from germane.kinds.memories.value import Receipt
    from germane.search.relevance import Relevance
    from germane.settings.settings import Settings
    from germane.stages.gather.source import SourceFactory
    from germane.stores.contract import Checkup
    from germane.text.secrets.detection import SecretPolicy
    from germane.types.inventory import AgentPage, OrgPage
    from germane.types.scope import Scope

__all__ = [
    "Agent",
    "AgentHistory",
    "Delegation",
    "Delegations",
    "Documents",
    "Germane",
    "Keyring",
    "MemoryBlocks",
    "Recollections",
    "TaskStack",
]


_HOMES = {
    "blocking_blocks": ("MemoryBlocks",),
    "blocking_documents": ("Documents",),
    "blocking_history": ("AgentHistory",),
    "blocking_tasks": ("Delegation", "Delegations", "TaskStack"),
}
"""Where the rooms of an agent are: each is imported when it is first asked for."""


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"germane.api.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class Germane:
    """As `germane.Germane`, opened with `with Germane.open(path) as germane:`, or by the first call of what
    `Germane.open(path)` returns."""

    def __init__(self, awaited: front.Germane) -> None:
        if not isinstance(awaited, front.Germane):
            raise TypeError("a Germane is opened, not called: use  germane = Germane.open(path)")
        self._awaited = awaited
        self._loop: Loop | None = None
        self._closed, self._lock = False, Lock()

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
        archetype: str | Archetype | None = None,
        entities: bool | None = None,
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
            archetype=archetype,
            entities=entities,
        )
        return cls(opened)

    def __enter__(self) -> Self:
        with self._lock:
            self._closed = False
        self._running()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        with self._lock:
            loop, self._loop, self._closed = self._loop, None, True
        if loop is not None:
            loop.close()

    def agent(
        self,
        agent: str = "default",
        *,
        org: str = "default",
        user: str | None = None,
        zone: str = "UTC",
        archetype: str | Archetype | None = None,
    ) -> Agent:
        loop = self._running()
        return Agent(self._awaited.agent(agent, org=org, user=user, zone=zone, archetype=archetype), loop)

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
    def archetypes(self) -> Archetypes:
        self._running()
        return self._awaited.archetypes

    @property
    def prices(self) -> Prices:
        self._running()
        return self._awaited.prices

    def pseudonym(self, id: str) -> str:
        self._running()
        return self._awaited.pseudonym(id)

    def agents(self, org: str = "default", *, limit: int = 50, cursor: str | None = None) -> AgentPage:
        return self._running().call(self._awaited.agents, org, limit=limit, cursor=cursor)

    def orgs(self, *, limit: int = 50, cursor: str | None = None) -> OrgPage:
        return self._running().call(self._awaited.orgs, limit=limit, cursor=cursor)

    def forget(self, org: str, *, agent: str | None = None, dry_run: bool = False, by: str = "", reason: str = "") -> Receipt:
        return self._running().call(self._awaited.forget, org, agent=agent, dry_run=dry_run, by=by, reason=reason)

    def owner(self, id: str, *, org: str = "default") -> Scope | None:
        return self._running().call(self._awaited.owner, id, org=org)

    def count(self, text: str, *, model: str) -> int:
        self._running()
        return self._awaited.count(text, model=model)

    def backup(self, target: str | Path, progress: Callable[[int, int], None] | None = None) -> None:
        self._running().call(self._awaited.backup, target, progress)

    def export(self, org: str | None = None, agent: str | None = None) -> Iterator[Exported]:
        return self._running().each(self._awaited.export(org, agent))

    def restore(self, lines: Iterable[Line] | AsyncIterable[Line], *, skip_conflicts: bool = False) -> Restored:
        return self._running().call(self._awaited.restore, lines, skip_conflicts=skip_conflicts)

    def ping(self) -> None:
        self._running().call(self._awaited.ping)

    def verify(self, *, full: bool = False, progress: Callable[[int, int], None] | None = None) -> Checkup:
        return self._running().call(self._awaited.verify, full=full, progress=progress)

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
        """The loop, which the first call starts. Raises what opening raises."""
        with self._lock:
            if self._closed:
                raise StoreUnavailable("this Germane is closed: open it anew, with  Germane.open(…)")
            if self._loop is None:
                self._loop = Loop(self._awaited)
            return self._loop
