"""Folders of blocks: all labels that begin with the same segments are listed, renamed and deleted as one."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from germane import Conflict, Germane, InvalidInput, NotFound
from germane.errors import ConsentNeeded, NotPermitted
from germane.kinds.blocks.handle import AgentBlocks


@pytest.fixture
async def germane() -> AsyncIterator[Germane]:
    async with Germane.open(":memory:", embedder=None) as opened:
        yield opened


@pytest.fixture
async def blocks(germane: Germane) -> AgentBlocks:
    made = germane.agent("x", user="anna").blocks
    for label in ("a/one", "a/b/two", "a/b!", "a0", "a", "ab/c"):
        await made.create(label, text=label, permission="admin")
    return made


async def labels(blocks: AgentBlocks) -> list[str]:
    return [block.label for block in await blocks.list()]


@pytest.mark.requirement("BLK-8")
async def test_a_folder_holds_what_follows_its_slash(blocks: AgentBlocks) -> None:
    """And neither a block of its own name, nor labels that only begin alike; deleted ones are told apart."""
    assert [block.label for block in await blocks.list(folder="a")] == ["a/b!", "a/b/two", "a/one"]
    assert [block.label for block in await blocks.list("core", folder="a")] == []
    await blocks.delete("a/one")
    assert [block.label for block in await blocks.list(folder="a")] == ["a/b!", "a/b/two"]
    assert [block.label for block in await blocks.list(folder="a", deleted=True)] == ["a/one"]


@pytest.mark.requirement("BLK-8")
async def test_a_folder_is_renamed_with_all_in_it(blocks: AgentBlocks) -> None:
    """Their type too where one is given; each has a version that says so."""
    await blocks.change("a/b!", type="archival")
    renamed = await blocks.rename_folder("a", "z/y", type="core", by="me", reason="tidy")
    assert [(block.label, block.type) for block in renamed] == [
        ("z/y/b!", "archival"),
        ("z/y/b/two", "core"),
        ("z/y/one", "core"),
    ]
    assert await labels(blocks) == ["a", "a0", "ab/c", "z/y/b!", "z/y/b/two", "z/y/one"]
    last = (await blocks.versions("z/y/one"))[-1]
    assert (last.operation, last.by, last.reason) == ("rename, change_type", "x (me)", "tidy")


@pytest.mark.requirement("BLK-8")
async def test_nothing_is_renamed_where_one_label_is_taken_or_too_long(blocks: AgentBlocks) -> None:
    """All or none."""
    await blocks.create("t/b/two")
    before = await labels(blocks)
    with pytest.raises(Conflict):
        await blocks.rename_folder("a", "t")
    with pytest.raises(InvalidInput, match="255"):
        await blocks.rename_folder("a", "x" * 252)
    with pytest.raises(InvalidInput, match="can't be moved"):
        await blocks.rename_folder("a", "a/b")
    with pytest.raises(NotFound):
        await blocks.rename_folder("nowhere", "t")
    assert await labels(blocks) == before


@pytest.mark.requirement("BLK-8", "BLK-5")
async def test_nothing_is_deleted_where_one_block_may_not_be(blocks: AgentBlocks, germane: Germane) -> None:
    """Its own permission, one of the agent as a whole, or one that another agent shares."""
    await blocks.change("a/one", permission="read_write")
    for folder in ("a", "w", "s"):
        if folder == "w":
            await germane.agent("x").blocks.create("w/wide", permission="admin")
        if folder == "s":
            other = germane.agent("y", user="anna").blocks
            await other.create("s/shared", permission="admin")
            await other.share("s/shared", "x")
        with pytest.raises(NotPermitted):
            await blocks.delete_folder(folder)
        assert len(await blocks.list(folder=folder)) > 0
    assert len(await blocks.delete_folder("a", system=True)) == 3


@pytest.mark.requirement("BLK-8", "BLK-5")
async def test_consent_is_asked_for_every_block_of_a_folder_at_once(blocks: AgentBlocks) -> None:
    """Then nothing else is written. With all approvals, the whole is done, and they are used up."""
    for label in ("a/one", "a/b!"):
        await blocks.change(label, permission="human")
    with pytest.raises(ConsentNeeded):
        await blocks.delete_folder("a")
    assert len(await blocks.list(folder="a")) == 3
    first, second = await blocks.consents()
    await blocks.approve(first.id)
    with pytest.raises(ConsentNeeded):
        await blocks.delete_folder("a")
    await blocks.approve(second.id)
    assert len(await blocks.delete_folder("a")) == 3
    assert [request.used_at is not None for request in await blocks.consents(pending=False)] == [True, True]


@pytest.mark.requirement("BLK-8", "SCOPE-3")
async def test_a_folder_of_another_scope_isnt_there(germane: Germane, blocks: AgentBlocks) -> None:
    """Neither listed, renamed nor deleted."""
    for stranger in (germane.agent("x", org="o", user="anna"), germane.agent("x", user="ben"), germane.agent("y", user="anna")):
        assert await stranger.blocks.list(folder="a") == ()
        for attempt in (stranger.blocks.delete_folder("a"), stranger.blocks.rename_folder("a", "b")):
            with pytest.raises(NotFound):
                await attempt
    assert len(await blocks.list(folder="a")) == 3


@pytest.mark.requirement("BLK-8")
async def test_deleting_and_renaming_can_depend_on_the_content(blocks: AgentBlocks) -> None:
    """`Conflict` where it has changed since; then nothing is written."""
    read = (await blocks.get("a")).content_hash
    await blocks.append("a", "!")
    for attempt in (blocks.delete("a", if_hash=read), blocks.change("a", new_label="b", if_hash=read)):
        with pytest.raises(Conflict):
            await attempt
    now = (await blocks.get("a")).content_hash
    assert (await blocks.change("a", new_label="b", if_hash=now)).label == "b"
    assert (await blocks.delete("b", if_hash=now)).deleted_at is not None


async def test_the_plain_value_of_a_block_is_its_whole_content(blocks: AgentBlocks) -> None:
    """Of a text with a viewport all lines, of a map its fields."""
    await blocks.create("t", text="1\n2\n3\n", schema={"type": "text", "viewport": {"start": 1, "lines": 2}})
    await blocks.create("m", schema={"type": "map", "fields": [{"name": "n", "type": "number"}]}, value={"n": 2})
    assert (await blocks.value("t"), await blocks.value("m")) == ("1\n2\n3\n", {"n": 2})
