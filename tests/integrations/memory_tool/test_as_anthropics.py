"""The commands answer as Anthropic's own tool for local files does: both get the same commands, and say the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from anthropic.lib.tools import ToolError
from anthropic.lib.tools._beta_builtin_memory_tool import BetaLocalFilesystemMemoryTool
from hypothesis import given
from hypothesis import strategies as st

from germane.integrations.memory_tool.tool import memory_tool
from germane.sync import Germane
from support.examples import examples

NAMES = ("a", "b.md", ".hidden", "notes", "system", "päth")
TEXTS = ("", "\n", "one", "one\ntwo\n", "two", "one two", "\n\n", "drei\nvier", "x\ny\nz\nx\ny\nz\nw", "y\nz")
paths = st.lists(st.sampled_from(NAMES), max_size=3).map(lambda names: "/".join(("/memories", *names)))
texts = st.sampled_from(TEXTS)
commands = st.one_of(
    st.fixed_dictionaries({"command": st.just("view"), "path": paths}),
    st.fixed_dictionaries(
        {"command": st.just("view"), "path": paths, "view_range": st.sampled_from(([1, 1], [1, -1], [1, 3]))}
    ),
    st.fixed_dictionaries({"command": st.just("create"), "path": paths, "file_text": texts}),
    st.fixed_dictionaries({"command": st.just("create"), "path": paths, "file_text": texts}),
    st.fixed_dictionaries({"command": st.just("str_replace"), "path": paths, "old_str": texts.filter(bool), "new_str": texts}),
    st.fixed_dictionaries(
        {"command": st.just("insert"), "path": paths, "insert_line": st.integers(-1, 4), "insert_text": texts}
    ),
    st.fixed_dictionaries({"command": st.just("delete"), "path": paths}),
    st.fixed_dictionaries({"command": st.just("rename"), "old_path": paths, "new_path": paths}),
)
SIZE = re.compile(r"^[\d.]+[BKMG]\t(/memories/.*/)$")


@pytest.fixture(scope="module")
def blocking() -> Iterator[Germane]:
    with Germane.open(":memory:", embedder=None) as germane:
        yield germane


@pytest.mark.requirement("BLK-8")
@examples(100)
@given(given_commands=st.lists(commands, min_size=1, max_size=25))
def test_it_says_what_anthropics_tool_says(blocking: Germane, given_commands: list[dict[str, Any]]) -> None:
    """Text by text over random commands; where files have other errors than the tool's own, both refuse."""
    with TemporaryDirectory() as folder:
        theirs, ours = BetaLocalFilesystemMemoryTool(folder), memory_tool(blocking.agent(Path(folder).name))
        for command in given_commands:
            if _loses_a_line(theirs.memory_root.parent, command):
                continue
            said, expected = ours.answer(command), _theirs(theirs, command)
            _without_empty_folders(theirs.memory_root)
            assert said.is_error == (expected is None or expected[1]), (command, said, expected)
            if expected is not None:
                assert _sizeless(said.text) == _sizeless(expected[0])


def _theirs(tool: BetaLocalFilesystemMemoryTool, command: dict[str, Any]) -> tuple[str, bool] | None:
    """The answer and whether it is an error; None where the operating system has refused it."""
    try:
        return str(tool.call(command)), False
    except ToolError as error:
        return str(error), True
    except OSError:
        return None


def _loses_a_line(root: Path, command: dict[str, Any]) -> bool:
    """An insert at which Anthropic's tool drops the blank line at the end of a file; germane's keeps it."""
    if command["command"] != "insert":
        return False
    path = root / command["path"].lstrip("/")
    text = path.read_text("utf-8") if path.is_file() else ""
    return text == "\n" or text.endswith("\n\n") or not command["insert_text"].strip("\n")


def _without_empty_folders(root: Path) -> None:
    """Blocks have no empty folders."""
    for folder in sorted((path for path in root.rglob("*") if path.is_dir()), reverse=True):
        if not any(folder.iterdir()):
            folder.rmdir()


def _sizeless(text: str) -> str:
    """A directory has a size of its own in a file system."""
    if not text.startswith("Here're the files"):
        return text
    header, own, *entries = text.split("\n")
    return "\n".join((header, own.split("\t")[1], *(SIZE.sub(r"\1", line) for line in entries)))
