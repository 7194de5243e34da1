"""Shared versions: whom a block is shared with sees what it was then, and what became of it since (BLK-6)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from germane import Germane, InvalidInput, NotFound, Stale
from germane.api.remote.handles import ClientBlocks
from germane.grpc.client import Client
from germane.kinds.blocks.handle import AgentBlocks
from germane_testing.builders import Hashed
from support.listening import listening

pytest.importorskip("loro")
pytestmark = pytest.mark.requirement("BLK-6")

SECRET = "the raise is nine percent"


@pytest.fixture(params=["here", "wire"])
async def pair(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[tuple[AgentBlocks, Any]]:
    """The blocks of an owner, who has written a secret and taken it out again, and those of whom they are shared with."""
    async with AsyncExitStack() as stack:
        germane = await stack.enter_async_context(Germane.open(tmp_path / "g.db", embedder=Hashed(), warm=False, freeze=False))
        owner, other = germane.agent("owner").blocks, germane.agent("other").blocks
        await owner.create("plan", text="intro", permission="admin")
        await owner.append("plan", f", {SECRET}", by="Ann", reason=SECRET)
        await owner.set_text("plan", "intro", by="Ann", reason="no salaries here")
        await owner.share("plan", "other", "read_write", system=True)
        if request.param == "here":
            yield owner, other
            return
        wire = await stack.enter_async_context(listening(germane))
        address = str(wire.server.address)
        client = await stack.enter_async_context(Client(address, org="default", agent="other", limit=30.0, patience=30.0))
        yield owner, client.blocks


async def test_versions_from_before_the_share_are_not_shown(pair: tuple[AgentBlocks, AgentBlocks | ClientBlocks]) -> None:
    """Neither their texts, nor who made them and why; the state that was shared is."""
    owner, other = pair
    assert [(one.number, one.by, one.reason) for one in await other.versions("plan")] == [(2, "", "")]
    assert await other.show_version("plan", 2) == "intro"
    for number in (0, 1):
        with pytest.raises(NotFound) as refused:
            await other.show_version("plan", number)
        assert SECRET not in str(refused.value)
    assert await owner.show_version("plan", 1) == f"intro, {SECRET}"
    assert len(await owner.versions("plan")) == 3


async def test_nothing_from_before_the_share_is_undone_or_merged(
    pair: tuple[AgentBlocks, AgentBlocks | ClientBlocks],
) -> None:
    """An undo would bring back what was taken out before, and a base from before would say whether a guess is right."""
    _, other = pair
    with pytest.raises(InvalidInput, match="nothing to undo"):
        await other.undo("plan")
    with pytest.raises(InvalidInput, match="nothing to redo"):
        await other.redo("plan")
    with pytest.raises(Stale):
        await other.set_text("plan", f"intro, {SECRET}", base=1)
    assert (await other.get("plan")).text == "intro"


async def test_what_follows_the_share_is_seen_and_undone(pair: tuple[AgentBlocks, AgentBlocks | ClientBlocks]) -> None:
    """With who made it and why, whoever did; also after the permission was changed."""
    owner, other = pair
    await owner.append("plan", " two", by="Ann", reason="more")
    await other.append("plan", " three")
    await owner.share("plan", "other", "append", system=True)
    await owner.share("plan", "other", "read_write", system=True)
    assert [(one.number, one.reason) for one in await other.versions("plan")] == [(2, ""), (3, "more"), (4, "")]
    assert await other.show_version("plan", 3) == "intro two"
    assert (await other.undo("plan")).text == "intro two"
    assert (await other.redo("plan")).text == "intro two three"
    assert (await other.set_text("plan", "intro two 3", base=3)).text


async def test_a_new_share_begins_anew(pair: tuple[AgentBlocks, AgentBlocks | ClientBlocks]) -> None:
    """What was done while it was ended isn't shown either."""
    owner, other = pair
    await owner.unshare("plan", "other", system=True)
    await owner.append("plan", f", {SECRET}")
    await owner.set_text("plan", "intro")
    await owner.share("plan", "other", "read_only", system=True)
    assert [one.number for one in await other.versions("plan")] == [4]
