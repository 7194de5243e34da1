"""`germane task`: the stack of a session from a shell."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from germane.cli import main

Run = Callable[..., str]
COMMANDS = (*("push", "pop", "block", "resume", "show", "path", "list", "branch", "checkpoint", "switch", "inject", "abandon"),)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run `germane task` in an empty folder; `expect` is the exit code. Returns stdout, or stderr of a failure."""
    monkeypatch.chdir(tmp_path)
    for name in ("GERMANE_DB", "GERMANE_EMBEDDER", "GERMANE_SETTINGS"):
        monkeypatch.delenv(name, raising=False)

    def call(*arguments: str, expect: int = 0) -> str:
        assert main(["task", *arguments]) == expect
        said = capsys.readouterr()
        return said.out if not expect else said.err

    return call


@pytest.mark.requirement("TASK-1", "TASK-3")
def test_a_stack_is_kept_from_a_shell(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Push, look, block, resume, branch, inject and pop; in 40 columns too."""
    monkeypatch.setenv("COLUMNS", "40")
    assert run("push", "Ship 2.0").startswith("begun ")
    run("push", "Fix the build")
    assert run("path") == "Ship 2.0\n  Fix the build\n"
    assert run("block", "waits for the key").startswith("blocked ")
    assert run("path") == "Ship 2.0\n"
    run("resume")
    run("checkpoint", "here")
    run("branch", "cache", "Try a cache")
    assert "on branch main" in run("switch", "main")
    assert "below it that are open" in run("pop", "done", expect=2)
    run("switch", "cache")
    run("pop", "twice as fast")
    run("switch", "main")
    assert run("inject", "cache").startswith("complete ")
    assert "merged" in run("branch")
    assert run("pop", "green", "--failed").startswith("failed ")
    shown = run("show")
    assert "Ship 2.0" in shown
    assert all(len(line) <= 40 for line in run("list").splitlines())
    run("pop", "shipped")
    assert "no open task" in run("show")
    assert "no open task" in run("path")


@pytest.mark.requirement("TASK-1")
def test_json_has_the_whole_of_it(run: Run) -> None:
    frame = json.loads(run("push", "Ship", "--json", "--session", "s", "--user", "ada"))
    assert (frame["goal"], frame["session"], frame["user"], frame["status"]) == ("Ship", "s", "ada", "active")
    assert json.loads(run("show", frame["id"], "--json", "--user", "ada"))["id"] == frame["id"]
    assert json.loads(run("path", "--json", "--session", "s", "--user", "ada"))["path"][0]["id"] == frame["id"]
    assert json.loads(run("list", "--json"))["tasks"] == []
    assert json.loads(run("branch", "--json", "--session", "s", "--user", "ada"))["branches"][0]["name"] == "main"


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_every_command_has_help(run: Run, command: str) -> None:
    assert "Usage" in run(*filter(None, (command, "--help")))


def test_what_is_wrong_is_one_line(run: Run) -> None:
    run("push", "Ship")
    for arguments in (("pop", " "), ("show", "nothing"), ("switch", "nowhere"), ("list", "--status", "late")):
        said = run(*arguments, expect=2 if arguments[0] in ("pop", "list") else 1)
        assert said.count("\n") == 1
