"""`agent.blocks`: blocks are made, edited, undone, shared and archived, and nobody sees another's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from germane import Conflict, Germane, InvalidInput, NotFound, NotPermitted, Stale
from germane.kinds.blocks import revision
from germane.kinds.blocks.handle import AgentBlocks
from germane.kinds.blocks.mutation import AppendText, InsertLines, PushItem, ReplaceText, SetField, SetText
from germane.kinds.blocks.value import Block
from germane_testing.builders import Hashed, question

pytest.importorskip("loro")


@pytest.fixture
async def germane(tmp_path: Path) -> AsyncIterator[Germane]:
    async with Germane.open(tmp_path / "a.db", embedder=Hashed()) as opened:
        yield opened


@pytest.fixture
def blocks(germane: Germane) -> AgentBlocks:
    return germane.agent("x").blocks


async def texts(blocks: AgentBlocks, words: str) -> list[str]:
    """What a search of the archive finds by its words alone."""
    asked = question(words, kinds=("entry", "archival"))
    found = await blocks._store.blocks.search(asked, 9, keywords=True, vectors=False, wait=True)
    return sorted(hit.thing.text for hit in found.hits)


@pytest.mark.requirement("BLK-1", "BLK-2")
async def test_a_block_is_made_read_edited_and_listed(blocks: AgentBlocks) -> None:
    """Labels sorted, by type; each edit is one version."""
    made = await blocks.create("persona", text="I am calm", type="core", description="who I am")
    assert (made.version, made.text, made.agent, made.granted) == (0, "I am calm", "x", "read_write")
    assert await blocks.get("persona") == made == await blocks.get(made.id)
    await blocks.create("human")
    assert [block.label for block in await blocks.list()] == ["human", "persona"]
    assert [block.label for block in await blocks.list("core")] == ["persona"]
    await blocks.append("persona", " and kind")
    await blocks.replace("persona", "calm", "bold")
    edited = await blocks.edit("persona", {"op": "insert_lines", "line": 0, "text": "Hello"}, by="anna", reason="asked")
    assert (edited.text, edited.version) == ("Hello\nI am bold and kind", 3)
    last = (await blocks.versions("persona"))[-1]
    assert (last.operation, last.by, last.reason, last.characters) == ("insert_lines", "x (anna)", "asked", len(edited.text))
    assert await blocks.show_version("persona", 1) == "I am calm and kind"
    with pytest.raises(NotFound):
        await blocks.show_version("persona", 9)


async def test_several_mutations_are_made_together_or_not_at_all(blocks: AgentBlocks) -> None:
    """What the first would have done isn't there where the second doesn't fit."""
    await blocks.create("notes", text="one")
    with pytest.raises(InvalidInput):
        await blocks.edit("notes", AppendText(text=" two"), ReplaceText(old="absent", new=""))
    assert (await blocks.get("notes")).text == "one"
    both = await blocks.edit("notes", AppendText(text=" two"), ReplaceText(old="one", new="1"))
    assert (both.text, both.version) == ("1 two", 1)


@pytest.mark.requirement("BLK-1")
async def test_a_block_over_its_limit_is_refused_with_by_how_much(blocks: AgentBlocks) -> None:
    """At creation, for an edit, and for a lower limit."""
    with pytest.raises(InvalidInput, match="would have 11 characters, 10 are allowed: 1 too many"):
        await blocks.create("notes", text="x" * 11, limit=10)
    await blocks.create("notes", text="x" * 8, limit=10)
    with pytest.raises(InvalidInput, match="5 too many"):
        await blocks.append("notes", "y" * 7)
    with pytest.raises(InvalidInput, match="3 too many"):
        await blocks.change("notes", limit=5, system=True)
    assert (await blocks.append("notes", "yy")).text == "xxxxxxxxyy"
    assert (await blocks.change("notes", limit=20, system=True)).limit == 20


@pytest.mark.requirement("BLK-2", "BLK-4")
async def test_two_editors_from_one_reading_are_both_there_or_the_second_is_told(blocks: AgentBlocks) -> None:
    """Without a precondition the later text stays; with `base` both edits are there; with `if_hash` the second is refused, as
    is with `base` what depends on positions."""
    read = await blocks.create("notes", text="red green blue")
    await blocks.set_text("notes", "crimson green blue")
    merged = await blocks.set_text("notes", "red green azure", base=read.version)
    assert merged.text == "crimson green azure"
    with pytest.raises(Conflict):
        await blocks.edit("notes", SetText(text="mine"), if_hash=read.content_hash)
    with pytest.raises(Conflict):
        await blocks.edit("notes", InsertLines(line=0, text="mine"), base=read.version)
    assert (await blocks.edit("notes", AppendText(text="!"), base=read.version)).text == "crimson green azure!"
    assert (await blocks.edit("notes", SetText(text="last"), if_hash=(await blocks.get("notes")).content_hash)).text == "last"
    with pytest.raises(Conflict):
        await blocks.set_text("notes", "x", base=99)


@pytest.mark.requirement("BLK-2")
async def test_undo_and_redo_survive_a_restart(tmp_path: Path) -> None:
    """In order, as far as there are edits; an edit after an undo ends what can be redone."""
    async with Germane.open(tmp_path / "a.db", embedder=Hashed()) as germane:
        blocks = germane.agent("x").blocks
        await blocks.create("notes", text="one")
        await blocks.append("notes", " two")
        await blocks.append("notes", " three")
        assert (await blocks.undo("notes")).text == "one two"
    async with Germane.open(tmp_path / "a.db", embedder=Hashed()) as germane:
        blocks = germane.agent("x").blocks
        assert (await blocks.undo("notes")).text == "one"
        with pytest.raises(InvalidInput, match="nothing to undo"):
            await blocks.undo("notes")
        assert (await blocks.redo("notes")).text == "one two"
        assert (await blocks.redo("notes")).text == "one two three"
        with pytest.raises(InvalidInput, match="nothing to redo"):
            await blocks.redo("notes")
        assert (await blocks.undo("notes")).text == "one two"
        await blocks.append("notes", " 3")
        with pytest.raises(InvalidInput):
            await blocks.redo("notes")
        assert [(await blocks.undo("notes")).text for _ in range(2)] == ["one two", "one"]
        assert [version.undone for version in await blocks.versions("notes")].count(True) == 3


async def test_an_undo_takes_back_one_edit_and_keeps_the_others(blocks: AgentBlocks) -> None:
    """Counters are exact."""
    fields = [{"name": "visits", "type": "counter"}, {"name": "name"}]
    await blocks.create("facts", schema={"type": "map", "fields": fields})
    await blocks.edit("facts", {"op": "increment", "field": "visits", "by": 2})
    await blocks.edit("facts", {"op": "increment", "field": "visits", "by": 5})
    await blocks.edit("facts", SetField(field="name", value="Anna"))
    assert "Anna" not in (await blocks.undo("facts")).text
    assert "visits: 2" in (await blocks.undo("facts")).text
    assert "visits: 7" in (await blocks.redo("facts")).text


@pytest.mark.requirement("BLK-2")
async def test_a_deleted_block_frees_its_label_and_can_be_restored(blocks: AgentBlocks) -> None:
    """By its id, where the label is free."""
    old = await blocks.create("notes", text="old")
    with pytest.raises(Conflict):
        await blocks.create("notes")
    with pytest.raises(NotPermitted):
        await blocks.delete("notes")
    await blocks.delete("notes", system=True)
    with pytest.raises(NotFound):
        await blocks.get("notes")
    with pytest.raises(NotFound):
        await blocks.get(old.id)
    with pytest.raises(NotFound):
        await blocks.append("notes", "x")
    new = await blocks.create("notes", text="new")
    assert [block.id for block in await blocks.list(deleted=True)] == [old.id]
    with pytest.raises(Conflict):
        await blocks.restore(old.id, system=True)
    await blocks.change("notes", new_label="others")
    assert (await blocks.restore(old.id, system=True)).text == "old"
    assert (await blocks.get("others")).id == new.id


@pytest.mark.requirement("BLK-2", "BLK-7")
async def test_the_archive_stays_right(blocks: AgentBlocks) -> None:
    """After an edit, an undo, a redo, another schema, another type, a deletion and a restoration."""
    block = await blocks.create("notes", text="green tank", type="archival")
    assert await texts(blocks, "tank") == ["green tank"]
    await blocks.set_text("notes", "blue pump")
    assert (await texts(blocks, "tank"), await texts(blocks, "pump")) == ([], ["blue pump"])
    await blocks.undo("notes")
    assert (await texts(blocks, "tank"), await texts(blocks, "pump")) == (["green tank"], [])
    await blocks.redo("notes")
    assert (await texts(blocks, "tank"), await texts(blocks, "pump")) == ([], ["blue pump"])
    await blocks.change("notes", schema="list", system=True)
    assert await texts(blocks, "pump") == ["1. blue pump"]
    await blocks.edit("notes", PushItem(value="a valve"))
    assert await texts(blocks, "valve") == ["1. blue pump\n2. a valve"]
    await blocks.change("notes", type="working")
    assert await texts(blocks, "pump") == []
    await blocks.change("notes", type="archival")
    assert await texts(blocks, "pump") == ["1. blue pump\n2. a valve"]
    await blocks.delete("notes", system=True)
    assert await texts(blocks, "pump") == []
    await blocks.restore(block.id, system=True)
    assert await texts(blocks, "pump") == ["1. blue pump\n2. a valve"]


@pytest.mark.requirement("BLK-7")
async def test_archival_entries_are_kept_found_and_deleted(germane: Germane) -> None:
    """By their words and their metadata; deleting one forgets it for good. Others' entries aren't there."""
    mine, anna, ben = (germane.agent("x", user=user).blocks for user in (None, "anna", "ben"))
    entry = await anna.archive("The tank holds ninety litres", {"source": "manual"})
    assert await anna.entry(entry.id) == entry
    assert await texts(anna, "litres") == await texts(anna, "manual") == [entry.text]
    (found,) = await anna.search_archive("how many litres does the tank hold?")
    assert (found.entry, 0 < found.relevance <= 1) == (entry, True)
    for other in (mine, ben, germane.agent("y", user="anna").blocks, germane.agent("x", org="z", user="anna").blocks):
        assert await texts(other, "litres") == []
        with pytest.raises(NotFound):
            await other.entry(entry.id)
        with pytest.raises(NotFound):
            await other.delete_entry(entry.id)
    receipt = await anna.delete_entry(entry.id)
    assert (receipt.block_ids, receipt.scrubbed, "archival entries" in receipt.checked) == ((entry.id,), True, True)
    assert await texts(anna, "litres") == []
    with pytest.raises(NotFound):
        await anna.delete_entry(entry.id)
    for bad in ("", "  ", 7, None):
        with pytest.raises(InvalidInput):
            await anna.archive(bad)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput):
        await anna.archive("x", {"a": object()})
    with pytest.raises(InvalidInput):
        await anna.archive("x", {"a": float("nan")})


@pytest.mark.requirement("BLK-2")
async def test_another_schema_takes_what_fits_or_says_what_doesnt(blocks: AgentBlocks) -> None:
    """Edits before it can't be undone; the lines that are shown of a text can change without that."""
    await blocks.create("notes", text="one\ntwo")
    await blocks.append("notes", "\nthree")
    shown = await blocks.change("notes", schema={"type": "text", "viewport": {"start": 2, "lines": 1}}, system=True)
    assert "two" in shown.text
    assert "three" not in shown.text
    assert (await blocks.undo("notes")).version == 3
    listed = await blocks.change("notes", schema={"type": "list", "checkboxes": True}, system=True)
    assert listed.text == "[ ] one\n[ ] two"
    with pytest.raises(InvalidInput, match="nothing to undo"):
        await blocks.undo("notes")
    with pytest.raises(InvalidInput):
        await blocks.change("notes", schema={"type": "map", "fields": [{"name": "a"}]}, system=True)
    with pytest.raises(NotFound):
        await blocks.show_version("notes", 0)
    assert (await blocks.get("notes")).text == listed.text
    await blocks.edit("notes", PushItem(value="four"))
    assert (await blocks.undo("notes")).text == listed.text


