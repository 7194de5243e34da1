"""Folders of memory files become blocks and come back: Anthropic's plain files, and Letta's with front matter."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane import Agent, Germane, InvalidInput, UnknownName
from germane.integrations.memory_tool.folders import export_folder, file_of, import_folder, read_memory_file
from germane_testing.builders import a_block


@pytest.fixture
async def agent() -> AsyncIterator[Agent]:
    async with Germane.open(":memory:", embedder=None) as opened:
        yield opened.agent("x", user="anna")


def folder_of(path: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(text.encode())
    return path


def names_in(path: Path) -> list[str]:
    return sorted(entry.name for entry in path.iterdir())


@pytest.mark.requirement("BLK-8")
async def test_anthropics_folder_comes_back_as_it_was(agent: Agent, tmp_path: Path) -> None:
    """Names, folders and bytes; what is under system is a core block."""
    files = {"notes.txt": "a\r\nb", "system/persona.md": "I am calm\n", "a/b/c": "", "päth.md": "é\n---\n"}
    result = await import_folder(agent, folder_of(tmp_path / "in", files))
    assert (sorted(result.created), result.refused) == (sorted(files), {})
    assert [block.label for block in await agent.blocks.list("core")] == ["system/persona.md"]
    written = await export_folder(agent, tmp_path / "out")
    assert {name: (tmp_path / "out" / name).read_bytes().decode() for name in written.files} == files
    assert (tmp_path / "out" / "notes.txt").stat().st_mode & 0o777 == 0o600
    again = await import_folder(agent, tmp_path / "out")
    assert (len(again.known), again.created, again.updated) == (4, [], [])


@pytest.mark.requirement("BLK-8")
async def test_lettas_folder_comes_back_with_its_front_matter(agent: Agent, tmp_path: Path) -> None:
    """A description over lines, a limit, and what the agent may not write; labels have no `.md`."""
    files = {
        "system/human.md": "---\ndescription: >-\n  What is known\n  about Anna\nlimit: 9000\n---\nLikes tea\n",
        "system/rules.md": "---\ndescription: 'It''s fixed'\nread_only: true\n---\nBe kind",
        "archive/old.md": "no front matter\n",
    }
    result = await import_folder(agent, folder_of(tmp_path / "in", files), "letta")
    assert sorted(result.created) == ["archive/old", "system/human", "system/rules"]
    human, rules = await agent.blocks.get("system/human"), await agent.blocks.get("system/rules")
    assert (human.description, human.limit, human.text, human.type) == (
        "What is known about Anna",
        9_000,
        "Likes tea\n",
        "core",
    )
    assert (rules.description, rules.permission, rules.text) == ("It's fixed", "read_only", "Be kind")
    await export_folder(agent, tmp_path / "out", "letta")
    again = await import_folder(agent, tmp_path / "out", "letta")
    assert sorted(again.known) == sorted(result.created)
    text = (tmp_path / "out" / "system" / "rules.md").read_text("utf-8")
    assert text == '---\ndescription: "It\'s fixed"\nlimit: 5000\nread_only: true\n---\nBe kind'


@pytest.mark.requirement("BLK-8")
@given(
    text=st.text(st.characters(exclude_categories=["Cs"]), max_size=60).filter(lambda text: not text.startswith("\ufeff")),
    description=st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=30),
    label=st.sampled_from(("persona", "system/a", "a/b.md", "---")),
    type=st.sampled_from(("core", "working")),
)
def test_a_block_comes_back_from_its_file(text: str, description: str, label: str, type: str) -> None:
    """In Letta's layout, whatever its text; in Anthropic's, where it has a file."""
    block = a_block(label, text, description=description, type=type, limit=6_000)
    for layout in ("anthropic", "letta"):
        written = file_of(block, layout)
        if written is None:
            continue
        file = read_memory_file(written[0], written[1].encode(), layout)
        assert (file.label, file.text, file.type) == (label, text, type)
        assert layout == "anthropic" or (file.description, file.limit) == (description, 6_000)


@pytest.mark.requirement("BLK-8")
async def test_a_changed_file_is_a_new_version_that_can_be_undone(agent: Agent, tmp_path: Path) -> None:
    """Whoever may write the block otherwise, and whatever its limit is."""
    await agent.blocks.create("a", text="old", permission="read_only", limit=10)
    result = await import_folder(agent, folder_of(tmp_path, {"a": "a text that is longer"}))
    assert (result.updated, (await agent.blocks.get("a")).text) == (["a"], "a text that is longer")
    assert (await agent.blocks.undo("a", system=True)).text == "old"


@pytest.mark.requirement("BLK-8")
async def test_files_that_cant_be_blocks_are_named_and_the_rest_comes_in(agent: Agent, tmp_path: Path) -> None:
    """Hidden files and links are skipped: what a link leads to isn't part of the folder."""
    folder = folder_of(tmp_path / "in", {"ok": "x", "a\\b": "x", "%2e%2e": "x", "long": "x" * 100_001, ".git/config": "x"})
    (folder / "binary").write_bytes(b"\xff\xfe")
    (tmp_path / "secret").write_text("secret")
    (folder / "link").symlink_to(tmp_path / "secret")
    (folder / "folder").symlink_to(tmp_path)
    result = await import_folder(agent, folder)
    assert result.created == ["ok"]
    assert sorted(result.refused) == ["%2e%2e", "a\\b", "binary", "long"]


@pytest.mark.requirement("BLK-8")
async def test_only_what_has_a_place_is_written_and_nothing_is_overwritten(agent: Agent, tmp_path: Path) -> None:
    """Blocks of other shapes and types are named; a label can't leave the folder."""
    for label, fields in {
        "a": {},
        "a/b": {},
        "back\\slash": {},
        "..%2f..": {},
        "log": {"type": "log"},
        "old": {"type": "archival"},
        "persona": {"type": "core"},
    }.items():
        await agent.blocks.create(label, **fields)  # type: ignore[arg-type]
    written = await export_folder(agent, tmp_path / "plain")
    assert (written.files, written.left_out) == (("a/b",), ("..%2f..", "a", "back\\slash", "log", "old", "persona"))
    written = await export_folder(agent, tmp_path / "letta", "letta")
    assert written.files == ("a.md", "a/b.md", "system/persona.md")
    assert names_in(tmp_path) == ["letta", "plain"]
    with pytest.raises(InvalidInput, match="isn't empty"):
        await export_folder(agent, tmp_path / "plain")
    with pytest.raises(UnknownName, match="layout 'acme' is unknown: give one of anthropic, letta"):
        await export_folder(agent, tmp_path / "x", "acme")
    with pytest.raises(InvalidInput, match="is no folder"):
        await import_folder(agent, tmp_path / "nowhere")


@pytest.mark.requirement("BLK-8", "SCOPE-3")
async def test_an_export_holds_the_scopes_own_blocks_only(agent: Agent, tmp_path: Path) -> None:
    """Neither agent-wide ones nor those that others share."""
    async with Germane.open(":memory:", embedder=None) as germane:
        mine, wide, other = germane.agent("x", user="anna"), germane.agent("x"), germane.agent("y", user="anna")
        await wide.blocks.create("wide")
        await other.blocks.create("shared", permission="admin")
        await other.blocks.share("shared", "x")
        await mine.blocks.create("mine")
        assert (await export_folder(mine, tmp_path / "out")).files == ("mine",)
