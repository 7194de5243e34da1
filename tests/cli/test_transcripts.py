"""Transcripts of coding agents and what stands beside conversations: sessions by project, and what was left out is said."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import pytest

from germane.cli.imports import MessageRow, Row, read
from germane.integrations.transcripts.rows import Remark
from germane.integrations.transcripts.transcript import read_transcript
from support.product_exports import chat, zipped

pytestmark = pytest.mark.requirement("CLI-2")

Run = Callable[..., str]
NOON = "2026-06-01T10:00:00Z"


def step(kind: str, uuid: str, message: Any, **more: Any) -> dict[str, Any]:
    shared = {"sessionId": "s1", "cwd": "/home/ann/code/blimp", "isSidechain": False, "timestamp": NOON}
    return {"type": kind, "uuid": uuid, "message": message} | shared | more


def said(*blocks: dict[str, Any], id: str = "msg_1") -> dict[str, Any]:
    return {"id": id, "type": "message", "role": "assistant", "content": list(blocks)}


def call(id: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": "Grep", "input": {"pattern": id}}


def result(id: str, text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": text}]}


CLAUDE_CODE: list[dict[str, Any]] = [
    {"type": "summary", "summary": "Zeppelins", "leafUuid": "u9"},
    {"type": "permission-mode", "sessionId": "s1"},
    step("user", "u1", {"role": "user", "content": "Where is the zeppelin config?"}),
    step("assistant", "u2", said({"type": "thinking", "thinking": "secretly", "signature": "s"})),
    step("assistant", "u3", said({"type": "text", "text": "I look."})),
    step("assistant", "u4", said(call("a"))),
    step("user", "u5", result("a", "conf/zeppelin.toml"), toolUseResult={"file": "x"}),
    step("assistant", "u6", said(call("b"))),
    step("user", "u7", result("b", "nothing")),
    step("user", "u8", {"role": "user", "content": "Caveat: the client's"}, isMeta=True),
    step("user", "u9", {"role": "user", "content": "This session is being continued"}, isCompactSummary=True),
    step("user", "u10", {"role": "user", "content": "I live in Hull, says the agent"}, isSidechain=True),
    step("assistant", "u11", said({"type": "text", "text": "In conf."}, id="msg_2")),
]
CODEX: list[dict[str, Any]] = [
    {"timestamp": NOON, "type": "session_meta", "payload": {"id": "c1", "cwd": "/r/blimp"}},
    {"timestamp": NOON, "type": "response_item", "payload": {"type": "message", "role": "developer", "content": "Be safe"}},
    {
        "timestamp": NOON,
        "type": "response_item",
        "payload": {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "<environment_context>\n<cwd>/r</cwd>\n</environment_context>"}],
        },
    },
    {
        "timestamp": NOON,
        "type": "response_item",
        "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Where is the config?"}]},
    },
    {"timestamp": NOON, "type": "event_msg", "payload": {"type": "user_message", "message": "Where is the config?"}},
    {"timestamp": NOON, "type": "turn_context", "payload": {"cwd": "/r/blimp"}},
    {"type": "response_item", "payload": {"type": "reasoning", "summary": [{"type": "summary_text", "text": "secretly"}]}},
    {"type": "response_item", "payload": {"type": "function_call", "call_id": "c", "name": "shell", "arguments": '{"a": 1}'}},
    {"type": "response_item", "payload": {"type": "function_call_output", "call_id": "c", "output": "conf/zeppelin.toml"}},
    {
        "type": "response_item",
        "payload": {"type": "custom_tool_call", "call_id": "d", "name": "apply_patch", "input": "*** Begin Patch"},
    },
    {"type": "compacted", "payload": {"message": "We looked"}},
]


def encoded(lines: list[dict[str, Any]]) -> bytes:
    return "\n".join(map(json.dumps, lines)).encode()


def texts(rows: list[Row]) -> list[tuple[str, str, str]]:
    return [(row.session, row.message.role, row.message.content) for row in rows if isinstance(row, MessageRow)]


def left_out(rows: list[Row]) -> dict[str, int]:
    return {row.what: row.number for row in rows if isinstance(row, Remark) and row.left_out}


def test_claude_codes_lines_are_messages_of_a_session_of_a_project() -> None:
    """The lines of one message id are one message, with all of its calls before their results; nobody's words are left out."""
    kind, found = read(encoded(CLAUDE_CODE), "file")
    rows = list(found)
    assert kind == "claude-code"
    assert texts(rows) == [
        ("blimp/s1", "user", "Where is the zeppelin config?"),
        ("blimp/s1", "assistant", 'I look.\nGrep({"pattern": "a"})\nGrep({"pattern": "b"})'),
        ("blimp/s1", "tool", "conf/zeppelin.toml"),
        ("blimp/s1", "tool", "nothing"),
        ("blimp/s1", "assistant", "In conf."),
    ]
    assert left_out(rows) == {
        "messages of the client's own": 1,
        "steps of subagents": 1,
        "summaries of what stands above them": 1,
    }


