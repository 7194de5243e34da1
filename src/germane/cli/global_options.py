"""GlobalOptions: the options that every command has, such as --db, --user and --json."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from germane.cli.screen import told_progress
from germane.clock import aware
from germane.errors import InvalidInput, StoreUnavailable

if TYPE_CHECKING:
    from germane.api.agent import Agent
    from germane.api.germane import Germane

__all__ = ["GlobalOptions", "options_of", "run_async"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class GlobalOptions:
    """The global options of one run. `explicit` is true where `db` was given on the command line (not by the environment).
    `named` are those of `org`, `agent` and `user` that were given. `typed` are the words of the command line without these, for
    a hint that says what to type."""

    db: Path
    explicit: bool = False
    org: str = "default"
    agent: str = "default"
    user: str | None = None
    named: frozenset[str] = frozenset()
    typed: tuple[str, ...] = ()
    zone: str = "UTC"
    embedder: str | None = None
    secrets: str | None = None
    settings: Path | None = None
    json: bool = False

    @asynccontextmanager
    async def open_store(
        self, *, create: bool = False, warm: bool = False, upgrade: bool = True
    ) -> AsyncIterator[tuple[Germane, Agent]]:
        """Open the database; yields the engine and the agent. A command that assembles opens it `warm`. A store of an earlier
        version is upgraded first, unless `upgrade` is false.

        Raises `StoreUnavailable` where the file is missing and `create` is false: a mistyped name must not look like an empty
        store."""
        if self.db.is_dir():
            raise StoreUnavailable(f"{self.db} is a directory (give a file with --db)")
        if not create and not self.db.exists():
            raise StoreUnavailable(
                f"no database at {self.db} (name it with --db, or begin one with germane import or remember)"
            )
        if create and not self.db.parent.is_dir():
            raise StoreUnavailable(f"no directory {self.db.parent} for the database (create it first)")
        from germane.api.germane import Germane

        secrets: Any = self.secrets  # checked on opening
        opened = Germane.open(self.db, settings=self.settings, embedder=self.embedder, warm=warm, secrets=secrets)
        async with opened as germane:
            if upgrade:
                with told_progress("dividing long texts of an earlier version", self.json) as told:
                    await germane.upgrade(told)
            yield germane, germane.agent(self.agent, org=self.org, user=self.user, zone=self.zone)

    def agent_wide(self, germane: Germane) -> Agent:
        """The same agent without a user: its scope holds what all users share."""
        return germane.agent(self.agent, org=self.org, zone=self.zone)

    def parse_time(self, text: str | None, option: str) -> datetime | None:
        """Parse the ISO 8601 time of `option`; a time without a zone is in `zone`. Returns UTC. Raises `InvalidInput`."""
        if text is None:
            return None
        try:
            return aware(datetime.fromisoformat(text), self.zone)
        except ValueError:
            raise InvalidInput(f"{option} must be an ISO 8601 time such as 2025-05-03T10:40, not {text[:40]!r}") from None


def options_of(context: typer.Context) -> GlobalOptions:
    """The global options of the run that `context` belongs to."""
    options = context.obj
    assert isinstance(options, GlobalOptions)
    return options


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run a command's coroutine to its end; on an interrupt the store is closed before `KeyboardInterrupt` is raised."""
    return asyncio.run(work)
