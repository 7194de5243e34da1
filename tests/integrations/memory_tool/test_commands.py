"""The commands of the memory tool over blocks: types, permissions, consent, preconditions, versions, and mistakes of a
model."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from germane import Agent, Germane
from germane.integrations.memory_tool.commands import COMMANDS, ToolAnswer
from germane.integrations.memory_tool.tool import MemoryTool, memory_tool

ROOT = "/memories"


@pytest.fixture
async def germane() -> AsyncIterator[Germane]:
    async with Germane.open(":memory:", embedder=None) as opened:
        yield opened


@pytest.fixture
def agent(germane: Germane) -> Agent:
    return germane.agent("support", org="acme", user="caroline")


@pytest.fixture
def tool(agent: Agent) -> MemoryTool:
    return memory_tool(agent)


async def ask(tool: MemoryTool, command: str, path: str = "", **fields: Any) -> ToolAnswer:
    given = {"path": f"{ROOT}/{path}"} if command != "rename" else {}
    return await tool.answer({"command": command, **given, **fields})


async def create(tool: MemoryTool, path: str, text: str = "one\ntwo\n", **fields: Any) -> None:
    answer = await ask(tool, "create", path, file_text=text, **fields)
    assert not answer.is_error, answer.text


@pytest.mark.requirement("BLK-8")
async def test_files_under_system_are_core_blocks_and_others_working_ones(tool: MemoryTool, agent: Agent) -> None:
    """A file that is moved across becomes what its place says; only a directory of that name counts."""
    for path in ("system/persona.md", "notes/a.md", "systematic.md"):
        await create(tool, path)
    found = {block.label: block.type for block in await agent.blocks.list()}
    assert found == {"notes/a.md": "working", "system/persona.md": "core", "systematic.md": "working"}
    await tool({"command": "rename", "old_path": f"{ROOT}/notes", "new_path": f"{ROOT}/system/notes"})
    await tool({"command": "rename", "old_path": f"{ROOT}/system/persona.md", "new_path": f"{ROOT}/persona.md"})
    found = {block.label: block.type for block in await agent.blocks.list()}
    assert found == {"persona.md": "working", "system/notes/a.md": "core", "systematic.md": "working"}
    await tool({"command": "rename", "old_path": f"{ROOT}/system", "new_path": f"{ROOT}/old"})
    assert (await agent.blocks.get("old/notes/a.md")).type == "working"


@pytest.mark.requirement("BLK-8")
async def test_an_edit_is_a_version_with_its_author_and_reason(agent: Agent) -> None:
    """Both are kept with the version; the reason is the command's."""
    tool = memory_tool(agent, by="planner")
    await create(tool, "a.md", reason="to begin")
    await ask(tool, "str_replace", "a.md", old_str="two", new_str="three", reason="it changed")
    await ask(tool, "insert", "a.md", insert_line=0, insert_text="zero")
    versions = await agent.blocks.versions("a.md")
    assert [(one.operation, one.by, one.reason) for one in versions] == [
        ("create", "support (planner)", "to begin"),
        ("replace_text", "support (planner)", "it changed"),
        ("insert_lines", "support (planner)", ""),
    ]
    assert (await agent.blocks.get("a.md")).text == "zero\none\nthree\n"
    assert (await agent.blocks.undo("a.md")).text == "one\nthree\n"


@pytest.mark.requirement("BLK-8")
@pytest.mark.parametrize(
    "command",
    [
        {"command": "str_replace", "path": f"{ROOT}/a.md", "old_str": "one", "new_str": "1"},
        {"command": "insert", "path": f"{ROOT}/a.md", "insert_line": 0, "insert_text": "zero"},
        {"command": "delete", "path": f"{ROOT}/a.md"},
        {"command": "rename", "old_path": f"{ROOT}/a.md", "new_path": f"{ROOT}/b.md"},
    ],
)
async def test_a_stale_hash_is_refused_with_the_present_text(agent: Agent, command: dict[str, Any]) -> None:
    """The one that is told then, and the one that `view` shows, are taken."""
    tool = memory_tool(agent, hashes=True)
    await create(tool, "a.md")
    viewed = (await ask(tool, "view", "a.md")).text
    await agent.blocks.append("a.md", "three\n")
    before = viewed.rpartition("content_sha256: ")[2].rstrip("]")
    refused = await tool.answer({**command, "if_hash": before})
    block = await agent.blocks.get("a.md")
    assert refused.is_error
    assert block.content_hash in refused.text
    assert refused.text.endswith("     1\tone\n     2\ttwo\n     3\tthree\n     4\t")
    assert block.text == "one\ntwo\nthree\n"
    assert not (await tool.answer({**command, "if_hash": block.content_hash})).is_error
    assert [one.text for one in await agent.blocks.list()] != [block.text] or command["command"] == "rename"


