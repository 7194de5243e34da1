"""`germane export` and `germane import` end to end: whole stores, other scopes, cut files, archives."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from germane.cli import main
from germane.transfer.lines import VERSION
from support.product_exports import chat, zipped

TALK = '[{"role": "user", "content": "hello", "id": "m1"}, {"role": "assistant", "content": "hi"}]'


class Run:
    """Runs commands in a folder of the test."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str, expect: int = 0) -> str:
        code = main(list(arguments))
        out, err = self._capsys.readouterr()
        assert code == expect, err
        return " ".join((out if expect == 0 else err).split())


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    Path("talk.json").write_text(TALK)
    return Run(capsys)


def tally(text: str) -> dict[str, Any]:
    (found,) = json.loads(text)["files"]
    return dict(found)


@pytest.mark.requirement("CLI-2", "MEM-3")
def test_a_whole_store_is_moved_byte_for_byte(run: Run) -> None:
    """Every org, agent and user; each part of it can be exported alone."""
    run("import", "talk.json", "--org", "acme", "--agent", "support", "--user", "ada")
    run("remember", "Likes tea", "--user", "ben")
    run("directive", "Be kind", "--org", "acme", "--agent", "support")
    run("export", "all.jsonl", "--everything")
    done = tally(run("import", "all.jsonl", "--db", "copy.db", "--json"))
    assert (done["format"], done["messages"], done["memories"], done["directives"]) == ("germane", 2, 1, 1)
    run("export", "again.jsonl", "--everything", "--db", "copy.db")
    assert Path("all.jsonl").read_bytes() == Path("again.jsonl").read_bytes()
    assert tally(run("import", "all.jsonl", "--db", "copy.db", "--json"))["already_there"] == 4
    sizes = {}
    for part in (
        ("--all-agents", "--org", "acme"),
        ("--all-users",),
        ("--all-users", "--org", "acme", "--agent", "support"),
        (),
    ):
        run("export", "part.jsonl", *part)
        sizes[part] = len(Path("part.jsonl").read_text("utf-8").splitlines())
    assert list(sizes.values()) == [5, 2, 5, 1]


@pytest.mark.requirement("CLI-2", "SCOPE-2")
def test_into_another_scope_only_when_said(run: Run) -> None:
    """The refusal says what to do; what isn't named stays as in the export."""
    run("import", "talk.json", "--org", "acme", "--agent", "support", "--user", "ada")
    run("export", "ada.jsonl", "--org", "acme", "--agent", "support", "--user", "ada")
    refused = run("import", "ada.jsonl", "--db", "b.db", "--user", "ben", expect=2)
    assert "the export is of acme/support/ada, not of --user ben" in refused
    assert "--into" in refused
    assert tally(run("import", "ada.jsonl", "--db", "b.db", "--user", "ben", "--into", "--json"))["messages"] == 2
    assert "hello" in run("search", "hello", "--db", "b.db", "--org", "acme", "--agent", "support", "--user", "ben")
    assert "needs the scope" in run("import", "ada.jsonl", "--into", expect=2)
    assert "--into is for" in run("import", "talk.json", "--into", "--user", "ben", expect=2)
    run("export", "all.jsonl", "--everything")
    assert "only that of one agent" in run("import", "all.jsonl", "--db", "c.db", "--user", "ben", "--into", expect=2)
    assert tally(run("import", "ada.jsonl", "--db", "d.db", "--user", "ada", "--json"))["messages"] == 2


@pytest.mark.requirement("CLI-2", "MEM-3")
def test_a_cut_export_is_told_and_completed_by_the_whole(run: Run) -> None:
    """What the cut one held is stored; a line that was cut is no JSON."""
    run("import", "talk.json", "--user", "ada")
    run("remember", "Likes tea", "--user", "ada")
    run("export", "ada.jsonl", "--user", "ada")
    whole = Path("ada.jsonl").read_bytes()
    lines = whole.splitlines(keepends=True)
    Path("cut.jsonl").write_bytes(b"".join(lines[:-1]))
    assert "cut off after 3 of 4 things" in run("import", "cut.jsonl", "--db", "b.db", expect=2)
    Path("cut.jsonl").write_bytes(whole[:-20])
    assert "line 5: it isn't JSON" in run("import", "cut.jsonl", "--db", "b.db", expect=2)
    done = tally(run("import", "ada.jsonl", "--db", "b.db", "--json"))
    assert (done["messages"], done["already_there"]) == (1, 2)