def test_codexs_items_are_messages_of_a_session_of_a_project() -> None:
    """Calls and outputs too; events repeat the items, and reasoning isn't read."""
    kind, found = read(encoded(CODEX), "file")
    rows = list(found)
    assert kind == "codex"
    assert [text for *_, text in texts(rows)] == [
        "Be safe",
        "Where is the config?",
        'shell({"a": 1})',
        "conf/zeppelin.toml",
        'apply_patch({"input": "*** Begin Patch"})',
    ]
    assert {session for session, *_ in texts(rows)} == {"blimp/c1"}
    assert left_out(rows) == {"messages of the client's own": 1, "summaries of what stands above them": 1}


def test_an_older_transcript_of_codex_holds_the_items_themselves() -> None:
    """Its first line says of which session they are."""
    lines: list[dict[str, Any]] = [{"id": "c0", "timestamp": NOON, "instructions": None}, {"record_type": "state"}]
    lines += [dict[str, Any](line["payload"]) for line in CODEX[3:4] + CODEX[7:9]]
    kind, rows = read(encoded(lines), "file")
    assert kind == "codex"
    assert [text for *_, text in texts(list(rows))] == ["Where is the config?", 'shell({"a": 1})', "conf/zeppelin.toml"]


def test_a_folder_of_transcripts_comes_in_once(run: Run, tmp_path: Path) -> None:
    """A session that was resumed repeats its steps in a second file; importing the folder again adds nothing."""
    folder = tmp_path / "projects" / "-home-ann-code-blimp"
    folder.mkdir(parents=True)
    (folder / "s1.jsonl").write_bytes(encoded(CLAUDE_CODE))
    resumed = [*CLAUDE_CODE, step("user", "u12", {"role": "user", "content": "Thanks."})]
    (folder / "s1-resumed.jsonl").write_bytes(encoded(resumed))
    (folder / "rollout.jsonl").write_bytes(encoded(CODEX))
    (folder / "other.jsonl").write_text('{"a": 1}\n')
    said = " ".join(run("import", "projects", "--user", "ada").split())
    assert "projects (claude-code and codex): 10 messages" in said
    assert "2 messages of the client's own" in said
    assert "1 files that are no transcripts" in said
    assert "0 messages, 10 there already" in run("import", "projects", "--user", "ada")
    outline = run("outline", "blimp/s1", "--user", "ada")
    assert "Grep" in outline
    assert "secretly" not in run("export", "--user", "ada")


def test_the_last_line_of_a_transcript_may_be_cut(run: Run, tmp_path: Path) -> None:
    """The lines before it are read, and the cut one is named."""
    (tmp_path / "t.jsonl").write_bytes(encoded(CLAUDE_CODE)[:-30])
    assert "t.jsonl (claude-code): 4 messages, 1 rows that can't be used" in run("import", "t.jsonl", "--user", "ada")