@pytest.mark.requirement("BLK-8")
async def test_after_an_insert_the_last_line_ends(tool: MemoryTool, agent: Agent) -> None:
    """A file whose last line has no line break gets one, wherever the lines were inserted."""
    await create(tool, "a.md", "one")
    await ask(tool, "insert", "a.md", insert_line=0, insert_text="zero")
    assert (await agent.blocks.get("a.md")).text == "zero\none\n"


@pytest.mark.requirement("BLK-8")
async def test_a_line_means_a_line_of_what_was_viewed(tool: MemoryTool, agent: Agent) -> None:
    """Others put lines before it meanwhile. The model is told, and views the file anew."""
    await create(tool, "a.md", "one\ntwo\nthree\n")
    await ask(tool, "view", "a.md")
    await agent.blocks.edit("a.md", {"op": "insert_lines", "line": 0, "text": "a\nb"})
    answer = await ask(tool, "insert", "a.md", insert_line=2, insert_text="two and a half")
    assert (await agent.blocks.get("a.md")).text == "a\nb\none\ntwo\ntwo and a half\nthree\n"
    assert "Others had changed it since it was viewed" in answer.text
    await ask(tool, "view", "a.md")
    assert "Others" not in (await ask(tool, "insert", "a.md", insert_line=0, insert_text="zero")).text


@pytest.mark.requirement("BLK-8")
async def test_a_text_that_was_changed_meanwhile_is_replaced_where_it_was_viewed(tool: MemoryTool, agent: Agent) -> None:
    """Both changes are there. Without having viewed the file, the text simply isn't there."""
    await create(tool, "a.md", "the cat sat on the mat\n")
    await ask(tool, "view", "a.md")
    await agent.blocks.replace("a.md", "cat", "dog")
    fresh = memory_tool(agent)
    missed = await ask(fresh, "str_replace", "a.md", old_str="the cat sat on the mat", new_str="the cat sat on the red mat")
    assert missed.text.startswith("No replacement was performed, old_str `the cat sat on the mat` did not appear verbatim")
    merged = await ask(tool, "str_replace", "a.md", old_str="the cat sat on the mat", new_str="the cat sat on the red mat")
    assert not merged.is_error
    assert (await agent.blocks.get("a.md")).text == "the dog sat on the red mat\n"


@pytest.mark.requirement("BLK-8")
async def test_an_insert_into_an_outdated_view_that_is_gone_is_refused(tool: MemoryTool, agent: Agent) -> None:
    """Its line could be any line now: the present text is shown, and the same command is taken then."""
    await create(tool, "a.md", "one\ntwo\nthree\n")
    await ask(tool, "view", "a.md")
    await agent.blocks.change("a.md", schema={"type": "text", "viewport": {"start": 1, "lines": 2}}, system=True)
    await agent.blocks.edit("a.md", {"op": "insert_lines", "line": 0, "text": "zero"})
    refused = await ask(tool, "insert", "a.md", insert_line=1, insert_text="half")
    assert refused.is_error
    assert refused.text.endswith("     4\tthree\n     5\t")  # the whole file, whatever a prompt shows of it
    assert not (await ask(tool, "insert", "a.md", insert_line=1, insert_text="half")).is_error
    assert await agent.blocks.value("a.md") == "zero\nhalf\none\ntwo\nthree\n"