def test_bad_exports_are_refused_in_one_line(run: Run) -> None:
    """A newer version, a line that is too long, conflicts, exclusive options."""
    run("import", "talk.json")
    run("export", "a.jsonl")
    lines = [json.loads(line) for line in Path("a.jsonl").read_text("utf-8").splitlines()]

    def imported(*changed: Any, options: tuple[str, ...] = (), expect: int = 2) -> str:
        Path("b.jsonl").write_text("\n".join(map(json.dumps, changed)))
        return run("import", "b.jsonl", *options, expect=expect)

    newer = VERSION + 1
    assert f"line 1: version of the format is {newer}" in imported(lines[0] | {"version": newer}, *lines[1:])
    other = lines[2] | {"content": "secret words"}
    refused = imported(*lines[:2], other, *lines[3:])
    assert "line 3: its id is stored already, with other content" in refused
    assert "secret" not in refused
    skipped = imported(*lines[:2], other, *lines[3:], options=("--skip-conflicts", "--json"), expect=0)
    assert tally(skipped)["reasons"] == ["line 3: something else is stored in its place"]
    assert "exclude each other" in run("export", "--everything", "--all-users", expect=2)
    assert "--user has no meaning" in run("export", "--all-users", "--user", "ada", expect=2)
    assert "--org has no meaning" in run("export", "--everything", "--org", "acme", expect=2)


def test_a_line_that_is_too_long_ends_the_import(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file without line breaks isn't read into memory."""
    import germane.cli.imports.load as module

    run("import", "talk.json")
    run("export", "a.jsonl")
    monkeypatch.setattr(module.ExportFile.__init__, "__defaults__", (500,))
    with Path("a.jsonl").open("a") as file:
        file.write("x" * 5000)
    assert "line 3 is longer than 500 bytes" in run("import", "a.jsonl", "--db", "b.db", expect=2)


@pytest.mark.requirement("CLI-2")
def test_archives_folders_and_markdown_are_imported(run: Run) -> None:
    """A second time adds nothing; AGENTS.md is instructions, or the directive."""
    Path("chat.zip").write_bytes(
        zipped({"conversations-000.json": [chat("c1", ("user", "hi"), ("assistant", "yo"))]}).getvalue()
    )
    for expected in ((2, 0), (0, 2)):
        done = tally(run("import", "chat.zip", "--json"))
        assert (done["format"], done["messages"], done["already_there"]) == ("chatgpt", *expected)
    Path("bad.zip").write_text("no archive")
    assert "bad.zip: it isn't a zip archive" in run("import", "bad.zip", expect=2)
    Path("AGENTS.md").write_text("# Tests\n\nRun `make test`.\n")
    assert tally(run("import", "AGENTS.md", "--json"))["memories"] == 1
    assert tally(run("import", "AGENTS.md", "--json"))["already_there"] == 1
    assert tally(run("import", "AGENTS.md", "--as", "directive", "--json"))["directives"] == 1
    assert "make test" in run("directive")
    assert "--as must be one of memory, directive, blocks" in run("import", "AGENTS.md", "--as", "poem", expect=2)
    assert "only a Markdown file" in run("import", "talk.json", "--as", "directive", expect=2)


@pytest.mark.requirement("CLI-2")
def test_memories_that_name_their_users_go_to_them(run: Run) -> None:
    """With --user all of them go to that one."""
    Path("mem0.json").write_text(json.dumps([{"id": str(n), "memory": f"Likes {n}", "user_id": f"u{n}"} for n in range(2)]))
    run("import", "mem0.json")
    assert "Likes 1" in run("search", "Likes", "--user", "u1")
    assert "Likes 0" not in run("search", "Likes", "--user", "u1")
    run("import", "mem0.json", "--user", "ada")
    assert "Likes 0" in run("search", "Likes", "--user", "ada")


@pytest.mark.requirement("MEM-3")
@pytest.mark.skipif(os.name != "posix", reason="SIGKILL is POSIX's")
def test_a_killed_import_is_completed_by_the_next(run: Run, tmp_path: Path) -> None:
    """Killed when some of it is on disk; afterwards the store's export is that of the first store."""
    talk = [{"role": "user", "content": f"message number {n} about tea"} for n in range(3000)]
    Path("long.json").write_text(json.dumps(talk))
    run("import", "long.json")
    run("export", "a.jsonl", "--everything")
    child = subprocess.Popen([sys.executable, "-m", "germane.cli", "--db", "b.db", "import", "a.jsonl"], cwd=tmp_path)
    log = tmp_path / "b.db-wal"
    while child.poll() is None and not (log.exists() and log.stat().st_size > 400_000):
        time.sleep(0.005)  # until some of it is written
    child.send_signal(signal.SIGKILL)
    child.wait()
    done = tally(run("import", "a.jsonl", "--db", "b.db", "--json"))
    assert done["already_there"] + done["messages"] == 3000
    run("export", "b.jsonl", "--everything", "--db", "b.db")
    assert Path("a.jsonl").read_bytes() == Path("b.jsonl").read_bytes()
