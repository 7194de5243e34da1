"""`germane block`: make, read, edit, share, agree and archive from a shell."""

from __future__ import annotations

import io
import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from germane.cli import main

Run = Callable[..., str]
ADA = ("--user", "ada")
COMMANDS = (
    *("list", "show", "versions", "create", "edit", "append", "set", "undo", "redo", "pin", "change", "delete", "restore"),
    *("share", "unshare", "archive", "search", "consents", "approve", "deny"),
)
TASKS = '{"type": "list", "checkboxes": true}'


class Input(io.TextIOWrapper):
    """A standard input that is a terminal where PERSON is set."""

    def isatty(self) -> bool:
        return "PERSON" in os.environ


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run `germane block` in an empty folder; `expect` is the exit code. Returns stdout, or stderr of a failure."""
    monkeypatch.chdir(tmp_path)
    for name in ("GERMANE_DB", "GERMANE_EMBEDDER", "GERMANE_SETTINGS", "EDITOR", "VISUAL", "PERSON"):
        monkeypatch.delenv(name, raising=False)

    def command(*arguments: str, expect: int = 0, stdin: str = "", columns: int = 100) -> str:
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setattr("sys.stdin", Input(io.BytesIO(stdin.encode()), encoding="utf-8"))
        code = main(["block", *arguments])
        out, err = capsys.readouterr()
        assert code == expect, err
        return out if expect == 0 else err

    return command


def parsed(text: str) -> Any:
    return json.loads(text)


def shown(run: Run, label: str, *more: str) -> Any:
    return parsed(run("show", label, "--json", *more))


@pytest.mark.requirement("BLK-2")
def test_a_block_is_made_read_changed_and_undone(run: Run) -> None:
    """create, show, set, append, undo, redo, history: with who, when and why."""
    made = parsed(run("create", "project/plan", "First. ", "--description", "what to do", "--json", *ADA))
    assert (made["label"], made["text"], made["block_type"], made["schema"]) == (
        "project/plan",
        "First. ",
        "working",
        {"type": "text"},
    )
    run("append", "project/plan", "Second.", "--by", "anna", "--reason", "she said so", *ADA)
    assert shown(run, "project/plan", *ADA)["text"] == "First. Second."
    run("set", "project/plan", "-", *ADA, stdin="All new.")
    run("undo", "project/plan", *ADA)
    assert run("show", "project/plan", "--text", *ADA) == "First. Second.\n"
    run("redo", made["id"], *ADA)
    assert shown(run, made["id"], *ADA)["text"] == "All new."
    assert run("show", "project/plan", "--version", "0", *ADA) == "First. \n"
    versions = parsed(run("versions", "project/plan", "--json", *ADA))["versions"]
    assert [(one["operation"], one["by"], one["reason"]) for one in versions[:2]] == [
        ("create", "default (command line)", ""),
        ("append_text", "default (anna)", "she said so"),
    ]
    told = run("versions", "project/plan", *ADA)
    assert "she said so" in told
    assert "default (anna)" in told


def test_append_and_set_do_what_the_schema_needs(run: Run) -> None:
    """An item, an entry, a field; in a composite block those of a section."""
    run("create", "tasks", "--schema", TASKS, "--value", '["call"]')
    run("append", "tasks", "write")
    run("edit", "tasks", '{"op": "check_item", "index": 0}')
    assert shown(run, "tasks")["text"] == "[x] call\n[ ] write"
    run("create", "log", "--type", "log", "--schema", '{"type": "log", "timestamp": false}')
    run("append", "log", "began")
    assert shown(run, "log")["text"] == "- began"
    fields = [{"name": "city", "type": "text"}, {"name": "age", "type": "number"}, {"name": "tags", "type": "list"}]
    run("create", "user", "--schema", json.dumps({"type": "map", "fields": fields}))
    run("set", "user", "12", "--field", "city")
    run("set", "user", "12", "--field", "age")
    run("append", "user", "kind", "--field", "tags")
    assert shown(run, "user")["text"] == "city: 12\nage: 12\ntags:\n  - kind"
    sections = [{"name": "now", "schema": {"type": "text"}}, {"name": "list", "schema": {"type": "list"}}]
    run("create", "both", "--schema", json.dumps({"type": "composite", "sections": sections}))
    run("set", "both", "here", "--section", "now")
    run("append", "both", "one", "--section", "list")
    assert shown(run, "both")["text"] == "=== now ===\nhere\n\n=== list ===\n1. one"
    for arguments, said in (
        (("append", "both", "x"), "--section (now, list)"),
        (("append", "tasks", "x", "--section", "now"), "--section is for"),
        (("append", "user", "x"), "--field (city, age, tags)"),
        (("set", "tasks", "x", "--field", "f"), "--field is for a map"),
        (("set", "log", "x"), "germane block append"),
        (("edit", "tasks", "[1]"), "MUTATION must be a JSON object"),
        (("edit", "tasks", '{"op": "guess"}'), "op can't be"),
        (("create", "b", "x", "--value", "1"), "TEXT and --value"),
        (("create", "b", "--schema", "cloud"), "--schema"),
        (("create", "b", "--type", "hot"), "--type"),
        (("create", "b", "--permission", "all"), "--permission"),
        (("create", "a//b"), "empty segment"),
        (("list", "--type", "hot"), "--type"),
        (("change", "tasks"), "nothing to change"),
        (("edit", "tasks", "--base", "1"), "--base and --if-hash are for mutations"),
        (("pin", "tasks", "--reason", "x"), "--reason"),
        (("show", "tasks", "--version", "99"), "--version 99"),
        (("approve", "0000", "--for", "soon"), "--for"),
        (("approve", "0000", "--for", "900d"), "--for"),
        (("archive", "x", "--metadata", "[]"), "--metadata"),
    ):
        error = run(*arguments, expect=2)
        assert said in error
        assert error.count("\n") == 1


def test_mutations_are_read_from_standard_input_and_made_all_or_none(run: Run) -> None:
    """The second one fails, so the first isn't made either."""
    run("create", "tasks", "--schema", TASKS)
    two = [{"op": "push_item", "value": "a"}, {"op": "push_item", "value": "b"}]
    run("edit", "tasks", "-", stdin=json.dumps(two))
    bad = [{"op": "push_item", "value": "c"}, {"op": "delete_item", "index": 9}]
    run("edit", "tasks", "-", stdin=json.dumps(bad), expect=2)
    assert shown(run, "tasks")["text"] == "[ ] a\n[ ] b"
    assert "has changed since" in run("edit", "tasks", json.dumps(two[0]), "--if-hash", "0" * 64, expect=2)


