"""Hook events: what clients send is read, in the shapes of their documents; nothing that comes in is answered with a stop."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.service.hooks.events import CLIENTS, note_home, read_event
from support.examples import examples

pytestmark = pytest.mark.requirement("HOOK-2")

BASE = {"session_id": "abc123", "transcript_path": "/home/ana/.claude/projects/p/abc123.jsonl", "cwd": "/home/ana/shop"}


def event(client: str, **fields: Any) -> Any:
    return read_event(CLIENTS[client], json.dumps({**BASE, **fields}).encode())


@pytest.mark.parametrize(
    ("client", "name", "moment"),
    [
        ("claude-code", "UserPromptSubmit", "prompt"),
        ("claude-code", "SubagentStop", "step"),
        ("codex", "SessionStart", "start"),
        ("codex", "PreCompact", "compacting"),
        ("gemini", "BeforeAgent", "prompt"),
        ("gemini", "PreCompress", "compacting"),
        ("claude-code", "SomethingNew", "other"),
        ("gemini", "UserPromptSubmit", "other"),
    ],
)
def test_each_client_has_its_own_names(client: str, name: str, moment: str) -> None:
    """A name that the client doesn't have means nothing."""
    assert event(client, hook_event_name=name).moment == moment


def test_a_text_goes_back_where_the_client_takes_one() -> None:
    """As additional context of a start or a prompt; never with a decision."""
    prompt = event("claude-code", hook_event_name="UserPromptSubmit", prompt="x")
    said = {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "known"}}
    assert prompt.answer("known") == said
    assert prompt.answer() == {}
    assert event("claude-code", hook_event_name="Stop").answer("known") == {}


def test_a_turn_that_is_sent_again_has_the_same_ids() -> None:
    """Gemini CLI sends what was said with the event."""
    fields = {"hook_event_name": "AfterAgent", "prompt": "Hello", "prompt_response": "Hi", "timestamp": "2026-11-01T10:00:00Z"}
    one, again = event("gemini", **fields), event("gemini", **fields)
    later = event("gemini", **{**fields, "timestamp": "2026-11-01T10:05:00Z"})
    assert [message["role"] for message in one.said] == ["user", "assistant"]
    assert one.said == again.said
    assert one.said[0]["id"] != later.said[0]["id"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{",
        b"\xff\xfe",
        b"null",
        b"[" * 100_000,
        b'{"session_id": "a"}',
        b'{"session_id": "a", "cwd": "relative"}',
        b'{"session_id": 7, "cwd": "/"}',
        b'{"session_id": "\\u0000\\u0007", "cwd": "/"}',
    ],
)
def test_what_is_no_event_is_none(body: bytes) -> None:
    """Whatever it is."""
    assert read_event(CLIENTS["claude-code"], body) is None


@given(
    st.dictionaries(st.sampled_from(["session_id", "cwd", "prompt", "source", "hook_event_name"]), st.text() | st.integers())
)
@examples(200)
def test_no_answer_ever_stops_a_client(fields: dict[str, Any]) -> None:
    """It has no decision, no `continue`, and nothing but the two members for texts."""
    for client in CLIENTS.values():
        found = read_event(client, json.dumps({**BASE, **fields}).encode())
        if found is not None:
            assert found.answer("text", "remark").keys() <= {"hookSpecificOutput", "systemMessage"}
            assert found.session.isprintable()


def test_a_client_has_its_transcripts_where_its_environment_says(tmp_path: Path) -> None:
    """That of the service, and the one that the client was installed in, which the service may not have."""
    home, client = Path("/home/ana"), CLIENTS["codex"]
    assert client.folders({}, home, tmp_path) == (home / ".codex" / "sessions",)
    assert client.folders({"CODEX_HOME": "/c"}, home, tmp_path) == (Path("/c/sessions"),)
    note_home(tmp_path, "codex", Path("/elsewhere"))
    assert client.folders({}, home, tmp_path)[1:] == (Path("/elsewhere/sessions"),)
    note_home(tmp_path, "codex", Path("relative"))
    assert client.folders({"CODEX_HOME": "x"}, home, tmp_path) == (home / ".codex" / "sessions",)
    assert CLIENTS["gemini"].folders({}, home, tmp_path) == ()