def test_a_transcript_that_grew_loses_nothing(run: Run, tmp_path: Path) -> None:
    """A message of which only the beginning was there is stored whole beside it, once."""
    (tmp_path / "t.jsonl").write_bytes(encoded(CLAUDE_CODE[:5]))
    assert "2 messages" in run("import", "t.jsonl", "--user", "ada")
    (tmp_path / "t.jsonl").write_bytes(encoded(CLAUDE_CODE))
    assert "t.jsonl (claude-code): 4 messages, 1 there already" in run("import", "t.jsonl", "--user", "ada")
    assert "t.jsonl (claude-code): 0 messages, 5 there already" in run("import", "t.jsonl", "--user", "ada")
    kept = [one["text"] for one in json.loads(run("messages", "blimp/s1", "--user", "ada", "--json"))["messages"]]
    assert sum("Grep" in text for text in kept) == 1
    assert sum("zeppelin.toml" in text for text in kept) == 1


def test_a_transcript_is_read_line_by_line() -> None:
    """One message and its results are held, however long the transcript is."""
    taken = 0

    def lines() -> Any:
        nonlocal taken
        for number in range(100_000):
            taken += 1
            yield json.dumps(step("user", f"u{number}", {"role": "user", "content": f"line {number}"})).encode()

    rows = read_transcript(lines(), "claude-code", "file")
    assert next(iter(rows))
    assert taken <= 2


def test_claudes_export_comes_whole_and_says_what_it_leaves_out(run: Run, tmp_path: Path) -> None:
    """Artifacts, files, results of the web, notes and documents of projects; orders of a project set nothing."""

    def message(id: str, above: str, sender: str, *content: Any, **more: Any) -> dict[str, Any]:
        return {"uuid": id, "parent_message_uuid": above, "sender": sender, "content": list(content), "created_at": NOON} | more

    found = {"type": "knowledge", "title": "Forecast", "url": "https://example.org", "text": "Snow at minus four"}
    artifact = {"id": "x", "command": "create", "title": "List", "content": "- blue raincoat"}
    talk = [
        message("m1", "r", "human", {"type": "text", "text": "I live in Leeds."}, files=[{"file_name": "photo.png"}]),
        message("old", "m1", "assistant", {"type": "text", "text": "old answer"}, created_at="2026-01-01T10:00:00Z"),
        message(
            "m2",
            "m1",
            "assistant",
            {"type": "thinking", "thinking": "secretly"},
            {"type": "tool_use", "name": "artifacts", "input": artifact},
            {"type": "tool_use", "name": "web_search", "input": {"query": "weather"}},
            {"type": "tool_result", "name": "web_search", "content": [found]},
            {"type": "tool_use", "name": "create_file", "input": {"path": "/out/a.md", "file_text": "Room 206"}},
        ),
    ]
    project = {
        "uuid": "p1",
        "name": "Trip",
        "prompt_template": "Answer in Czech",
        "docs": [{"filename": "d.md", "content": "Visa 99"}],
    }
    files = {
        "conversations.json": [{"uuid": "k1", "chat_messages": talk}],
        "memories.json": [{"conversations_memory": "The user keeps bees.", "project_memories": {"p1": "A trip."}}],
        "projects/p1.json": project,
        "users.json": [{"uuid": "a"}],
    }
    (tmp_path / "e.zip").write_bytes(zipped(files).getvalue())
    said = " ".join(run("import", "e.zip", "--user", "ada").split())
    assert "e.zip (claude): 2 messages, 2 memories, 1 documents" in said
    assert "among them: 1 documents of projects, 2 notes of memories.json" in said
    assert "1 instructions of projects, 1 messages of other branches" in said
    assert "1 uploaded files, whose content isn't in the export, users.json" in said
    exported = run("export", "--user", "ada")
    for text in (
        "[artifacts: List]\\n- blue raincoat",
        "Snow at minus four",
        "[create_file: /out/a.md]\\nRoom 206",
        "bees",
        "Visa 99",
    ):
        assert text in exported
    for text in ("secretly", "Czech", "old answer"):
        assert text not in exported
    assert "0 messages, 5 there already" in run("import", "e.zip", "--user", "ada")