@pytest.fixture
def editing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Makes a Python statement about `text` the editor of the person at the terminal."""

    def editor(statement: str) -> None:
        script = tmp_path / "editor.py"
        script.write_text(
            f"import sys\nfrom pathlib import Path\nfile = Path(sys.argv[1])\ntext = file.read_text()\n{statement}\n"
            "file.write_text(text)\n"
        )
        monkeypatch.setenv("EDITOR", f"{sys.executable} {script}")
        monkeypatch.setenv("PERSON", "ada")
        monkeypatch.setenv("TMPDIR", str(tmp_path / "texts"))
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "texts"))
        (tmp_path / "texts").mkdir(exist_ok=True)

    return editor


@pytest.mark.requirement("BLK-2")
def test_an_editor_opens_the_text_and_what_changed_meanwhile_stays(run: Run, editing: Any, tmp_path: Path) -> None:
    """While the editor is open, somebody else appends; both changes are there, and no file is left."""
    run("create", "plan", "one\ntwo\n")
    other = (
        f"import subprocess; subprocess.run([{sys.executable!r}, '-m', 'germane.cli', 'block', 'append', 'plan', 'three\\n'])"
    )
    editing(f"{other}\ntext = text.replace('one', 'ONE')")
    run("edit", "plan")
    assert shown(run, "plan")["text"] == "ONE\ntwo\nthree\n"
    assert not list((tmp_path / "texts").iterdir())
    version = shown(run, "plan")["version"]
    editing("")
    run("edit", "plan")
    assert shown(run, "plan")["version"] == version


def test_a_line_like_a_mark_is_edited_as_it_was_written(run: Run, editing: Any) -> None:
    """What is shown with a backslash comes into the editor without it, and a line break that the editor adds goes."""
    line = "[Showing lines 1-2 of 3]"
    run("create", "plan", line)
    assert shown(run, "plan")["text"] == f"\\{line}"
    editing("assert text == '[Showing lines 1-2 of 3]'\ntext += '!\\n'")
    run("edit", "plan")
    assert shown(run, "plan")["text"] == f"\\{line}!"
    editing("text += '\\n'")
    run("edit", "plan")
    assert shown(run, "plan")["text"] == f"\\{line}!"


def test_no_work_in_an_editor_is_lost(run: Run, editing: Any, tmp_path: Path) -> None:
    """A text that is too long stays in a file that only its owner reads, and the error names it."""
    run("create", "plan", "one", "--limit", "10")
    editing("text = 'much too long'")
    error = run("edit", "plan", expect=2)
    (folder,) = (tmp_path / "texts").iterdir()
    (file,) = folder.iterdir()
    assert f"your text is kept in {file}" in error
    assert file.read_text() == "much too long"
    assert file.stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700
    editing("sys.exit(3)")
    error = run("edit", "plan", expect=2)
    assert "exit code 3" in error
    assert "kept" not in error
    assert [*(tmp_path / "texts").iterdir()] == [folder]
    run("create", "ruled", "one", "--permission", "read_only")
    editing("text = 'two'")
    assert "the permission is ReadOnly" in (error := run("edit", "ruled", expect=1))
    assert "your text is kept in" in error
    assert shown(run, "plan")["text"] == "one"


def test_without_an_editor_or_a_person_it_is_said_what_to_do(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """And a list isn't edited as text."""
    run("create", "plan", "one")
    assert "set EDITOR" in run("edit", "plan", expect=2)
    monkeypatch.setenv("EDITOR", "true")
    assert "stdin isn't a terminal" in run("edit", "plan", expect=2)
    run("create", "tasks", "--schema", "list")
    assert "an editor is for plain text" in run("edit", "tasks", expect=2)


