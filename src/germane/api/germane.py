"""Germane: the front door. Opens a store and hands out agents; closes what it opened."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from germane.access.keyring import Keyring
from germane.access.pseudonym import pseudonym
from germane.api.agent import Agent
from germane.api.arguments import named_model
from germane.api.strategies import Strategies
from germane.api.warm_up import freeze
from germane.api.wiring import Parts, wire
from germane.clock import Clock
from germane.errors import InvalidInput, StoreError, StoreUnavailable
from germane.pipeline.gather.source import SourceFactory
from germane.pipeline.status import State
from germane.ports.embedder import Embedder
from germane.search.relevance import Relevance
from germane.settings.settings import Settings
from germane.store import Checkup
from germane.types import limits
from germane.types.scope import Scope

__all__ = ["Germane"]


class Germane:
    """Opened with `async with Germane.open(path) as germane:`. One for a process is enough: it is made to be shared."""

    def __init__(
        self,
        path: str | Path,
        *,
        settings: Settings,
        embedder: str | Embedder | None,
        clock: Clock,
        sources: Mapping[str, SourceFactory],
        freeze: bool,
        relevance: Relevance | str | Path | None = None,
    ) -> None:
        self._path, self._settings, self._embedder, self._relevance = path, settings, embedder, relevance
        self._clock, self._sources, self._freeze = clock, sources, freeze
        self._parts: Parts | None = None

    @classmethod
    def open(
        cls,
        path: str | Path = "germane.db",
        *,
        settings: Settings | str | Path | None = None,
        embedder: str | Embedder | None = None,
        clock: Clock | None = None,
        sources: Mapping[str, SourceFactory] | None = None,
        freeze: bool = True,
        relevance: Relevance | str | Path | None = None,
    ) -> Germane:
        """The store in the file at `path`, made if there is none (`:memory:` keeps nothing).

        `settings` is a `Settings` or a TOML file's path; without one, defaults and the environment. `embedder` is a name
        (`static`, `minilm`, `openai:<model>`) or an `Embedder`, and goes before the settings'. `sources` registers sources by
        the names that strategies use. `freeze` takes what is alive by then out of the garbage collector's walks (`gc.freeze`,
        once a process): such a walk costs tens of milliseconds, and comes in the middle of an answer. `relevance` is a file
        of coefficients as `germane eval fit` writes it, or the model itself, and goes before the settings'.

        Nothing is opened before `async with`, which raises `StoreUnavailable`, `StoreCorrupt`, `StoreTooNew`, `InvalidInput`
        or `MissingExtra`.
        """
        if not isinstance(path, str | Path):
            raise InvalidInput(f"path must be a string or a Path, not {type(path).__name__}")
        if not isinstance(settings, Settings | str | Path | None):
            raise InvalidInput(f"settings must be a Settings or a TOML file's path, not {type(settings).__name__}")
        if not (embedder is None or isinstance(embedder, str) or hasattr(embedder, "embed")):
            raise InvalidInput(f"embedder must be a name or an Embedder, not {type(embedder).__name__}")
        if not isinstance(relevance, Relevance | str | Path | None):
            raise InvalidInput(f"relevance must be a TOML file's path or a Relevance, not {type(relevance).__name__}")
        if not isinstance(settings, Settings):
            settings = Settings.load(settings, os.environ)
        return cls(
            path,
            settings=settings,
            embedder=embedder,
            clock=clock or Clock(),
            sources=sources or {},
            freeze=freeze,
            relevance=relevance,
        )

    async def __aenter__(self) -> Self:
        if self._parts is None:
            self._parts = await wire(
                self._path,
                settings=self._settings,
                embedder=self._embedder,
                clock=self._clock,
                sources=self._sources,
                relevance=self._relevance,
            )
            if self._freeze:
                freeze()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Write what is still counted and close everything that was opened here; an embedder that was given stays its giver's.
        Again is fine."""
        parts, self._parts = self._parts, None
        if parts is not None:
            await parts.retrievals.close()
            await parts.verifier.close()
            await parts.store.close()
            await asyncio.to_thread(parts.background.close)
            if parts.embedder is not self._embedder:
                await parts.embedder.close()

    def agent(self, agent: str = "default", *, org: str = "default", user: str | None = None, zone: str = "UTC") -> Agent:
        """The handle on one scope (SCOPE-1): all that an agent, or an agent with one user, keeps. Raises `InvalidInput`."""
        return Agent(self._open, Scope(org=org, agent=agent, user=user, zone=zone))

    @property
    def keys(self) -> Keyring:
        """The API keys of every org in the store (RPC-5)."""
        return Keyring(self._open.store.keys, self._open.verifier, self._clock)

    @property
    def state(self) -> State:
        """How this process is doing: breakers, queue, cache, what was abandoned. Cheap; to be read within the event loop."""
        return self._open.engine.state(read_only=self._open.store.read_only)

    @property
    def strategies(self) -> Strategies:
        """Register your own here."""
        return self._open.strategies

    def pseudonym(self, id: str) -> str:
        """What stands in the service's log for the id of an org or an agent: twelve hex digits, the same in every process over
        this store. It is made with a key that the store keeps, so nobody without the store can find an id by trying names."""
        return pseudonym(self._open.engine.nonce_key, id)

    def count(self, text: str, *, model: str) -> int:
        """What `text` alone costs `model`, in its tokens; an upper bound where its tokenizer isn't known exactly."""
        engine = self._open.engine
        limits.text("text", text, limits.CHARACTERS, valid=False)
        return engine.tokenizer(engine.catalog.find(named_model(model)).tokenizer).count(text)

    async def backup(self, target: str | Path, progress: Callable[[int, int], None] | None = None) -> None:
        """A consistent copy of the store in the file `target`, while in use; `progress(done, total)` in pages."""
        await self._open.store.backup(Path(target), progress)

    async def ping(self) -> None:
        """Returns when the store has answered: for whoever wants to know whether it does."""
        await self._open.store.nonce_key()

    async def check(self) -> Checkup:
        """Whether the file is sound, with what it is used, and how many keys there are."""
        found = await self._open.store.check()
        try:
            keys = await self.keys.list()
        except StoreError:
            return replace(found, findings=(*found.findings, ("keys", "can't be read", False)))
        good = sum(key.holds(self._clock.now()) for key in keys)
        return replace(found, findings=(*found.findings, ("keys", f"{good} good, {len(keys) - good} ended", True)))

    async def reembed(self, progress: Callable[[int, int], None] | None = None) -> int:
        """Give every text a vector of the embedder in use (SEARCH-3); answers how many were made."""
        return await self._open.store.reembed(progress)

    @property
    def _open(self) -> Parts:
        if self._parts is None:
            raise StoreUnavailable("this Germane isn't open: use  async with Germane.open(…) as germane:")
        return self._parts