@pytest.mark.requirement("BLK-8", "BLK-5")
@pytest.mark.parametrize("asked", ["partner", "human"])
async def test_an_edit_that_needs_consent_says_who_is_asked_and_is_sent_again(
    tool: MemoryTool, agent: Agent, asked: str
) -> None:
    """The answer has the request's id; nothing was written."""
    await agent.blocks.create("rules.md", text="be kind\n", permission=asked)
    edit = {"command": "str_replace", "path": f"{ROOT}/rules.md", "old_str": "kind", "new_str": "bold"}
    answer = await tool.answer(edit)
    (request,) = await agent.blocks.consents()
    assert answer.is_error
    assert request.id in answer.text
    assert {"partner": "your partner", "human": "a human"}[asked] in answer.text
    assert (await agent.blocks.get("rules.md")).text == "be kind\n"
    await agent.blocks.approve(request.id)
    assert not (await tool.answer(edit)).is_error
    assert (await agent.blocks.get("rules.md")).text == "be bold\n"


@pytest.mark.requirement("BLK-8", "BLK-5")
async def test_a_permission_refuses_in_words_that_name_the_file(tool: MemoryTool, agent: Agent) -> None:
    """`append` allows lines at the end only, `read_only` nothing."""
    await agent.blocks.create("log.md", text="one\n", permission="append")
    assert not (await ask(tool, "insert", "log.md", insert_line=1, insert_text="two")).is_error
    refused = await ask(tool, "insert", "log.md", insert_line=0, insert_text="zero")
    assert refused.is_error
    assert refused.text.startswith("Not permitted, nothing was changed: the file /memories/log.md can't be changed so")
    assert (await ask(tool, "delete", "log.md")).is_error
    assert (await agent.blocks.get("log.md")).text == "one\ntwo\n"


@pytest.mark.requirement("BLK-8")
async def test_a_directory_is_deleted_or_renamed_as_a_whole_or_not_at_all(tool: MemoryTool, agent: Agent) -> None:
    """One file that may not go keeps all of them; deleted files can be restored."""
    for path in ("a/one.md", "a/b/two.md", "ab.md"):
        await create(tool, path)
    await agent.blocks.create("a/kept.md", text="x", permission="read_only")
    for command in (
        {"command": "delete", "path": f"{ROOT}/a"},
        {"command": "rename", "old_path": f"{ROOT}/a", "new_path": f"{ROOT}/c"},
    ):
        assert (await tool.answer(command)).is_error
        assert [block.label for block in await agent.blocks.list()] == ["a/b/two.md", "a/kept.md", "a/one.md", "ab.md"]
    await agent.blocks.delete("a/kept.md", system=True)
    assert (await ask(tool, "delete", "a")).text == "Successfully deleted /memories/a"
    assert [block.label for block in await agent.blocks.list()] == ["ab.md"]
    for block in await agent.blocks.list(deleted=True):
        await agent.blocks.restore(block.id, system=True)
    assert len(await agent.blocks.list()) == 4


@pytest.mark.requirement("BLK-8")
async def test_a_file_holds_its_limit_and_secrets_are_left_out(agent: Agent) -> None:
    """The answer says by how much it is too long, and that something wasn't stored."""
    tool = memory_tool(agent, limit=20)
    refused = await ask(tool, "create", "long.md", file_text="x" * 25)
    assert refused.is_error
    assert "5 too many" in refused.text
    assert "file /memories/long.md" in refused.text
    stored = await ask(
        memory_tool(agent), "create", "key.md", file_text="The key is sk-proj-" + "Ab3dEf6hIj9kLm2nOp5q" * 2 + "."
    )
    assert stored.text.endswith("What looked like a secret in it wasn't stored.")
    assert "Ab3dEf" not in (await agent.blocks.get("key.md")).text


@pytest.mark.requirement("BLK-8", "SCOPE-3")
async def test_nobody_elses_files_are_there(tool: MemoryTool, germane: Germane, agent: Agent) -> None:
    """Neither by their path nor by the id of their block; and an own block isn't found by its id either."""
    strangers = [germane.agent("support", org="other", user="caroline"), germane.agent("support", org="acme", user="ben")]
    ids = [(await one.blocks.create("secret.md", text="x", permission="admin")).id for one in strangers]
    mine = await agent.blocks.create("mine.md", text="x", permission="admin")
    for path in ("secret.md", *ids, mine.id):
        for command in ("view", "delete"):
            assert "does not exist" in (await ask(tool, command, path)).text
    assert (await ask(tool, "view")).text.endswith("excluding hidden items:\n1B\t/memories\n1B\t/memories/mine.md")


