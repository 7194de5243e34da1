"""Read exchange: the notes of an exchange: files, errors, ids, decisions, tasks, and the outline's line (HIST-5)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from germane.compaction.notes import Artifact, ArtifactKind, ExchangeNotes
from germane.compaction.reading.exchange import read_exchange
from germane.compaction.reading.outline_line import MAX_LINE
from germane.types.message import Message, ToolCall, ToolResult
from support.examples import examples
from support.wild_conversations import conversations

pytestmark = pytest.mark.requirement("HIST-5")


def used(name: str, result: str = "ok", *, error: bool = False, **arguments: Any) -> list[Message]:
    """A call of a tool, and its result."""
    call = ToolCall(id="c", name=name, arguments=json.dumps(arguments))
    answer = ToolResult(call_id="c", text=result, error=error)
    return [Message(role="assistant", parts=(call,)), Message(role="tool", parts=(answer,))]


def found(notes: ExchangeNotes, kind: ArtifactKind) -> dict[str, str]:
    return {each.name: each.change for each in notes.artifacts if each.kind == kind}


@pytest.mark.parametrize(
    ("name", "arguments", "changes"),
    [
        ("write_file", {"path": "./src/a.py", "content": "x"}, {"src/a.py": "created"}),
        ("Write", {"file_path": "src/a.py", "content": "x"}, {"src/a.py": "created"}),
        ("Edit", {"file_path": "src/a.py", "old_string": "x", "new_string": "y"}, {"src/a.py": "edited"}),
        ("mcp__files__edit_file", {"path": "src/a.py"}, {"src/a.py": "edited"}),
        ("str_replace_editor", {"command": "str_replace", "path": "src/a.py"}, {"src/a.py": "edited"}),
        ("str_replace_based_edit_tool", {"command": "create", "path": "a.txt", "file_text": "x"}, {"a.txt": "created"}),
        ("str_replace_based_edit_tool", {"command": "view", "path": "a.txt"}, {"a.txt": "read"}),
        ("read_many_files", {"paths": ["a.py", "b.py"]}, {"a.py": "read", "b.py": "read"}),
        ("delete_file", {"target_file": "a.py"}, {"a.py": "deleted"}),
        ("move_file", {"source": "a.py", "destination": "b.py"}, {"a.py": "renamed to b.py"}),
        ("bash", {"command": "cd src && rm -rf 'old one.txt' b.py"}, {"old one.txt": "deleted", "b.py": "deleted"}),
        ("bash", {"command": "sudo git mv a.py lib/; git rm c.py"}, {"a.py": "renamed to lib/a.py", "c.py": "deleted"}),
        ("run_command", {"command": "sed -i s/a/b/ x.cfg | tee -a log.txt"}, {"x.cfg": "edited", "log.txt": "edited"}),
        (
            "shell",
            {"command": ["bash", "-lc", "cat > n.md <<'EOF'\nrm x.py\nEOF\ntouch m.md"]},
            {"n.md": "created", "m.md": "created"},
        ),
        ("bash", {"command": "pytest -q 2>&1 > /dev/null"}, {}),
        (
            "apply_patch",
            {
                "input": "*** Begin Patch\n*** Add File: a.py\n+x\n*** Update File: b.py\n*** Move to: c.py\n@@\n"
                "*** Delete File: d.py\n*** End Patch"
            },
            {"a.py": "created", "b.py": "renamed to c.py", "d.py": "deleted"},
        ),
        (
            "apply_patch",
            {"patch": "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n--- /dev/null\n+++ b/y.py\n--- a/z.py\n+++ /dev/null\n"},
            {"x.py": "edited", "y.py": "created", "z.py": "deleted"},
        ),
    ],
)
def test_a_tool_says_what_it_did_to_files(name: str, arguments: dict[str, Any], changes: dict[str, str]) -> None:
    """Editors, shells, patches, and servers' tools with prefixes."""
    assert found(read_exchange(used(name, **arguments)), "file") == changes