@pytest.mark.requirement("BLK-6", "SCOPE-3")
async def test_nobody_sees_or_changes_anothers_blocks(germane: Germane) -> None:
    """Neither by label nor by id: other users, agents and orgs; a user can't change what is agent-wide."""
    anna = germane.agent("x", user="anna").blocks
    block = await anna.create("secret", text="canary", permission="admin")
    for other in (
        germane.agent("x").blocks,
        germane.agent("x", user="ben").blocks,
        germane.agent("y", user="anna").blocks,
        germane.agent("x", org="other", user="anna").blocks,
    ):
        assert await other.list() == ()
        for name in ("secret", block.id):
            for refused in (
                other.get(name),
                other.append(name, "x"),
                other.undo(name),
                other.delete(name, system=True),
                other.restore(name, system=True),
                other.versions(name),
                other.share(name, "z", system=True),
                other.pin(name, system=True),
                other.show_version(name, 0),
            ):
                with pytest.raises(NotFound):
                    await refused
    wide = await germane.agent("x").blocks.create("wide", text="for all", permission="admin")
    assert (await anna.get("wide")).granted == "read_only"
    for refused in (
        anna.append(wide.id, "x"),
        anna.undo("wide"),
        anna.delete("wide", system=True),
        anna.pin("wide", system=True),
    ):
        with pytest.raises(NotPermitted):
            await refused
    own = await anna.create("wide", text="hers")
    assert (await anna.get("wide")).id == own.id
    assert [one.text for one in await anna.list()] == ["canary", "hers", "for all"]


