"""Consents: an edit that somebody has to agree to is refused with a request, and made after the approval."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from germane import ConsentNeeded, Germane, InvalidInput, NotFound, Settings
from germane.api.agent_blocks import MemoryBlocks
from germane.clock import Clock
from germane.testing.hashed import Hashed

pytest.importorskip("loro")
pytestmark = pytest.mark.requirement("BLK-5")

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


class Watch:
    def __init__(self) -> None:
        self.now = NOON

    def advance(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
async def germane(tmp_path: Path, watch: Watch) -> AsyncIterator[Germane]:
    clock = Clock(now=lambda: watch.now)
    async with Germane.open(tmp_path / "a.db", embedder=Hashed(), clock=clock) as opened:
        yield opened


@pytest.fixture
async def blocks(germane: Germane) -> MemoryBlocks:
    blocks = germane.agent("x").blocks
    await blocks.create("persona", text="calm", permission="human")
    return blocks


async def request(blocks: MemoryBlocks, text: str = "!", label: str = "persona") -> str:
    """The id of the request that an edit makes."""
    with pytest.raises(ConsentNeeded) as refused:
        await blocks.append(label, text)
    return refused.value.request


async def test_an_approved_edit_is_made_once(blocks: MemoryBlocks) -> None:
    """It is asked for once however often it is tried; the approval is used up by the edit."""
    id = await request(blocks)
    assert await request(blocks) == id
    assert (await blocks.get("persona")).version == 0
    (waiting,) = await blocks.consents()
    assert (waiting.id, waiting.asked_of, waiting.operation, waiting.needs) == (id, "human", "append_text", "append")
    assert (waiting.requested_by, waiting.state, waiting.expires_at) == ("x", "pending", NOON + timedelta(seconds=300))
    await blocks.approve(id)
    assert (await blocks.append("persona", "!")).text == "calm!"
    again = await request(blocks)
    assert again != id
    assert [one.id for one in await blocks.consents()] == [again]
    assert len(await blocks.consents(pending=False)) == 2


async def test_an_approval_once_is_good_for_that_edit_alone(blocks: MemoryBlocks) -> None:
    """Another text isn't what was agreed to."""
    await blocks.approve(await request(blocks, "good"))
    await request(blocks, "bad")
    assert (await blocks.append("persona", "good")).text == "calmgood"


async def test_an_approval_can_last_for_a_time_or_for_the_block(blocks: MemoryBlocks, watch: Watch) -> None:
    """Every write of the same agent, undo included, and none on other blocks."""
    await blocks.approve(await request(blocks), 60)
    await blocks.append("persona", "a")
    assert (await blocks.undo("persona")).text == "calm"
    await blocks.create("other", text="o", permission="human")
    await request(blocks, label="other")
    watch.advance(60)
    await blocks.approve(await request(blocks), "block")
    watch.advance(1_000_000)
    assert (await blocks.append("persona", "b")).text == "calmb"
    assert (await blocks.delete("persona")).deleted_at is not None


async def test_an_answer_is_idempotent_and_final(blocks: MemoryBlocks) -> None:
    """The same answer changes nothing, another one is refused."""
    id = await request(blocks)
    first = await blocks.approve(id, 60)
    assert await blocks.approve(id, 60) == first
    for other in (blocks.deny(id), blocks.approve(id), blocks.approve(id, 61), blocks.approve(id, "block")):
        with pytest.raises(InvalidInput, match="was approved already"):
            await other
    denied = await request_after(blocks, id)
    assert (await blocks.deny(denied)).state == "denied"
    assert (await blocks.deny(denied)).state == "denied"
    with pytest.raises(InvalidInput, match="was denied already"):
        await blocks.approve(denied)


async def request_after(blocks: MemoryBlocks, _: str) -> str:
    """A request on a block of its own."""
    await blocks.create("second", text="s", permission="partner")
    with pytest.raises(ConsentNeeded, match="partner"):
        await blocks.append("second", "x")
    return (await blocks.consents())[0].id


async def test_a_denied_edit_asks_again(blocks: MemoryBlocks) -> None:
    """With another request."""
    id = await request(blocks)
    await blocks.deny(id)
    assert await request(blocks) != id


async def test_a_late_answer_is_refused(blocks: MemoryBlocks, watch: Watch) -> None:
    """Nothing waits: the edit can be tried again, which asks again."""
    id = await request(blocks)
    watch.advance(300)
    assert await blocks.consents() == ()
    for late in (blocks.approve(id), blocks.deny(id)):
        with pytest.raises(InvalidInput, match="expired at 2026-05-04 12:05:00 UTC"):
            await late
    assert await request(blocks) != id


async def test_only_the_owner_answers(germane: Germane) -> None:
    """Not the agent that asks through a share, nor anybody else; its approval is no other agent's."""
    owner, other, third = (germane.agent(name).blocks for name in "xyz")
    await owner.create("notes", text="one", permission="human")
    for name in "yz":
        await owner.share("notes", name, "human", system=True)
    id = await request(other, label="notes")
    for stranger in (other, germane.agent("x", user="anna").blocks, germane.agent("x", org="o").blocks):
        assert await stranger.consents() == ()
        with pytest.raises(NotFound):
            await stranger.approve(id, "block")
        with pytest.raises(NotFound):
            await stranger.deny(id)
    await owner.approve(id, "block")
    await request(third, label="notes")
    await request(owner, label="notes")
    assert (await other.append("notes", "!")).text == "one!"


async def test_bad_answers_are_refused(blocks: MemoryBlocks) -> None:
    """A scope that isn't one, an id that isn't there."""
    id = await request(blocks)
    for scope in ("always", 0, -1, 10**9, True, None, float("nan")):
        with pytest.raises(InvalidInput):
            await blocks.approve(id, scope)  # type: ignore[arg-type]
    with pytest.raises(NotFound):
        await blocks.approve("absent")
    assert (await blocks.consents())[0].state == "pending"


async def test_the_time_to_answer_is_a_setting(tmp_path: Path) -> None:
    """In seconds."""
    async with Germane.open(tmp_path / "b.db", embedder=Hashed(), settings=Settings(consent_timeout=7)) as germane:
        blocks = germane.agent("x").blocks
        await blocks.create("persona", permission="human")
        await request(blocks)
        (waiting,) = await blocks.consents()
        assert waiting.expires_at - waiting.requested_at == timedelta(seconds=7)