def test_what_failed_changed_nothing() -> None:
    """The file stays as it was; the error is noted."""
    notes = read_exchange(used("write_file", "PermissionError: [Errno 13] a.py", error=True, path="a.py", content=""))
    assert found(notes, "file") == {}
    assert found(notes, "error") == {"PermissionError: [Errno 13] a.py": ""}


def test_writing_a_known_file_edits_it() -> None:
    """As its result says, or as it was there before."""
    assert found(read_exchange(used("write_file", "File updated.", path="a.py", content="")), "file") == {"a.py": "edited"}
    notes = read_exchange([*used("read_file", path="a.py"), *used("write_file", path="a.py", content="")])
    assert found(notes, "file") == {"a.py": "edited"}


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("I created src/a.py and src/b.py, as asked.", {"src/a.py": "created", "src/b.py": "created"}),
        ("`src/a.py` was deleted.", {"src/a.py": "deleted"}),
        ("I renamed a.py to b.py.", {"a.py": "renamed to b.py", "b.py": ""}),
        ("Ich habe a.py in b.py umbenannt.", {"a.py": "renamed to b.py", "b.py": ""}),
        ("J'ai supprimé a.py.", {"a.py": "deleted"}),
        ("He modificado a.py.", {"a.py": "edited"}),
        ("Ho creato a.py.", {"a.py": "created"}),
        ("O a.py foi removido.", {"a.py": "deleted"}),
        ("Файл a.py удалён.", {"a.py": "deleted"}),
        ("a.py isn't deleted, and b.py should be removed.", {"a.py": "", "b.py": ""}),
        ("Version 1.2.3 of example.com, at 10.5 and e.g. more.", {}),
    ],
)
def test_a_text_says_what_became_of_files(text: str, changes: dict[str, str]) -> None:
    """In the words of the assistant, in seven languages."""
    assert found(read_exchange([Message.of("assistant", text)]), "file") == changes


def test_an_error_is_resolved_by_the_success_of_its_command() -> None:
    """The edit before it is named."""
    failed = "Traceback (most recent call last):\n  File \"a.py\", line 3, in f\nKeyError: 'x'"
    notes = read_exchange(
        [
            *used("bash", failed, command="pytest -q"),
            *used("Edit", file_path="a.py"),
            *used("bash", "2 passed", command="pytest -q"),
        ]
    )
    assert found(notes, "error") == {"KeyError: 'x' (`pytest -q`)": "resolved by a.py (edited); `pytest -q` succeeds"}
    assert [each.of for each in notes.resolutions] == ["pytest -q"]


def test_an_error_is_resolved_in_words() -> None:
    """By its type, or as the newest."""
    failed = used("bash", "ValueError: no\n1 failed", command="make")
    named = read_exchange([*failed, Message.of("assistant", "I fixed the ValueError by reading the file first.")])
    assert list(found(named, "error").values()) == ["resolved: I fixed the ValueError by reading the file first."]
    unnamed = read_exchange([*failed, Message.of("assistant", "Der Fehler ist behoben.")])
    assert list(found(unnamed, "error").values()) == ["resolved: Der Fehler ist behoben."]
    open_still = read_exchange([*failed, Message.of("assistant", "The ValueError is not fixed by this.")])
    assert list(found(open_still, "error").values()) == [""]


@pytest.mark.parametrize(
    "text", ["0 errors, 12 passed", "def error(): pass  # raises Error", "exit code 0", '{"error": null, "ok": true}']
)
def test_a_success_that_speaks_of_errors_is_one(text: str) -> None:
    """An output about errors isn't one."""
    assert found(read_exchange(used("bash", text, command="make")), "error") == {}
    assert found(read_exchange(used("read_file", text, path="a.py")), "error") == {}


def test_ids_and_addresses_come_from_texts_and_results() -> None:
    """Tickets, numbers of orders, hashes, UUIDs, and named ids of JSON; not numbers of lines."""
    said = "See ticket ABC-123 and order 88121, commit 3f2a9c1d, at https://example.com/x?y=1."
    result = '{"order_id": "88121", "customer": {"customerId": 4711}, "line_number": 12, "tool_call_id": "call_1"}'
    notes = read_exchange([Message.of("user", said), *used("get_order", result, query="x")])
    assert list(found(notes, "id")) == ["ABC-123", "3f2a9c1d", "88121", "order_id 88121", "customerId 4711"]
    assert list(found(notes, "url")) == ["https://example.com/x?y=1"]


