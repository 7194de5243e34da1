"""Store and scoped store: where things are kept, and the part of it that one scope can reach.

A scoped store is made from a scope and can reach nothing outside it (SCOPE-2): no method of it and
nothing it returns takes an org, an agent or a user.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from germane.access.key_store import KeyStore
from germane.events.reader import EventReader
from germane.memories.reader import MemoryReader
from germane.ports.journal import Journal
from germane.types.query import Filters
from germane.types.scope import Scope

__all__ = ["Checkup", "ScopedStore", "Store", "Warming"]


class Warming(Exception):
    """The partition is being loaded into memory; ask again. Never leaves gathering."""


class ScopedStore(Protocol):
    @property
    def scope(self) -> Scope: ...
    @property
    def memories(self) -> MemoryReader: ...
    @property
    def events(self) -> EventReader: ...
    @property
    def journal(self) -> Journal: ...

    async def directive(self) -> str:
        """The agent's standing instructions (a user's own where one is set, else the agent's); empty when there are none."""

    async def allowed(self, ids: Sequence[str], *, at: datetime, filters: Filters) -> frozenset[str]:
        """Those of `ids`, memories and events alike, that this scope may see, that hold at `at`, are not forgotten and are
        of an allowed sensitivity, as the store has them now (PACK-8)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkup:
    """What `doctor` shows: name and finding of each check, and whether it is fine."""

    findings: tuple[tuple[str, str, bool], ...]

    @property
    def healthy(self) -> bool:
        return all(fine for _, _, fine in self.findings)


class Store(Protocol):
    @property
    def read_only(self) -> bool: ...
    @property
    def keys(self) -> KeyStore:
        """The API keys of every org (RPC-5). They are never exported; a backup has what is stored of them."""

    def within(self, scope: Scope) -> ScopedStore: ...

    def when_vanished(self, told: Callable[[Callable[[str, str, str | None], str]], None]) -> None:
        """From now on call `told`, from any thread, within a second after any process replaced a directive or took all that a
        scope had: what is remembered without asking the store again ends then. It gets a function that reads the directive of
        an org, agent and user as it is now, of use only during the call."""

    async def warm(self, scope: Scope) -> None:
        """Load what this scope searches into memory."""

    async def nonce_key(self) -> bytes:
        """32 secret bytes, made once and kept in the store, never exported (FORMAT-4)."""

    async def backup(self, target: Path, progress: Callable[[int, int], None] | None = None) -> None:
        """A consistent copy while in use. `progress(done, total)` in pages."""

    async def check(self) -> Checkup: ...

    async def embed_pending(self, limit: int | None = None) -> int:
        """Embed what was stored without a vector; answers how many. Slow embedders' texts come this way."""

    async def stale_vectors(self) -> int:
        """How many texts have no vector of the embedder in use: keywords alone find them (SEARCH-3)."""

    async def reembed(self, progress: Callable[[int, int], None] | None = None) -> int:
        """Give every text a vector of the embedder in use; `progress(done, total)`. Answers how many were made."""

    async def close(self) -> None: ...
