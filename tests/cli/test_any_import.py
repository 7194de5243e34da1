"""Any import: a file in each known format, with any value at any place, gives rows or is refused."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

from germane.cli.imports.chat_exports import read_account
from germane.cli.imports.detect_format import read
from germane.cli.imports.rows import DocumentRow, MemoryRow
from germane.errors import InvalidInput
from germane.integrations.transcripts.rows import BrokenRow, Remark
from support.product_exports import chat
from support.replaced import replaced
from support.small_sets import locomo

pytestmark = pytest.mark.requirement("CLI-2")

NOON = "2024-05-03T12:00:00Z"
CALL = {"id": "c", "type": "function", "function": {"name": "send_message", "arguments": '{"message": "Hello"}'}}
SAID = [
    {"role": "user", "content": "tea", "id": "m1", "session": "s", "name": "Ann", "created_at": NOON},
    {"role": "assistant", "content": [{"type": "text", "text": "yes"}], "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c", "content": "done"},
]
CLAUDE = {
    "uuid": "c1",
    "current_leaf_message_uuid": "m2",
    "chat_messages": [
        {
            "uuid": "m1",
            "sender": "human",
            "content": [{"type": "text", "text": "hi"}],
            "created_at": NOON,
            "attachments": [{"file_name": "a", "extracted_content": "x"}],
        },
        {"uuid": "m2", "sender": "assistant", "text": "hello", "created_at": NOON, "parent_message_uuid": "m1"},
    ],
}
MEM0 = {"id": "1", "memory": "likes tea", "user_id": "ann", "metadata": {"a": 1}, "categories": ["x"], "created_at": NOON}
LETTA = {
    "agents": [
        {"id": "a", "messages": [{"id": "m", "role": "user", "content": "hi", "created_at": NOON}, {"tool_calls": [CALL]}]},
    ],
    "blocks": [{"id": "b", "label": "persona", "value": "I am"}],
    "passages": [{"id": "p", "text": "tea", "tags": ["x"], "created_at": NOON}],
}
CHAT = chat("x", ("user", "hi"), ("assistant", "yes"), ("tool", "1"))
CLAUDE_CODE = [
    {"type": "mode", "sessionId": "s1"},
    {"type": "user", "uuid": "u1", "sessionId": "s1", "cwd": "/r", "message": {"role": "user", "content": "hi"}},
    {
        "type": "assistant",
        "uuid": "u2",
        "sessionId": "s1",
        "timestamp": NOON,
        "message": {"id": "m", "role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]},
    },
    {
        "type": "user",
        "uuid": "u3",
        "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [{"text": "x"}]}]},
    },
]
CODEX = [
    {"timestamp": NOON, "type": "session_meta", "payload": {"id": "c1", "cwd": "/r"}},
    {"type": "response_item", "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "a"}]}},
    {"type": "response_item", "payload": {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}},
    {"type": "response_item", "payload": {"type": "function_call_output", "call_id": "c", "output": "x"}},
]
FILES: dict[str, Any] = {
    "messages": {"messages": SAID},
    "claude": [CLAUDE],
    "mem0": {"results": [MEM0]},
    "letta": LETTA,
    "chatgpt": [CHAT, {name: value for name, value in CHAT.items() if name != "current_node"}],
    "locomo": locomo(),
}


def refusals(files: Iterable[bytes]) -> set[str]:
    """What else than `InvalidInput` comes out of reading them."""
    wrong = set[str]()
    for data in files:
        try:
            list(read(data, "t")[1])
        except InvalidInput:
            continue
        except Exception as error:
            wrong.add(f"{type(error).__name__}: {str(error)[:80]}")
    return wrong


@pytest.mark.parametrize("kind", FILES)
def test_any_value_at_any_place_gives_rows_or_is_refused(kind: str) -> None:
    """Nothing but `InvalidInput` comes out, whatever stands in a file."""
    assert read(json.dumps(FILES[kind]).encode(), "t")[0] == kind
    assert not refusals(json.dumps(document).encode() for document in replaced(FILES[kind]))


@pytest.mark.parametrize(("kind", "lines"), [("claude-code", CLAUDE_CODE), ("codex", CODEX)])
def test_any_value_in_a_transcript_gives_rows_or_is_refused(kind: str, lines: list[dict[str, Any]]) -> None:
    """The same for JSON Lines."""

    def written(document: Any) -> bytes:
        return "\n".join(map(json.dumps, document if isinstance(document, list) else [document])).encode()

    assert read(written(lines), "t")[0] == kind
    assert not refusals(map(written, replaced(lines)))


@pytest.mark.parametrize("name", ["memories", "projects"])
def test_any_value_beside_claudes_conversations_gives_rows_or_is_refused(name: str) -> None:
    """`memories.json` and projects."""
    memory = {"conversations_memory": "a", "project_memories": {"p": "b"}}
    project = {"uuid": "p", "name": "Trip", "prompt_template": "x", "docs": [{"filename": "d.md", "content": "y"}]}
    for document in replaced([memory] if name == "memories" else project):
        assert all(isinstance(row, MemoryRow | DocumentRow | BrokenRow | Remark) for row in read_account(name, document, "x"))
