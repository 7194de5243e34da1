"""Setting: the global options of one run: which file, whose things, how to answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from germane.clock import aware
from germane.errors import InvalidInput, StoreUnavailable

if TYPE_CHECKING:
    from germane.api.agent import Agent
    from germane.api.germane import Germane

__all__ = ["GlobalOptions", "finish", "setting"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class GlobalOptions:
    """`explicit` says that the file was named on the command line, not by the environment or by default."""

    db: Path
    explicit: bool = False
    org: str = "default"
    agent: str = "default"
    user: str | None = None
    zone: str = "UTC"
    embedder: str | None = None
    settings: Path | None = None
    json: bool = False

    @asynccontextmanager
    async def opened(self, *, create: bool = False) -> AsyncIterator[tuple[Germane, Agent]]:
        """The store and the agent. Without `create` a missing file is an error: a mistyped name must not look empty."""
        if self.db.is_dir():
            raise StoreUnavailable(f"{self.db} is a directory (give a file with --db)")
        if not create and not self.db.exists():
            raise StoreUnavailable(
                f"no database at {self.db} (name it with --db, or begin one with germane import or remember)"
            )
        if create and not self.db.parent.is_dir():
            raise StoreUnavailable(f"no directory {self.db.parent} for the database (create it first)")
        from germane.api.germane import Germane

        async with Germane.open(self.db, settings=self.settings, embedder=self.embedder) as germane:
            yield germane, germane.agent(self.agent, org=self.org, user=self.user, zone=self.zone)

    def wide(self, germane: Germane) -> Agent:
        """The handle on what is no user's own."""
        return germane.agent(self.agent, org=self.org, zone=self.zone)

    def moment(self, text: str | None, option: str) -> datetime | None:
        """A time given on the command line, in UTC; a naive one is local to `zone`."""
        if text is None:
            return None
        try:
            return aware(datetime.fromisoformat(text), self.zone)
        except ValueError:
            raise InvalidInput(f"{option} must be an ISO 8601 time such as 2025-05-03T10:40, not {text[:40]!r}") from None


def setting(context: typer.Context) -> GlobalOptions:
    """The run's global options."""
    found = context.obj
    assert isinstance(found, GlobalOptions)
    return found


def finish(work: Coroutine[Any, Any, T]) -> T:
    """Run a command's work to its end; an interrupt closes the store properly first."""
    return asyncio.run(work)