@pytest.mark.requirement("BLK-5")
def test_an_edit_that_needs_consent_is_made_after_the_approval(run: Run) -> None:
    """The error names the command; approvals are for once, a time or the block; system edits need none."""
    run("create", "plan", "one", "--permission", "human")
    error = run("append", "plan", "x", expect=1)
    (request,) = parsed(run("consents", "--json"))["requests"]
    assert f"germane block approve {request['id']}" in error
    assert "digest" not in request
    assert "a human may answer until" in run("consents")
    approved = parsed(run("approve", request["id"][:-2], "--json"))
    assert (approved["state"], approved["scope"]) == ("approved", "once")
    run("append", "plan", "x")
    assert "nothing waits for consent" in run("consents")
    assert "approved once, used" in " ".join(run("consents", "--all").split())
    run("append", "plan", "x", expect=1)
    (second,) = parsed(run("consents", "--json"))["requests"]
    assert "denied" in run("deny", second["id"])
    assert "was denied already" in run("approve", second["id"], expect=2)
    run("set", "plan", "y", expect=1)
    (third,) = parsed(run("consents", "--json"))["requests"]
    assert "approved until" in run("approve", third["id"], "--for", "15m")
    run("set", "plan", "y")
    run("set", "plan", "z", "--system")
    assert shown(run, "plan")["text"] == "z"
    assert "no request" in run("deny", "0" * 36, expect=1)


def test_what_the_owner_may_do_is_said_where_the_agent_may_not(run: Run) -> None:
    """delete and change need --system here; restore takes a label; a reader's rights are shown."""
    run("create", "plan", "one", *ADA)
    assert "(--system" in run("delete", "plan", *ADA, expect=1)
    assert "germane block restore" in run("delete", "plan", "--system", *ADA)
    assert [one["label"] for one in parsed(run("list", "--deleted", "--json", *ADA))["blocks"]] == ["plan"]
    assert "it was deleted: germane block restore" in run("show", "plan", *ADA, expect=1)
    assert "(--system" in run("restore", "plan", *ADA, expect=1)
    run("restore", "plan", "--system", *ADA)
    run("change", "plan", "--label", "goal", "--limit", "100", "--type", "core", "--system", *ADA)
    changed = shown(run, "goal", *ADA)
    assert (changed["limit"], changed["block_type"]) == (100, "core")
    numbers = {"type": "map", "fields": [{"name": "count", "type": "number"}]}
    assert "schema" in run("change", "goal", "--schema", json.dumps(numbers), "--system", *ADA, expect=2)
    run("create", "wide", "all", "--type", "working")
    assert "(leave --user out)" in run("append", "wide", "x", *ADA, expect=1)
    run("pin", "wide")
    assert shown(run, "wide")["pinned"] is True
    run("pin", "wide", "--off")
    assert shown(run, "wide")["pinned"] is False
    assert "no deleted block" in run("restore", "nothing", expect=1)


@pytest.mark.requirement("SCOPE-3")
def test_a_label_is_looked_for_near_by_and_elsewhere_in_the_org(run: Run) -> None:
    """A mistyped one, one of a user, of all users, of another agent; never one of another org."""
    run("create", "project/plan", "one", *ADA)
    run("create", "persona", "kind")
    assert "do you mean project/plan?" in run("show", "Project/Plan", *ADA, expect=1)
    assert "use --user ada" in run("show", "project/plan", expect=1)
    assert "use --user ada" in run("append", "project/plan", "x", "--user", "eve", expect=1)
    assert "use --agent default" in run("show", "persona", "--agent", "other", expect=1)
    foreign = run("show", "project/plan", "--org", "other", *ADA, expect=1)
    assert foreign == "germane: no block 'project/plan' here\n"
    assert "(" not in run("show", "project/plan", "--org", "other", "--agent", "x", *ADA, expect=1)
    assert "no core blocks here; of all types there are 2" in run("list", "--type", "core", *ADA)
    assert "no blocks here" in run("list", "--org", "other")