@pytest.mark.requirement("BLK-8")
async def test_other_blocks_are_viewed_and_logs_take_entries(tool: MemoryTool, agent: Agent) -> None:
    """A map is shown as a prompt shows it; it is no file that lines could be put into."""
    await agent.blocks.create(
        "state", schema={"type": "map", "fields": [{"name": "mood", "type": "text"}]}, value={"mood": "calm"}
    )
    await agent.blocks.create("diary", type="log")
    assert (await ask(tool, "view", "state")).text.endswith("     1\tmood: calm")
    assert "no plain text" in (await ask(tool, "str_replace", "state", old_str="calm", new_str="bold")).text
    assert "use `insert_line` 0" in (await ask(tool, "insert", "diary", insert_line=1, insert_text="hello")).text
    assert not (await ask(tool, "insert", "diary", insert_line=0, insert_text="hello")).is_error
    assert (await agent.blocks.get("diary")).text.endswith("hello")


MISTAKES: list[Any] = [
    *(None, 7, "", "{", "[]", "null", '{"command": "view"}', [], {}, {"command": None}, {"command": "format"}),
    *(
        {"command": ["view"]},
        {"command": "create", "path": f"{ROOT}/a"},
        {"command": "create", "path": f"{ROOT}/a", "file_text": 7},
    ),
    *({"command": name} for name in COMMANDS),
    *({"command": name, "path": path} for name in COMMANDS for path in (f"{ROOT}/f.md", f"{ROOT}/../x", ROOT, 7)),
    {"command": "view", "path": f"{ROOT}/f.md", "view_range": "1-3"},
    {"command": "view", "path": f"{ROOT}/f.md", "view_range": [1]},
    {"command": "view", "path": f"{ROOT}/f.md", "view_range": [99, 100]},
    {"command": "view", "path": f"{ROOT}/f.md", "view_range": [True, 2]},
    {"command": "view", "path": f"{ROOT}/f.md", "view_range": [3, 1]},
    {"command": "insert", "path": f"{ROOT}/f.md", "insert_line": "0", "insert_text": "x"},
    {"command": "insert", "path": f"{ROOT}/f.md", "insert_line": True, "insert_text": "x"},
    {"command": "insert", "path": f"{ROOT}/f.md", "insert_line": 10**40, "insert_text": "x"},
    {"command": "insert", "path": f"{ROOT}/f.md", "insert_line": 0, "insert_text": "\ud800"},
    {"command": "str_replace", "path": f"{ROOT}/f.md", "old_str": "", "new_str": "x"},
    {"command": "str_replace", "path": f"{ROOT}/f.md", "old_str": "one", "new_str": "x" * 100_001},
    {"command": "str_replace", "path": f"{ROOT}/f.md", "old_str": "one", "new_str": "x", "reason": 7},
    {"command": "str_replace", "path": f"{ROOT}/f.md", "old_str": "one", "new_str": "x", "reason": "x" * 1_001},
    {"command": "str_replace", "path": f"{ROOT}/f.md", "old_str": "one", "new_str": "x", "if_hash": 7},
    {"command": "str_replace", "path": f"{ROOT}/f.md", "old_str": "one", "new_str": "x", "if_hash": "nonsense"},
    {"command": "rename", "old_path": f"{ROOT}/f.md", "new_path": f"{ROOT}/f.md/g.md"},
    {"command": "rename", "old_path": f"{ROOT}/f.md", "new_path": ROOT},
    {"command": "rename", "old_path": f"{ROOT}/d", "new_path": f"{ROOT}/d/e"},
    {"command": "rename", "old_path": f"{ROOT}/f.md", "new_path": f"{ROOT}/" + "é" * 128},
    {"command": "create", "path": f"{ROOT}/f.md/g.md", "file_text": "x"},
    {"command": "create", "path": f"{ROOT}/d", "file_text": "x"},
    {"command": "create", "path": f"{ROOT}/new/", "file_text": "x"},
]