async def test_secrets_are_redacted_in_blocks_and_entries(blocks: AgentBlocks) -> None:
    """By the policy that germane was opened with; the result counts them."""
    made = await blocks.create("keys", text="the AWS key is AKIAIOSFODNN7EXAMPLE")
    assert "AKIA" not in made.text
    edited = await blocks.edit("keys", AppendText(text="\nand AKIAIOSFODNN7EXAMPLF too"))
    assert "AKIA" not in edited.text
    assert sum(made.secrets.values()) == sum(edited.secrets.values()) == 1
    entry = await blocks.archive("AKIAIOSFODNN7EXAMPLE", {"key": "AKIAIOSFODNN7EXAMPLE"})
    assert "AKIA" not in f"{entry.text}{entry.metadata}"
    assert sum(entry.secrets.values()) == 2


async def test_one_edit_has_a_thousand_mutations_at_most(germane: Germane) -> None:
    """More are refused before any is read, and nothing is written."""
    blocks = germane.agent("x").blocks
    await blocks.create("notes", text="")
    assert (await blocks.edit("notes", *[AppendText(text="a")] * 1_000)).version == 1
    with pytest.raises(InvalidInput, match="mutations has 1,001 entries, 1,000 are allowed"):
        await blocks.edit("notes", *[AppendText(text="a")] * 1_001)
    assert (await blocks.get("notes")).version == 1


