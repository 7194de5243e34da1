"""The command's edges: options anywhere, one-line errors, exit codes, no traceback whatever happens."""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path

import pytest

from germane.cli import main
from germane.cli.app import hoist
from germane.cli.screen import Exit, describe_exit
from germane.errors import Conflict, EmbedderError, InvalidInput, NotFound, StoreCorrupt, StoreTooNew, StoreUnavailable


def test_shared_options_may_stand_after_the_command() -> None:
    """They are moved to the front with their values."""
    assert hoist(["search", "x", "--db", "a.db", "--json", "--user=b"]) == ["--db", "a.db", "--json", "--user=b", "search", "x"]


def test_what_follows_a_bare_double_dash_is_text() -> None:
    """`remember -- --json` remembers the text --json."""
    assert hoist(["remember", "--", "--json", "--db"]) == ["remember", "--", "--json", "--db"]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InvalidInput("a"), Exit.USAGE),
        (Conflict("a"), Exit.USAGE),
        (NotFound("a"), Exit.FAILED),
        (EmbedderError("a"), Exit.FAILED),
        (StoreUnavailable("a"), Exit.STORE),
        (StoreCorrupt("a"), Exit.STORE),
        (StoreTooNew("a"), Exit.STORE),
        (KeyboardInterrupt(), Exit.INTERRUPTED),
        (BrokenPipeError(), Exit.PIPE),
        (MemoryError(), Exit.FAILED),
        (OSError(errno.ENOSPC, "full", "x.db"), Exit.FAILED),
        (ZeroDivisionError("a\nb"), Exit.FAILED),
    ],
)
def test_every_error_has_an_exit_code_and_at_most_one_line(error: BaseException, code: Exit) -> None:
    """The sentence is for people, the exit code for programs."""
    found, line = describe_exit(error)
    assert found == code
    assert "\n" not in line


def test_a_fault_of_germanes_own_names_its_place_and_no_content() -> None:
    """What is remembered doesn't leak into bug reports."""
    try:
        raise KeyError("secret")
    except KeyError as error:
        _, line = describe_exit(error)
    assert "test_command_line.py" in line
    assert "secret" not in line


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--nope"], 2, "--nope"),
        (["fly"], 2, "fly"),
        (["search"], 2, "QUERY"),
        (["search", "x", "--db", "none.db"], 3, "none.db"),
        (["search", "x", "--limit", "0", "--db", "none.db"], 2, "--limit"),
        (["search", "x", "--since", "soon", "--db", "none.db"], 2, "soon"),
        (["search", "x", "--kind", "tune", "--db", "none.db"], 2, "tune"),
        (["search", "x", "--db", "."], 3, "directory"),
        (["doctor", "--db", "none.db"], 3, "none.db"),
        (["remember", "x", "--db", "no/such/dir.db"], 3, "no/such"),
        (["remember", "--db", "none.db"], 2, "nothing to remember"),
        (["import", "none.jsonl"], 2, "none.jsonl"),
        (["import", "."], 2, "directory"),
        (["import", "x", "--format", "pdf"], 2, "pdf"),
        (["forget", "--db", "none.db"], 2, "nothing named"),
        (["explain", "--trace", "none.json"], 2, "none.json"),
        (["explain", "--trace", "a", "--query", "b"], 2, "--trace"),
        (["demo", "none.json"], 2, "none.json"),
    ],
)
def test_bad_usage_is_one_line_on_stderr(
    arguments: list[str],
    code: int,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`germane: <what> (<what to do>)`, an exit code, nothing on stdout, no traceback, no file left behind."""
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("germane: ")
    assert err.count("\n") == 1
    assert said in err
    assert not list(tmp_path.iterdir())


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Without typer or rich the command says how to get them."""
    monkeypatch.delitem(sys.modules, "germane.cli.app", raising=False)
    monkeypatch.setitem(sys.modules, "typer", None)
    assert main(["--help"]) == 1
    assert "germane[cli]" in capsys.readouterr().err


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """`germane --version`."""
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("germane ")


def test_help_loads_no_commands_work() -> None:
    """A fast start: the modules that do a command's work are imported when it runs."""
    script = "import sys, germane.cli as cli; cli.main(['--help']); print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = done.stdout.splitlines()[-1]
    assert "germane.cli.app" in loaded
    lazy = (
        "demo_tour",
        "demo_conversation",
        "demo_screen",
        "explanation_table",
        "enriched_messages",
        "evaluation",
    )
    assert not [name for name in lazy if f"germane.cli.{name}" in loaded]
    assert not [name for name in ("'germane_eval", "'numpy'") if name in loaded]
