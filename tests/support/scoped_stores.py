"""Scoped stores: a scoped store in memory with one memory and one message, and an engine, for tests that inject faults."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from math import inf
from typing import Any, cast

from germane.api.strategies import DEFAULT
from germane.catalog.profiles import Catalog
from germane.clock import Clock
from germane.engine.admission import AdmissionQueue
from germane.engine.assembly import Outcome
from germane.engine.engine import Engine
from germane.kinds.blocks.reads import FirstNamed, StandingBlocks
from germane.kinds.blocks.value import ArchivalEntry
from germane.kinds.conversations.reads import LatestLines
from germane.kinds.events.reads import ListSessions, RecentEvents, SeenEvents, SessionPage
from germane.kinds.events.value import Event
from germane.kinds.injections import KeptInjections, SessionInjections
from germane.kinds.inventory import AllowedIds
from germane.kinds.memories.directive import CurrentDirective, Directive
from germane.kinds.memories.reads import ListMemories, Page, PinnedMemories, SeenMemories, VersionsOfMemory
from germane.kinds.memories.value import Memory
from germane.kinds.profile.reads import LineMarks, TellingClauses
from germane.kinds.tasks.reads import DelegationInto, StackView
from germane.models.tokenizers import open_tokenizer
from germane.ports.models import Embedder
from germane.search.relevance import shipped
from germane.stores.contract import ScopedStore
from germane.types.evidence import Evidence, Found, Hit
from germane.types.message import Message
from germane.types.plan import Read
from germane.types.query import Query
from germane.types.request import Request
from germane.types.scope import Scope
from germane_testing.builders import MOMENT, Hashed, a_memory, an_event

__all__ = ["DIRECTIVE", "MEMORY", "MESSAGE", "Kept", "engine", "idle", "keep_result", "request", "scoped"]

DIRECTIVE = "Answer in one sentence."
MEMORY = a_memory("Prefers oolong to coffee", kind="preference")
MESSAGE = an_event("I adopted a greyhound called Biscuit", session="s0", created_at=MEMORY.created_at)
_STRONG = Evidence(own=0.9, window=0.9, session=0.9, cos_own=0.7, cos_window=0.7)
_tokenizer = cache(open_tokenizer)


class _Memories:
    async def search(self, query: Query, limit: int, *, keywords: bool, vectors: bool, wait: bool) -> Found[Memory]:
        return Found(hits=(Hit(thing=MEMORY, evidence=_STRONG),))


class _Events:
    async def search(self, query: Query, limit: int, *, keywords: bool, vectors: bool, wait: bool) -> Found[Event]:
        return Found(hits=(Hit(thing=MESSAGE, evidence=_STRONG),))

    async def speakers(self, said_in: str | None = None) -> tuple[str, ...]:
        return ("Caroline",)


class _Blocks:
    async def search(self, query: Query, limit: int, *, keywords: bool, vectors: bool, wait: bool) -> Found[ArchivalEntry]:
        return Found()


_ANSWERS: dict[type[Read[Any]], Any] = {
    CurrentDirective: Directive(DIRECTIVE),
    AllowedIds: lambda read: frozenset(read.ids),
    SessionInjections: KeptInjections(),
    StackView: None,
    DelegationInto: None,
    StandingBlocks: (),
    FirstNamed: (),
    LatestLines: (),
    TellingClauses: (),
    LineMarks: {},
    PinnedMemories: (),
    SeenMemories: (MEMORY,),
    RecentEvents: (),
    SeenEvents: (MESSAGE,),
    ListSessions: SessionPage(sessions=()),
    VersionsOfMemory: (MEMORY,),
    ListMemories: Page(memories=(MEMORY,)),
}
"""What `Kept` answers, by the type of the read; a function makes the answer of the read."""


@dataclass(frozen=True, slots=True)
class Kept:
    scope: Scope = field(default_factory=lambda: Scope(user="caroline"))
    memories: Any = field(default_factory=_Memories)
    events: Any = field(default_factory=_Events)
    blocks: Any = field(default_factory=_Blocks)

    async def ask(self, read: Read[Any]) -> Any:
        answer = _ANSWERS[type(read)]
        return answer(read) if callable(answer) else answer

    async def commit(self, plan: Any) -> Any:
        raise NotImplementedError

    async def revision(self) -> int:
        return 1

    def known_revision(self) -> int:
        return 1

    async def scrub(self) -> str:
        return ""


def scoped(session: str | None = None) -> ScopedStore:
    return Kept(scope=Scope(user="caroline", session=session))


def idle(slots: int | None = None) -> AdmissionQueue:
    """An admission queue in a process that computes nothing, whatever the tests cost."""
    return AdmissionQueue(slots, cpu=lambda: 0.0)


def engine(embedder: Embedder | None = None, clock: Clock | None = None, **options: Any) -> Engine:
    options.setdefault("admission", idle())
    return Engine(
        clock=clock or Clock(now=lambda: MOMENT),
        catalog=Catalog.built_in(),
        tokenizer=_tokenizer,
        embedder=embedder or Hashed(),
        relevance=shipped(),
        nonce_key=b"k" * 32,
        **options,
    )


def keep_result(germane: Engine, asked: Request) -> None:
    """Has a result kept for this request, so that its answer begins with the question for the store's revision. No store that
    tells one gives the result out."""
    germane.result_cache.put(germane.result_cache.key_of(asked, DEFAULT), -1, cast("Outcome", "never given"), inf)


def request(question: str = "What do I drink, and what is my greyhound called?", **fields: Any) -> Request:
    raw = {"role": "user", "content": question}
    given: dict[str, Any] = {"model": "gpt-4o", "provider": "openai", "at": MOMENT, "scope": Scope(user="caroline")}
    given |= {"messages": (Message.of("user", question),), "raw": (raw,), "deadline": 0.048}
    return Request(**given | fields)