def test_chatgpts_messages_without_times_have_that_of_the_conversation(run: Run, tmp_path: Path) -> None:
    """A `current_node` that is no node is no reason to lose the branch; other branches are counted."""
    export = chat("c", ("user", "first"), ("assistant", "second"), ("user", "third"))
    for node in export["mapping"].values():
        if node["message"] is not None:
            node["message"]["create_time"] = None
    other = export["mapping"]["c-1"] | {"id": "x"}
    export["mapping"] = {"x": other | {"message": other["message"] | {"id": "x"}}} | export["mapping"]
    export |= {"current_node": "gone", "create_time": 1761740500.0}
    (tmp_path / "conversations.json").write_text(json.dumps([export]))
    assert "left out: 1 messages of other branches" in run("import", "conversations.json", "--user", "ada")
    kept = json.loads(run("messages", "c", "--user", "ada", "--json"))["messages"]
    assert sorted((one["created_at"][:19], one["text"]) for one in kept) == [
        ("2025-10-29T12:21:40", "first"),
        ("2025-10-29T12:21:40", "second"),
        ("2025-10-29T12:21:40", "third"),
    ]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('{"answer": 42}', "JSON with the fields answer: expected are"),
        ('[{"answer": 42}]', "JSON with the fields answer: expected are"),
        ('{"messages": [{"role": "user", "content": "hel', "it ends in the middle"),
        ('[{"mapping": {"a": ', "it ends in the middle"),
    ],
)
def test_what_isnt_known_says_what_was_expected(run: Run, tmp_path: Path, content: str, expected: str) -> None:
    """And a file that was cut says that it was."""
    (tmp_path / "x.json").write_text(content)
    assert expected in run("import", "x.json", expect=2)


def test_a_folder_of_markdown_is_shown_before_it_is_taken(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--dry-run` stores nothing; without a terminal `--yes` is needed; packages that are installed there aren't read."""
    (tmp_path / "a.md").write_text("# A\ntext\n\n## B\nmore\n")
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "b.md").write_text("readme")
    said = run("import", ".", "--dry-run")
    assert said.splitlines() == [". (notes): 0 messages, 2 memories", "  a.md: 2 sections", "nothing was stored (--dry-run)"]
    refused = run("import", ".", expect=2)
    assert "2 sections of 1 Markdown files" in refused
    assert "--dry-run, then pass --yes" in refused
    assert not (tmp_path / "germane.db").exists()
    monkeypatch.setattr("germane.cli.commands.transfer._asks", lambda: True)
    answers = chain([False], repeat(True))
    monkeypatch.setattr("typer.confirm", lambda text, err: next(answers))
    assert "nothing was stored" in run("import", ".", expect=2)
    assert ". (notes): 0 messages, 2 memories" in run("import", ".")
    assert "2 there already" in run("import", ".", "--yes")


def test_a_dry_run_counts_conversations(run: Run, tmp_path: Path) -> None:
    """Of any format, an export of germane too."""
    (tmp_path / "t.jsonl").write_bytes(encoded(CLAUDE_CODE))
    assert json.loads(run("import", "t.jsonl", "--dry-run", "--json"))["files"][0]["messages"] == 5
    run("import", "t.jsonl", "--user", "ada")
    (tmp_path / "all.jsonl").write_text(run("export", "--user", "ada"))
    assert "all.jsonl (germane): " in run("import", "all.jsonl", "--dry-run")
    assert "--dry-run is for conversations" in run("import", ".", "--as", "blocks", "--dry-run", expect=2)
