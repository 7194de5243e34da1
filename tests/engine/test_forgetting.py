"""Forgetting through the front: what the receipt says, and what is answered from memory afterwards."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import pytest

from germane import Agent, Germane
from germane.kinds.memories.directive import CurrentDirective
from germane.kinds.memories.value import Receipt
from germane.stores.sql.memories.conflicts import directive_now
from germane.stores.sqlite import erasure, store
from germane.stores.sqlite.scoped_store import SqliteScopedStore
from germane.types.plan import Read
from germane_testing.builders import Hashed

ASKED = [{"role": "user", "content": "What does Caroline drink?"}]
MODEL = "gpt-4o"

pytestmark = pytest.mark.requirement("MEM-3")


@pytest.fixture
async def germane(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Germane]:
    monkeypatch.setattr(erasure, "_TRIES", 1)
    async with Germane.open(tmp_path / "a.db", embedder=Hashed()) as opened:
        yield opened


@pytest.fixture
def agent(germane: Germane) -> Agent:
    return germane.agent()


def held(folder: Path, text: bytes) -> bool:
    return any(text in path.read_bytes() for path in folder.iterdir())


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """A foreign reader that holds a snapshot of what the file is now."""
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute("BEGIN; SELECT count(*) FROM memories")
        yield


async def test_the_receipt_says_that_nothing_is_left(agent: Agent, tmp_path: Path) -> None:
    """After a dry run it says nothing."""
    memory = await agent.remember("canary tea")
    assert await agent.forget([memory.id], dry_run=True) == Receipt(memory_ids=(memory.id,), dry_run=True)
    receipt = await agent.forget([memory.id])
    assert replace(receipt, checked=()) == Receipt(memory_ids=(memory.id,), scrubbed=True)
    assert receipt.checked
    assert not held(tmp_path, b"canary")


async def test_the_receipt_says_what_it_waits_for_and_again_how_it_is_then(agent: Agent, tmp_path: Path) -> None:
    """It is found no more either way."""
    memory = await agent.remember("canary tea")
    with reading(tmp_path / "a.db"):
        receipt = await agent.forget([memory.id])
        assert (receipt.memory_ids, receipt.scrubbed) == ((memory.id,), False)
        assert "a reader that holds an older snapshot of the file" in receipt.waiting_for
        assert await agent.search("tea") == ()
        assert not (await agent.forget(tag="anything")).scrubbed
    assert replace(await agent.forget([memory.id]), checked=()) == Receipt(scrubbed=True)


async def test_a_forgotten_directive_is_no_last_known_one(germane: Germane) -> None:
    """Not in this process, nor in another that has the store open."""
    anna = germane.agent(user="anna")
    await anna.directive("canary: be kind")
    context = await anna.fallback(ASKED, model=MODEL)
    assert "canary" in str(context.messages)
    await germane.agent().forget(user="anna")
    context = await anna.fallback(ASKED, model=MODEL)
    assert "canary" not in str(context.messages)


async def test_a_directive_that_was_set_is_known_whatever_changes_meanwhile(
    germane: Germane, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process's change is noticed while this one is read back."""
    ask, reads = SqliteScopedStore.ask, list[None]()

    async def noticed(store: SqliteScopedStore, read: Read[Any]) -> Any:
        found = await ask(store, read)
        if not isinstance(read, CurrentDirective):
            return found
        reads.append(None)
        if len(reads) == 1:
            germane._open.engine.directive_cache.revise(lambda *_: "")
        return found

    anna = germane.agent(user="anna")
    monkeypatch.setattr(SqliteScopedStore, "ask", noticed)
    await anna.directive("be brief")
    assert "be brief" in str((await anna.fallback(ASKED, model=MODEL)).messages)


async def test_a_change_that_could_not_be_read_is_read_again(
    germane: Germane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is locked for a moment, and what another process forgot is gone all the same."""
    monkeypatch.setattr(erasure, "_POLL", 0.001)
    async with Germane.open(tmp_path / "a.db", embedder=Hashed()) as other:
        there, failed = other.agent(user="anna"), list[None]()
        await there.directive("canary: be kind")

        def busy(*arguments: Any) -> str:
            if len(failed) < 3:
                failed.append(None)
                raise apsw.BusyError
            return directive_now(*arguments)

        monkeypatch.setattr(store, "directive_now", busy)
        await germane.agent().forget(user="anna")
        for _ in range(5_000):
            await other.ping()
            if "canary" not in str((await there.fallback(ASKED, model=MODEL)).messages):
                break
        else:
            pytest.fail("the forgotten directive is still the last known one")
        assert len(failed) == 3


async def test_a_directive_that_another_process_forgot_is_no_last_known_one(
    germane: Germane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within a second; a directive that stands is still known."""
    monkeypatch.setattr(erasure, "_POLL", 0.001)
    async with Germane.open(tmp_path / "a.db", embedder=Hashed()) as other:
        there, kept = other.agent(user="anna"), other.agent("another", user="anna")
        await kept.directive("be brief")
        await there.directive("canary: be kind")
        await germane.agent().forget(user="anna")
        while "canary" in str((await there.fallback(ASKED, model=MODEL)).messages):
            await other.ping()
        assert "be brief" in str((await kept.fallback(ASKED, model=MODEL)).messages)