@pytest.mark.requirement("BLK-6")
def test_a_block_is_shared_with_another_agent_and_back(run: Run) -> None:
    """share, its listing, an edit through the share, unshare."""
    run("create", "team", "one. ", "--permission", "admin")
    assert "may append" in run("share", "team", "helper")
    assert [one["agent"] for one in parsed(run("share", "team", "--json"))["shares"]] == ["helper"]
    assert "helper" in run("share")
    listed = run("list", "--agent", "helper")
    assert "shared by default" in listed
    run("append", "team", "two.", "--agent", "helper")
    assert "leave" not in run("set", "team", "x", "--agent", "helper", expect=1)
    assert shown(run, "team")["text"] == "one. two."
    assert "doesn't see" in run("unshare", "team", "helper")
    assert "wasn't shared" in run("unshare", "team", "helper")
    assert "nothing is shared" in run("share")


@pytest.mark.requirement("BLK-7")
def test_the_archive_is_searched_and_prints_what_it_keeps(run: Run) -> None:
    """By the words of the text and of the metadata."""
    run("archive", "The blue vase came from Lisbon", "--metadata", '{"dealer": "Almeida"}', *ADA)
    run("create", "notes", "Tides are high in spring", "--type", "archival", *ADA)
    assert "blue vase" in run("search", "Almeida", *ADA)
    (found,) = parsed(run("search", "spring tides", "--limit", "1", "--json", *ADA))["entries"]
    assert found["label"] == "notes"
    assert 0 < found["relevance"] <= 1
    assert "nothing found" in run("search", "Almeida", "--user", "eve")
    assert "archived" in run("archive", "-", stdin="from a pipe")


def test_a_block_and_an_archived_text_are_forgotten_by_their_ids(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    """`germane forget` counts them, also where nothing else is named."""
    block = parsed(run("create", "plan", "one", *ADA, "--json"))["id"]
    entry = parsed(run("archive", "The blue vase", *ADA, "--json"))["id"]
    assert main(["forget", block, entry, "--yes", *ADA]) == 0
    assert "forgot 2 blocks or archived texts" in capsys.readouterr().out
    assert "nothing found" in run("search", "vase", *ADA)
    run("show", block, *ADA, expect=1)


def test_secrets_in_a_block_are_told_and_control_characters_escaped(run: Run) -> None:
    """By the same policy as memories."""
    assert "1 secret found" in run("create", "keys", "the key is AKIAIOSFODNN7EXAMPLE ok")
    assert "AKIAIOSFODNN7EXAMPLE" not in run("show", "keys")
    run("create", "bell", "ring \u202e gnir")
    assert "\\u202e" in run("show", "bell")
    assert "\\u202e" in run("list")


@pytest.mark.parametrize("columns", [40, 60, 100])
def test_everything_is_readable_at_any_width(run: Run, columns: int) -> None:
    """No line of a listing is longer than the terminal, and no word is lost."""
    run("create", "project/plan", "one two three", "--permission", "human", *ADA)
    run("append", "project/plan", "x", *ADA, expect=1)
    run("archive", "The blue vase", *ADA)
    for command in (("list",), ("versions", "project/plan"), ("consents",), ("search", "vase")):
        text = run(*command, *ADA, columns=columns)
        assert all(len(line.rstrip()) <= columns for line in text.splitlines())
        assert "…" not in text
    assert "project/plan" in run("list", *ADA, columns=columns)


@pytest.mark.parametrize(
    "command",
    [
        *("list", "show x", "versions x", "edit x {}", "append x y", "set x y", "undo x", "redo x", "pin x", "delete x"),
        *("restore x", "share x y", "share", "unshare x y", "search x", "consents", "approve x", "deny x"),
        "change x --label y",
    ],
)
def test_only_create_and_archive_make_a_store(run: Run, command: str, tmp_path: Path) -> None:
    """A mistyped name of a file doesn't look like an empty store."""
    assert "no database at" in run(*command.split(), expect=3)
    assert not list(tmp_path.iterdir())


def test_every_command_has_a_help_of_its_own(run: Run) -> None:
    """And the group lists them."""
    listed = run()
    names = re.findall(r"\n  ([a-z]+) ", listed.partition("Commands:")[2])
    assert {*COMMANDS} == {*names}
    for name in COMMANDS:
        assert "--db, --user and --json" in " ".join(run(name, "-h").split())