async def test_what_was_read_under_another_schema_is_no_base(germane: Germane) -> None:
    """Its positions and words are those of another document."""
    blocks = germane.agent("x").blocks
    await blocks.create("notes", text="one", permission="admin")
    await blocks.change("notes", schema="list")
    await blocks.change("notes", schema="text")
    with pytest.raises(Stale, match="isn't kept any more"):
        await blocks.set_text("notes", "two", base=0)
    assert (await blocks.set_text("notes", "two", base=2)).text == "two"


async def test_a_label_that_is_taken_isnt_given_again(germane: Germane) -> None:
    """Neither by a new name nor by a restoration; the error says what to do."""
    blocks = germane.agent("x").blocks
    first = await blocks.create("notes", permission="admin")
    await blocks.delete("notes")
    await blocks.create("notes", permission="admin")
    await blocks.create("other", permission="admin")
    for taking in (blocks.restore(first.id), blocks.change("other", new_label="notes"), blocks.rename_folder("a", "b")):
        with pytest.raises((Conflict, NotFound)) as refused:
            await taking
        assert "rename or delete it first" in str(refused.value) or "no block under" in str(refused.value)


async def test_a_viewport_that_goes_may_leave_a_text_over_the_limit(germane: Germane) -> None:
    """Then it is refused: the limit is that of what is shown."""
    blocks = germane.agent("x").blocks
    viewport = {"type": "text", "viewport": {"start": 1, "lines": 2}}
    await blocks.create("notes", schema=viewport, value="line\n" * 100, limit=60, permission="admin")
    with pytest.raises(InvalidInput, match="60 are allowed"):
        await blocks.change("notes", schema="text")
    assert (await blocks.get("notes")).version == 0


