"""What is stored of blocks: bounded versions, damage that is mended or told, crashes, exports, forgetting."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import apsw
import pytest

from germane import Germane, InvalidInput, NotFound, StoreCorrupt, StoreError
from germane.kinds.blocks.handle import AgentBlocks
from germane.kinds.blocks.mutation import AppendText, SetText
from germane.stores.sql.blocks import plans as block_work
from germane_testing.builders import Hashed

pytest.importorskip("loro")


def opened(folder: Path, name: str = "a.db") -> Germane:
    return Germane.open(folder / name, embedder=Hashed())


async def consolidated(germane: Germane) -> None:
    parts = germane._parts
    assert parts is not None
    await parts.blocks.consolidate()


def stored(folder: Path, table: str = "block_versions", column: str = "size") -> int:
    connection = apsw.Connection(str(folder / "a.db"), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        ((total,),) = connection.execute(f"SELECT coalesce(sum({column}), 0) FROM {table}")
        return int(total)
    finally:
        connection.close()


def written(folder: Path, sql: str, *values: Any) -> None:
    connection = apsw.Connection(str(folder / "a.db"))
    connection.execute(sql, values)
    connection.close()


async def aged(blocks: AgentBlocks, edits: int = 150) -> None:
    """A block with more edits than versions that are kept."""
    await blocks.create("notes", text="begin")
    for number in range(edits):
        await blocks.edit("notes", SetText(text=f"edit {number} of the notes"))


@pytest.mark.requirement("BLK-4")
async def test_many_versions_are_consolidated_away(tmp_path: Path) -> None:
    """The last versions stay and can be undone and shown; the oldest are gone; nobody who reads the block sees a difference."""
    async with opened(tmp_path) as germane:
        blocks = germane.agent("x").blocks
        await aged(blocks)
        before = await blocks.get("notes")
        await consolidated(germane)
        assert await blocks.get("notes") == before
        versions = await blocks.versions("notes")
        assert 3 <= len(versions) <= 100
        assert versions[-1].number == 150
        assert await blocks.show_version("notes", versions[0].number) == f"edit {versions[0].number - 1} of the notes"
        with pytest.raises(NotFound):
            await blocks.show_version("notes", versions[0].number - 1)
        for version in reversed(versions[-4:-1]):
            assert (await blocks.undo("notes")).text == f"edit {version.number - 1} of the notes"
        assert (await blocks.redo("notes")).text == f"edit {versions[-3].number - 1} of the notes"
    size = stored(tmp_path, "block_snapshots", "length(data)") + stored(tmp_path, column="coalesce(length(delta), 0)")
    assert size < 30_000
    async with opened(tmp_path) as germane:
        blocks, texts = germane.agent("x").blocks, list[str]()
        with suppress(InvalidInput):
            texts += [(await blocks.undo("notes")).text for _ in range(200)]
        assert "edit" in (await blocks.get("notes")).text
        assert (await blocks.versions("notes"))[0].number > 1


@pytest.mark.requirement("BLK-4")
async def test_another_process_reads_on_after_a_consolidation(tmp_path: Path) -> None:
    """A cached document that is older than the snapshot is loaded again."""
    async with opened(tmp_path) as one, opened(tmp_path) as two:
        first, second = one.agent("x").blocks, two.agent("x").blocks
        await first.create("notes", text="one")
        await second.append("notes", " two")
        for number in range(120):
            await first.edit("notes", SetText(text=f"edit {number}"))
        await consolidated(one)
        assert (await second.append("notes", "!")).text == "edit 119!"
        assert (await first.append("notes", "!")).text == "edit 119!!"


async def test_another_process_takes_over_a_changed_schema(tmp_path: Path) -> None:
    """A cached document of the former schema isn't used."""
    async with opened(tmp_path) as one, opened(tmp_path) as two:
        first, second = one.agent("x").blocks, two.agent("x").blocks
        await first.create("notes", text="one")
        await second.append("notes", "\ntwo")
        viewport = {"type": "text", "viewport": {"start": 2, "lines": 1}}
        await first.change("notes", schema=viewport, system=True)
        assert (await second.append("notes", "!")).text == (await first.get("notes")).text
        assert "two!" in (await first.get("notes")).text
        assert "one" not in (await first.get("notes")).text


