"""Consents: an edit that somebody has to agree to is refused with a request, and made after the approval."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from germane import ConsentNeeded, Germane, InvalidInput, NotFound, NotPermitted, Settings
from germane.clock import Clock
from germane.kinds.blocks.handle import AgentBlocks
from germane_testing.builders import Hashed

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
async def blocks(germane: Germane) -> AgentBlocks:
    blocks = germane.agent("x").blocks
    await blocks.create("persona", text="calm", permission="human")
    return blocks


async def request(blocks: AgentBlocks, text: str = "!", label: str = "persona") -> str:
    """The id of the request that an edit makes."""
    with pytest.raises(ConsentNeeded) as refused:
        await blocks.append(label, text)
    return refused.value.request


async def test_an_approved_edit_is_made_once(blocks: AgentBlocks) -> None:
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


async def test_an_approval_once_is_good_for_that_edit_alone(blocks: AgentBlocks) -> None:
    """Another text isn't what was agreed to."""
    await blocks.approve(await request(blocks, "good"))
    await request(blocks, "bad")
    assert (await blocks.append("persona", "good")).text == "calmgood"


async def test_an_approval_can_last_for_a_time_or_for_the_block(blocks: AgentBlocks, watch: Watch) -> None:
    """Every edit of the content by the same agent, undo included, and none on other blocks."""
    await blocks.approve(await request(blocks), 60)
    await blocks.append("persona", "a")
    assert (await blocks.undo("persona")).text == "calm"
    await blocks.create("other", text="o", permission="human")
    await request(blocks, label="other")
    watch.advance(60)
    await blocks.approve(await request(blocks), "block")
    watch.advance(1_000_000)
    assert (await blocks.append("persona", "b")).text == "calmb"


@pytest.mark.parametrize("scope", ["block", 60])
async def test_who_approves_an_edit_hasnt_given_the_block_away(blocks: AgentBlocks, scope: str | float) -> None:
    """An approval for a time or for the block covers what rules the block (delete, share, permission) only where that was asked
    for: also where an edit and such an operation come together."""
    await blocks.approve(await request(blocks), scope)
    rules = (
        lambda: blocks.delete("persona"),
        lambda: blocks.share("persona", "y", "human"),
        lambda: blocks.change("persona", permission="admin"),
        lambda: blocks.change("persona", new_label="me", limit=9),
    )
    asked = list[str]()
    for rule in rules:
        with pytest.raises(ConsentNeeded) as refused:
            await rule()
        asked.append(refused.value.request)
    assert {one.needs for one in await blocks.consents() if one.id in asked} == {"delete"}
    await blocks.approve(asked[0], scope)
    await blocks.append("persona", "!")
    assert (await blocks.delete("persona")).deleted_at is not None


async def test_an_answer_is_idempotent_and_final(blocks: AgentBlocks) -> None:
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


async def request_after(blocks: AgentBlocks, _: str) -> str:
    """A request on a block of its own."""
    await blocks.create("second", text="s", permission="partner")
    with pytest.raises(ConsentNeeded, match="partner"):
        await blocks.append("second", "x")
    return (await blocks.consents())[0].id


async def test_a_denied_edit_isnt_asked_for_again_at_once(blocks: AgentBlocks, watch: Watch) -> None:
    """It is refused, and says until when; another edit asks. Afterwards it asks again, with another request."""
    id = await request(blocks)
    watch.advance(10)
    await blocks.deny(id)
    with pytest.raises(NotPermitted, match="was denied: make another one, or ask again after 2026-05-04 12:05:10 UTC"):
        await blocks.append("persona", "!")
    assert await blocks.consents() == ()
    other = await request(blocks, "?")
    watch.advance(299)
    with pytest.raises(NotPermitted):
        await blocks.append("persona", "!")
    watch.advance(1)
    assert await request(blocks) not in (id, other)


async def test_after_three_denials_nobody_is_asked_for_a_while(germane: Germane, blocks: AgentBlocks, watch: Watch) -> None:
    """Whatever the edit is; on other blocks, and for other agents, it changes nothing. What is approved still goes."""
    await blocks.share("persona", "y", "human", system=True)
    approved = await request(blocks, "good")
    for text in "abc":
        await blocks.deny(await request(blocks, text))
        watch.advance(1)
    with pytest.raises(NotPermitted, match="3 edits of block 'persona' were denied: nobody is asked again before"):
        await blocks.append("persona", "d")
    await request(germane.agent("y").blocks)
    await request_after(blocks, "")
    await blocks.approve(approved)
    assert (await blocks.append("persona", "good")).text == "calmgood"
    watch.advance(297)
    await request(blocks, "d")


async def test_a_request_and_a_block_say_briefly_what_they_are(blocks: AgentBlocks) -> None:
    """Their reprs are one line and hold neither content nor a hash of it, however long the label is."""
    await request(blocks)
    (waiting,) = await blocks.consents()
    assert repr(waiting) == f"<ConsentRequest {waiting.id}: append_text of 'persona', pending>"
    block = await blocks.get("persona")
    assert repr(block) == f"<Block 'persona': working, version 0, 4 characters, {block.id}>"
    long = await blocks.create("n" * 255, permission="admin")
    assert len(repr(long)) < 200
    assert ", deleted, " in repr(await blocks.delete(long.id))


async def test_what_a_partner_agreed_to_isnt_what_a_human_agreed_to(blocks: AgentBlocks) -> None:
    """Where somebody else is asked by now, neither an approval nor a request that waits is good."""
    await blocks.create("plan", text="p", permission="partner")
    await blocks.approve(await request(blocks, "a", "plan"), "block")
    waiting = await request(blocks)
    await blocks.change("plan", permission="human", system=True)
    await blocks.change("persona", permission="partner", system=True)
    with pytest.raises(ConsentNeeded) as refused:
        await blocks.append("plan", "a")
    assert refused.value.asked_of == "human"
    assert await request(blocks) != waiting


async def test_a_hundred_requests_may_wait(blocks: AgentBlocks) -> None:
    """The next edit is refused until some of them are answered; one of the hundred is still the same request."""
    ids = [await request(blocks, f"{number}") for number in range(100)]
    with pytest.raises(NotPermitted, match="100 requests for consent that wait"):
        await blocks.append("persona", "more")
    assert await request(blocks, "7") == ids[7]
    await blocks.deny(ids[0])
    await request(blocks, "more")


async def test_a_late_answer_is_refused(blocks: AgentBlocks, watch: Watch) -> None:
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


async def test_bad_answers_are_refused(blocks: AgentBlocks) -> None:
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
