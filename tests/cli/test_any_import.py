"""Any import: a file in each known format, with any value at any place, gives rows or is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from germane.cli.imports.detect_format import read
from germane.errors import InvalidInput
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
FILES: dict[str, Any] = {
    "messages": {"messages": SAID},
    "claude": [CLAUDE],
    "mem0": {"results": [MEM0]},
    "letta": LETTA,
    "chatgpt": [CHAT, {name: value for name, value in CHAT.items() if name != "current_node"}],
    "locomo": locomo(),
}


@pytest.mark.parametrize("kind", FILES)
def test_any_value_at_any_place_gives_rows_or_is_refused(kind: str) -> None:
    """Nothing but `InvalidInput` comes out, whatever stands in a file."""
    assert read(json.dumps(FILES[kind]).encode(), "t")[0] == kind
    wrong = set[str]()
    for document in replaced(FILES[kind]):
        try:
            list(read(json.dumps(document).encode(), "t")[1])
        except InvalidInput:
            continue
        except Exception as error:
            wrong.add(f"{type(error).__name__}: {str(error)[:80]}")
    assert not wrong