@pytest.mark.requirement("BLK-4")
async def test_a_damaged_snapshot_is_made_anew_where_the_changes_suffice(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As long as no version is gone. Doctor says that nothing is lost, reading goes on, and the next edit mends it and says
    so."""
    async with opened(tmp_path) as germane:
        blocks = germane.agent("x").blocks
        await blocks.create("notes", text="begin")
        for number in range(33):
            await blocks.edit("notes", AppendText(text=f" {number}"))
        text = (await blocks.get("notes")).text
        await consolidated(germane)
    assert stored(tmp_path, "block_snapshots", "1") == 1
    written(tmp_path, "UPDATE block_snapshots SET data = zeroblob(99)")
    async with opened(tmp_path) as germane:
        blocks = germane.agent("x").blocks
        block = await blocks.get("notes")
        findings = {name: (said, fine) for name, said, fine in (await germane.verify()).findings}
        said, fine = findings["blocks"]
        assert (block.id in said, "nothing is lost" in said, "restore a backup" in said, fine) == (True, True, False, False)
        assert await blocks.value("notes") == text
        assert await blocks.show_version("notes", 1) == "begin 0"
        with caplog.at_level(logging.WARNING, "germane.blocks"):
            assert (await blocks.append("notes", "!")).text == f"{text}!"
        assert f"block {block.id}: its snapshot was damaged" in caplog.text
        await consolidated(germane)
        assert {name: fine for name, _, fine in (await germane.verify()).findings}["blocks"]


@pytest.mark.requirement("BLK-4")
@pytest.mark.parametrize("damage", ["DELETE FROM block_snapshots", "UPDATE block_snapshots SET data = substr(data, 1, 40)"])
async def test_a_damaged_block_is_shown_and_told(tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture) -> None:
    """Its last text is there, an edit says what to do, doctor names it; other blocks aren't affected."""
    async with opened(tmp_path) as germane:
        blocks = germane.agent("x").blocks
        await aged(blocks)
        await blocks.create("fine", text="here")
        await consolidated(germane)
        assert {name: fine for name, _, fine in (await germane.verify()).findings}["blocks"]
    written(tmp_path, damage)
    async with opened(tmp_path) as germane:
        blocks = germane.agent("x").blocks
        block = await blocks.get("notes")
        assert block.text == "edit 149 of the notes"
        with caplog.at_level(logging.ERROR, "germane.blocks"), pytest.raises(StoreCorrupt, match="restore a backup"):
            await blocks.append("notes", "!")
        assert block.id in caplog.text
        assert "edit 149" not in caplog.text
        findings = {name: (said, fine) for name, said, fine in (await germane.verify()).findings}
        said, fine = findings["blocks"]
        assert (block.id in said, fine) == (True, False)
        assert (await blocks.append("fine", "!")).text == "here!"
        await blocks.change("notes", new_label="broken")
        await blocks.create("notes", text=block.text)


@pytest.mark.parametrize("step", ["put_version", "put_block"])
async def test_an_edit_that_fails_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    """Neither in the store nor in the cache, wherever it fails; the next edit is made on what is stored."""
    async with opened(tmp_path) as germane:
        blocks = germane.agent("x").blocks
        await blocks.create("notes", text="one")
        await blocks.append("notes", " two")

        def broken(*_: Any, **__: Any) -> None:
            raise apsw.IOError("injected")

        with monkeypatch.context() as patched:
            patched.setattr(block_work, step, broken)
            with pytest.raises(StoreError):
                await blocks.append("notes", " lost")
        assert (await blocks.get("notes")).text == "one two"
        assert (await blocks.append("notes", " three")).text == "one two three"
        assert [version.number for version in await blocks.versions("notes")] == [0, 1, 2]


_KILLED = """
import asyncio, sys
from germane import Germane
from germane_testing.builders import Hashed
async def main():
    async with Germane.open(sys.argv[1], embedder=Hashed()) as germane:
        blocks = germane.agent("x").blocks
        await blocks.create("log", type="log")
        number = 0
        while True:
            await blocks.edit("log", {"op": "append_entry", "text": f"entry {number}"})
            print(number, flush=True)
            number += 1
asyncio.run(main())
"""


@pytest.mark.requirement("BLK-4")
async def test_no_acknowledged_edit_is_lost_by_a_kill(tmp_path: Path) -> None:
    """And nothing is half there: the document and the text agree."""
    process = await asyncio.to_thread(
        subprocess.Popen,
        [sys.executable, "-c", _KILLED, str(tmp_path / "a.db")],
        stdout=subprocess.PIPE,
        env=dict(os.environ),
    )
    assert process.stdout is not None
    last = -1
    try:
        while last < 80:
            line = await asyncio.to_thread(process.stdout.readline)
            assert line, "it ended by itself"
            last = int(line)
    finally:
        process.kill()
        rest = await asyncio.to_thread(process.stdout.read)
        await asyncio.to_thread(process.wait)
        process.stdout.close()
    last = int(rest.split()[-1]) if rest.split() else last
    async with opened(tmp_path) as germane:
        blocks = germane.agent("x").blocks
        assert (await blocks.get("log")).version >= last + 1
        assert f"entry {last}" in (await blocks.get("log")).text
        assert {name: fine for name, _, fine in (await germane.verify()).findings}["blocks"]
        assert "one more" in (await blocks.edit("log", {"op": "append_entry", "text": "one more"})).text


async def filled(germane: Germane) -> None:
    for user in (None, "anna"):
        blocks = germane.agent("x", user=user).blocks
        await blocks.create("persona", text="calm", type="core", description="who", permission="admin")
        await blocks.append("persona", " and kind")
        await blocks.undo("persona")
        await blocks.create("todo", schema={"type": "list", "checkboxes": True}, value=["one"], pinned=True)
        await blocks.create("gone", text="gone")
        await blocks.delete("gone", system=True)
        await blocks.create("archived", text="green tank", type="archival")
        await blocks.archive("The tank holds ninety litres", {"pages": [1, {"a": None}]})
        await blocks.share("persona", "y", "append")
    await aged(germane.agent("x", user="anna").blocks, 130)
    await consolidated(germane)


@pytest.mark.requirement("MEM-3", "BLK-2")
async def test_an_export_brings_blocks_back_as_they_were(tmp_path: Path) -> None:
    """Byte for byte, with what can be undone, the shares and the archive; importing again stores nothing."""
    async with opened(tmp_path) as germane, opened(tmp_path, "b.db") as other:
        await filled(germane)
        lines = [json.dumps(line) async for line in germane.export()]
        restored = await other.restore(lines)
        assert (restored.blocks, restored.entries, restored.conflicts) == (9, 2, [])
        assert [json.dumps(line) async for line in other.export()] == lines
        again = await other.restore(lines)
        assert (again.blocks, again.entries, again.known) == (0, 0, 11)
        blocks, copy = germane.agent("x", user="anna").blocks, other.agent("x", user="anna").blocks
        assert await copy.list() == await blocks.list()
        assert (await copy.redo("persona")).text == "calm and kind"
        assert (await copy.undo("notes")).text == "edit 128 of the notes"
        assert (await other.agent("y", user="anna").blocks.get("persona")).granted == "append"
        assert [found.entry.text for found in await copy.search_archive("litres", 1)] == ["The tank holds ninety litres"]
        assert {name: fine for name, _, fine in (await other.verify()).findings} == dict.fromkeys(
            ("archive", "checksums", "search rows", "blocks", "orphans"), True
        )


async def test_what_was_forgotten_isnt_restored_and_what_is_taken_is_told(tmp_path: Path) -> None:
    """A label that another block has by now, and an id that was forgotten."""
    async with opened(tmp_path) as germane:
        agent = germane.agent("x")
        block = await agent.blocks.create("notes", text="one")
        entry = await agent.blocks.archive("a fact")
        lines = [line async for line in agent.export()]
        await agent.forget([block.id, entry.id])
        restored = await agent.restore(lines)
        assert (restored.blocks, restored.entries, restored.forgotten) == (0, 0, 2)
        assert await agent.blocks.list() == ()
    async with opened(tmp_path, "b.db") as other:
        await other.agent("x").blocks.create("notes", text="another")
        restored = await other.agent("x").restore(lines, skip_conflicts=True)
        assert (restored.blocks, restored.entries, restored.conflicts) == (0, 1, [2])


async def test_an_export_of_the_version_before_is_imported(tmp_path: Path) -> None:
    """It knows no blocks."""
    async with opened(tmp_path) as germane:
        await germane.agent("x").remember("Prefers tea")
        lines = [line async for line in germane.export()]
    header = dict(
        lines[0], version=1, holds={name: n for name, n in lines[0]["holds"].items() if name not in ("blocks", "entries")}
    )
    async with opened(tmp_path, "b.db") as other:
        assert (await other.restore([header, *lines[1:]])).memories == 1


@pytest.mark.requirement("MEM-3")
async def test_forgetting_an_agent_leaves_no_byte_of_its_blocks(tmp_path: Path) -> None:
    """Neither of the present text nor of earlier ones, of labels, descriptions, reasons, entries or metadata; the same for one
    block by its id."""
    words = ("canarytext", "canaryold", "canarylabel", "canaryabout", "canaryreason", "canaryentry", "canarymeta", "canarywho")
    async with opened(tmp_path) as germane:
        agent, other = germane.agent("x"), germane.agent("y")
        for number in range(80):
            await other.blocks.archive(f"filling {number}")
        block = await agent.blocks.create("canarylabel", text="canaryold " * 400, description="canaryabout", type="archival")
        for number in range(70):
            await agent.blocks.edit(
                "canarylabel", SetText(text=f"canarytext {number} " * 30), reason="canaryreason", by="canarywho"
            )
        await consolidated(germane)
        await agent.blocks.archive("canaryentry", {"canarymeta": 1})
        receipt = await agent.forget([block.id])
        assert (receipt.block_ids, receipt.scrubbed) == ((block.id,), True)
        assert held(tmp_path, *words) == {"canaryentry", "canarymeta"}
        await agent.forget(everything=True)
        assert held(tmp_path, *words) == set()
    assert held(tmp_path, *words) == set()


async def test_who_only_had_shares_is_forgotten_with_them(tmp_path: Path) -> None:
    """No name is left of an agent or a user that nothing but the forgotten blocks was shared with."""
    async with opened(tmp_path) as germane:
        anna = germane.agent("x", org="acme", user="canaryuser")
        await anna.blocks.create("notes", text="one")
        await anna.blocks.share("notes", "canaryagent", system=True)
        await anna.blocks.create("others")
        await anna.blocks.share("others", "kept", system=True)
        await germane.agent("kept", org="acme", user="canaryuser").remember("something")
        assert held(tmp_path, "canaryagent", "canaryuser") == {"canaryagent", "canaryuser"}
        await anna.forget(everything=True)
        assert held(tmp_path, "canaryagent", "canaryuser") == {"canaryuser"}
        await germane.forget("acme")
        assert held(tmp_path, "canaryagent", "canaryuser") == set()


def held(folder: Path, *words: str) -> set[str]:
    everything = b"\0".join(path.read_bytes() for path in folder.iterdir())
    return {word for word in words if word.encode() in everything}
