"""A store with no more than every store must have: what it lacks is done without, or refused in a sentence."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from germane import Germane
from germane.errors import StoreError
from germane.stores.contract import (
    BacksUp,
    EmbedsLater,
    ExaminesItself,
    ScopedStore,
    Scrubs,
    Store,
    TellsChanges,
    Upgrades,
    WarmsUp,
)
from germane.stores.sqlite.store import SqliteStore
from germane.types.scope import Scope
from germane_testing.builders import Hashed

ASKED = [{"role": "user", "content": "What do I drink?"}]


class Least:
    """The members of `whole` that a protocol has, and no others."""

    def __init__(self, whole: Any, protocol: type) -> None:
        self._whole, self._names = whole, {name for base in protocol.__mro__ for name in vars(base) if not name.startswith("_")}

    def __getattr__(self, name: str) -> Any:
        if name not in self._names:
            raise AttributeError(name)
        return getattr(self._whole, name)


class LeastStore(Least):
    def within(self, scope: Scope) -> Any:
        return Least(self._whole.within(scope), ScopedStore)


@pytest.fixture
async def germane(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Germane]:
    open_whole = SqliteStore.open
    monkeypatch.setattr(SqliteStore, "open", lambda *args, **named: LeastStore(open_whole(*args, **named), Store))
    async with Germane.open(tmp_path / "a.db", embedder=Hashed()) as opened:
        yield opened


async def test_a_store_that_lacks_everything_else_keeps_finds_and_forgets(germane: Germane) -> None:
    """The receipt says that no file was scrubbed."""
    store: Any = germane._open.store
    lacking = (TellsChanges, WarmsUp, BacksUp, ExaminesItself, EmbedsLater, Upgrades)
    assert not isinstance(store.within(Scope()), Scrubs)
    assert not any(isinstance(store, one) for one in lacking)
    agent = germane.agent(user="ana")
    kept = await agent.remember("Drinks oolong tea", kind="preference")
    await agent.warm()
    assert "oolong" in str((await agent.assemble(ASKED, model="gpt-4o", deadline=None)).messages)
    receipt = await agent.forget([kept.id])
    assert (receipt.scrubbed, receipt.memory_ids) == (False, (kept.id,))
    assert "doesn't overwrite" in receipt.waiting_for
    assert await agent.search("oolong") == ()


async def test_what_it_cannot_do_is_refused_with_what_to_do_instead(germane: Germane, tmp_path: Path) -> None:
    """Or is nothing to do."""
    with pytest.raises(StoreError, match="use the backups"):
        await germane.backup(tmp_path / "copy")
    with pytest.raises(StoreError, match="doesn't examine itself"):
        await germane.verify()
    with pytest.raises(StoreError, match="export it"):
        await germane.reembed()
    assert (await germane.upgrade(), germane.state.refused_texts) == (0, 0)
    assert [name for name, _, _ in (await germane.check()).findings] == ["keys"]