@pytest.mark.parametrize(
    "text",
    [
        "We'll use Postgres instead of Redis.",
        "I decided to keep the old parser.",
        "Wir nehmen Postgres für die Ablage.",
        "Nous avons choisi Postgres.",
        "Hemos decidido usar Postgres.",
        "Abbiamo deciso di usare Postgres.",
        "Decidimos usar Postgres.",
        "Решили использовать Postgres.",
    ],
)
def test_a_decision_is_kept_as_it_was_said(text: str) -> None:
    """In seven languages."""
    assert list(found(read_exchange([Message.of("assistant", f"Fine. {text} All good?")]), "decision")) == [text]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        (
            "TodoWrite",
            {"todos": [{"content": "write docs", "status": "pending"}, {"content": "fix it", "status": "completed"}]},
        ),
        ("update_plan", {"plan": [{"step": "write docs", "status": "in_progress"}, {"step": "fix it", "status": "completed"}]}),
        ("manage_todo_list", {"todoList": [{"title": "write docs", "done": False}, {"title": "fix it", "done": True}]}),
        ("update_todo_list", {"todos": "- [ ] write docs\n- [x] fix it\n"}),
    ],
)
def test_lists_of_tasks_say_what_is_open(name: str, arguments: dict[str, Any]) -> None:
    """The tools of several agents."""
    assert found(read_exchange(used(name, **arguments)), "task") == {"write docs": "open", "fix it": "done"}


def test_tasks_stand_in_texts_too() -> None:
    """Boxes, and what is still to do."""
    text = "- [x] parser\n- [ ] docs\n\nStill to do: translate the page."
    notes = read_exchange([Message.of("assistant", text)])
    assert found(notes, "task") == {"translate the page.": "open", "parser": "done", "docs": "open"}


def test_the_line_says_what_was_asked_done_and_reached() -> None:
    """Names, numbers and paths stay."""
    notes = read_exchange(
        [
            Message.of("user", "Hi! Please fix the rounding in src/billing.py before 2024-05-03. Thanks!"),
            *used("read_file", path="src/billing.py"),
            *used("edit_file", path="src/billing.py"),
            *used("edit_file", path="src/billing.py"),
            Message.of("assistant", "Let me see.\n\nDone: the total is now 12.50 euros, and all 31 tests pass."),
        ]
    )
    assert notes.line == (
        "fix the rounding in src/billing.py before 2024-05-03. → edit_file ×2, read_file (src/billing.py) → "
        "Done: the total is now 12.50 euros, and all 31 tests pass."
    )


def test_only_the_user_states_constraints() -> None:
    """Not the assistant, a tool, or the system."""
    notes = read_exchange(
        [
            Message.of("system", "Never do A."),
            Message.of("assistant", "You must not do B."),
            *used("read_file", "Never do C.", path="a.py"),
            Message.of("user", "Never do D."),
        ]
    )
    assert [each.text for each in notes.constraints] == ["Never do D."]


@given(conversations)
@examples(150)
def test_any_messages_are_read(messages: list[Message]) -> None:
    """Broken calls and results included: one line, and artifacts with names."""
    notes = read_exchange(messages)
    assert len(notes.line) <= MAX_LINE
    assert len(notes.line.splitlines()) <= 1
    assert all(each.name and len(each.name) <= 400 for each in notes.artifacts)
    assert read_exchange(messages) == notes


def test_nothing_said_is_an_empty_note() -> None:
    """No message, no line."""
    assert read_exchange([]) == ExchangeNotes(line="")
    assert read_exchange([Message.of("system", "Be kind.")]).artifacts == ()
    assert Artifact(kind="file", name="a.py") not in read_exchange([Message.of("tool", "a.py")]).artifacts