async def test_versions_that_cant_be_consolidated_have_an_end(germane: Germane, monkeypatch: pytest.MonkeyPatch) -> None:
    """A document with its versions has a size at most; what would exceed it is refused."""
    monkeypatch.setattr(revision, "_MAX_STORED", 600)
    blocks = germane.agent("x").blocks
    await blocks.create("notes", text="")
    await blocks.set_text("notes", "short")
    with pytest.raises(InvalidInput, match="600 are allowed: shorten it"):
        await blocks.set_text("notes", "".join(chr(0x4E00 + number) for number in range(400)))
    assert (await blocks.get("notes")).text == "short"


async def test_subscribers_are_told_of_each_commit(germane: Germane) -> None:
    """Of their own scope's blocks and shared ones, once; not of refused edits, and not after the end."""
    owner, other = germane.agent("x").blocks, germane.agent("y").blocks
    told: list[tuple[str, str, int, str | None]] = []

    def listen(whose: str) -> Any:
        return lambda block: told.append((whose, block.label, block.version, block.shared_from))

    ends = [owner.subscribe(listen("owner")), other.subscribe(listen("other"))]
    owner.subscribe(lambda block: 1 / 0)
    await owner.create("notes", text="one", limit=20)
    await owner.share("notes", "y", system=True)
    await other.append("notes", " two")
    with pytest.raises(InvalidInput):
        await owner.append("notes", "x" * 99)
    assert sorted(told) == [("other", "notes", 1, "x"), ("owner", "notes", 0, None), ("owner", "notes", 1, None)]
    await owner.list()
    await other.get("notes")
    for end in ends:
        end()
    await owner.append("notes", "!")
    assert len(told) == 3


@pytest.mark.requirement("BLK-4", "OPS-2")
async def test_two_processes_converge_and_tell_their_listeners(tmp_path: Path) -> None:
    """Two stores over one file, whose edits take turns; each continues with what the other has written."""
    async with (
        Germane.open(tmp_path / "a.db", embedder=Hashed()) as one,
        Germane.open(tmp_path / "a.db", embedder=Hashed()) as two,
    ):
        first, second = one.agent("x").blocks, two.agent("x").blocks
        told = list[Block]()
        second.subscribe(told.append)
        await first.create("list", schema="list")

        async def push(blocks: AgentBlocks, name: str) -> None:
            for number in range(20):
                await blocks.edit("list", PushItem(value=f"{name}{number}"))

        await asyncio.gather(push(first, "a"), push(second, "b"))
        block = await first.get("list")
        assert block == await second.get("list")
        items = [line.split(". ")[1] for line in block.text.splitlines()]
        assert sorted(items) == sorted(f"{name}{number}" for name in "ab" for number in range(20))
        assert [item for item in items if item[0] == "a"] == [f"a{number}" for number in range(20)]
        await first.edit("list", PushItem(value="last"))
        assert told[-1].version < 41
        await second.list()
        assert (told[-1].version, "last" in told[-1].text) == (41, True)


async def test_an_absent_extra_says_what_to_install(blocks: AgentBlocks, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading needs no document, and so works without it."""
    import sys

    from germane import MissingExtra

    await blocks.create("notes", text="here")
    monkeypatch.setitem(sys.modules, "loro", None)
    with pytest.raises(MissingExtra, match=r"germane\[blocks\]"):
        await blocks.create("more")
    assert (await blocks.get("notes")).text == "here"
