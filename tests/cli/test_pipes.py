"""Pipes: what a pipe brings is imported like a file, and a command that waits for one says so."""

from __future__ import annotations

import json
import os
from pathlib import Path
from threading import Thread

import pytest

from germane.cli import files, main
from germane.cli.imports.load import load
from germane.errors import InvalidInput

pytestmark = pytest.mark.requirement("CLI-1")
LINES = b"".join(json.dumps({"role": "user", "content": f"line {number}"}).encode() + b"\n" for number in range(9_000))
"""More than a pipe holds."""


@pytest.fixture
def pipe(tmp_path: Path) -> str:
    os.mkfifo(made := tmp_path / "talk.jsonl")
    return str(made)


def _writing(pipe: str, data: bytes) -> Thread:
    thread = Thread(target=Path(pipe).write_bytes, args=(data,))
    thread.start()
    return thread


def test_a_pipe_is_read_while_it_is_written(pipe: str) -> None:
    """As a file of its name."""
    thread = _writing(pipe, LINES)
    found = load(pipe)
    thread.join()
    assert isinstance(found, tuple)
    rows = list(found[1])
    assert (found[0], len(rows)) == ("jsonl", 9_000)
    assert {row.session for row in rows} == {"talk"}  # type: ignore[union-attr]


def test_a_command_that_waits_for_a_pipe_says_so(
    pipe: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Until somebody writes into it, who begins only then here."""
    writers, say = list[Thread](), files._say

    def said(text: str) -> None:
        say(text)
        writers.append(_writing(pipe, LINES[:1_000].rsplit(b"\n", 1)[0]))

    monkeypatch.setattr(files, "_say", said)
    monkeypatch.setattr(files, "_PATIENCE", 0.0)
    assert main(["--db", str(tmp_path / "a.db"), "import", pipe]) == 0
    writers[0].join()
    out, err = capsys.readouterr()
    assert "waiting for data from the pipe" in err
    assert "messages" in out


def test_a_pipe_that_is_closed_without_a_word_is_empty(pipe: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same as an empty file."""
    monkeypatch.setattr(files, "_PATIENCE", 0.0)
    monkeypatch.setattr(files, "_say", lambda _: _writing(pipe, b"").join())
    with pytest.raises(InvalidInput, match="empty"):
        files.read_text(pipe)


def test_what_a_shell_gives_for_a_command_has_no_name() -> None:
    """`<(cat talk.jsonl)` is a number, and its messages go where those of standard input do."""
    reading, writing = os.pipe()
    os.write(writing, LINES[:1_000].rsplit(b"\n", 1)[0])
    os.close(writing)
    found = load(f"/dev/fd/{reading}")
    os.close(reading)
    assert isinstance(found, tuple)
    assert {row.session for row in found[1]} == {"import"}  # type: ignore[union-attr]


def test_a_pipe_in_a_folder_is_left_out(pipe: str) -> None:
    """Nobody may ever write into it."""
    folder = Path(pipe).parent
    (folder / "AGENTS.md").write_text("# Tests\n\nRun make test.\n")
    found = load(str(folder))
    assert isinstance(found, tuple)
    assert len(list(found[1])) == 1