@pytest.mark.requirement("BLK-8")
async def test_no_mistake_of_a_model_raises_or_changes_anything(tool: MemoryTool, agent: Agent) -> None:
    """It is told what was wrong, in one text."""
    await create(tool, "f.md")
    await create(tool, "d/g.md")
    before = await agent.blocks.list()
    harmless = [{"command": "view", "path": ROOT}, {"command": "view", "path": f"{ROOT}/f.md"}]
    removing = [{"command": "delete", "path": f"{ROOT}/f.md"}]
    for mistake in MISTAKES:
        if mistake in harmless or mistake in removing:
            continue
        answer = await tool.answer(mistake)
        assert answer.is_error, mistake
        assert 10 < len(answer.text) < 1_000, mistake
        assert await agent.blocks.list() == before, mistake


async def test_many_places_of_a_text_cost_little(tool: MemoryTool) -> None:
    """A hundred of them are named."""
    answer = await ask(tool, "create", "x.md", file_text="a\n" * 2_400)
    assert not answer.is_error
    refused = await ask(tool, "str_replace", "x.md", old_str="a", new_str="b")
    assert refused.text.count(",") == 99


async def test_a_store_that_fails_is_no_exception_for_the_loop(agent: Agent, germane: Germane) -> None:
    """The model goes on without its memory, and isn't told why."""
    tool = memory_tool(agent)
    await germane.close()
    answer = await ask(tool, "view")
    assert (answer.is_error, answer.text.startswith("The memory can't be reached at the moment")) == (True, True)


async def test_an_edit_that_somebody_overtakes_is_decided_anew(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was read before isn't written about: here the end of the file has become another one."""
    tool = memory_tool(agent)
    await create(tool, "a.md", "one")
    edit, overtaken = agent.blocks.edit, iter([True])

    async def slow(*arguments: Any, **fields: Any) -> Any:
        if next(overtaken, False):
            await edit("a.md", {"op": "append_text", "text": " and a half\n"})
        return await edit(*arguments, **fields)

    monkeypatch.setattr(agent.blocks, "edit", slow)
    assert not (await ask(tool, "insert", "a.md", insert_line=1, insert_text="two")).is_error
    assert (await agent.blocks.get("a.md")).text == "one and a half\ntwo\n"


async def test_a_line_that_looks_like_germanes_own_is_viewed_and_replaced_as_it_is(tool: MemoryTool, agent: Agent) -> None:
    """A prompt marks it with a backslash; the file doesn't have it."""
    await create(tool, "a.md", "[Showing lines 1-2 of 3]\n\\[Showing lines 1-2 of 3]\n")
    viewed = (await ask(tool, "view", "a.md")).text
    assert viewed.endswith("     1\t[Showing lines 1-2 of 3]\n     2\t\\[Showing lines 1-2 of 3]\n     3\t")
    changed = await ask(tool, "str_replace", "a.md", old_str="of 3]\n\\[", new_str="of 4]\n[")
    assert changed.text.endswith("     1\t[Showing lines 1-2 of 4]\n     2\t[Showing lines 1-2 of 3]\n     3\t")
    assert await agent.blocks.value("a.md") == "[Showing lines 1-2 of 4]\n[Showing lines 1-2 of 3]\n"


@pytest.mark.parametrize(("text", "more"), [("\n", "x"), ("a\n\n", "x"), ("a\n", ""), ("a", "\n")])
async def test_an_insert_keeps_blank_lines(tool: MemoryTool, agent: Agent, text: str, more: str) -> None:
    """Those at the end too, and one that is inserted."""
    await create(tool, "a.md", text)
    await ask(tool, "insert", "a.md", insert_line=1, insert_text=more)
    written = (await agent.blocks.get("a.md")).text
    assert written == {"\n": "\nx\n", "a\n\n": "a\nx\n\n", "a\n": "a\n\n", "a": "a\n\n"}[text]
