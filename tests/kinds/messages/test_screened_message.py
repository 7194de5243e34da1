"""Screened messages: what is stored of a message that holds a secret."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from germane.errors import InvalidInput
from germane.kinds.messages.prepared import PreparedMessage, counted_secrets, screened_message
from germane.text.normal import content_hash
from germane.types.message import Message, Text, ToolCall, ToolResult

pytestmark = pytest.mark.requirement("MEM-7")

AWS = "AKIA" + "Q3EGVCFDTZ7XN2LM"
"""Nobody's."""


def prepared(message: Message, raw: dict[str, Any] | None = None, index: int | None = 3) -> PreparedMessage:
    made = PreparedMessage.of(message, raw, "UTC", index)
    assert made is not None
    return made


def test_a_message_without_a_secret_stays_the_same_object() -> None:
    """Under every policy."""
    message = prepared(Message.of("user", "Good morning, Ana", name="Bob"))
    assert all(screened_message(message, policy) is message for policy in ("redact", "tag", "refuse", "off"))


def test_the_hash_is_that_of_the_message_as_sent() -> None:
    """So the message is recognised when it is sent again; the hash of what is stored is noted beside it."""
    message = prepared(Message.of("user", f"use {AWS}"))
    kept = screened_message(message, "redact")
    assert kept.text == "use [redacted: AWS access key]"
    assert kept.content_hash == message.content_hash == content_hash("user", f"use {AWS}")
    assert kept.secrets is not None
    assert kept.secrets.as_metadata() == {
        "secrets": {"AWS access key": 1},
        "given_bytes": 24,
        "kept_hash": content_hash("user", kept.text),
    }
    assert counted_secrets([kept, message, kept]) == {"AWS access key": 2}


def test_every_field_is_screened() -> None:
    """The name, tool calls and results, and all strings of the caller's dict, by their keys."""
    call = ToolCall(id="call_1", name="login", arguments='{"user": "bob", "password": "hunter2"}')
    raw = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"function": {"name": "login", "arguments": call.arguments}}],
        "input": {"password": "hunter2", "deep": [{"note": "hunter2 it is"}]},
        "trace": AWS,
    }
    kept = screened_message(prepared(Message(role="assistant", parts=(call,), name=f"x{AWS[:4]} {AWS}"), raw), "redact")
    assert "hunter2" not in str(kept)
    assert AWS not in str(kept)
    assert kept.raw["input"] == {"password": "[redacted: password]", "deep": [{"note": "[redacted: password] it is"}]}
    assert kept.raw["role"] == "assistant"
    result = Message(role="tool", parts=(ToolResult(call_id="call_1", text=f"{{'key': '{AWS}'}}"),))
    assert screened_message(prepared(result), "redact").text == "{'key': '[redacted: AWS access key]'}"
    two = Message(role="user", parts=(Text("password: hunter2"), Text("and more")))
    assert screened_message(prepared(two), "redact").text == "password: [redacted: password]\nand more"


def test_what_only_the_callers_dict_holds_counts() -> None:
    """A part that isn't read as text is stored too."""
    kept = screened_message(prepared(Message.of("user", "hello"), {"role": "user", "content": "hello", "extra": AWS}), "redact")
    assert (kept.text, kept.raw["extra"]) == ("hello", "[redacted: AWS access key]")
    assert counted_secrets([kept]) == {"AWS access key": 1}


def test_a_tagged_message_keeps_its_text_and_is_sensitive() -> None:
    """Nothing else changes."""
    message = prepared(Message.of("user", f"use {AWS}"))
    kept = screened_message(message, "tag")
    assert kept.secrets is not None
    assert kept == replace(message, sensitive=True, secrets=kept.secrets)
    assert kept.secrets.as_metadata() == {"secrets": {"AWS access key": 1}}


@pytest.mark.parametrize(("index", "place"), [(3, r"messages\[3\]"), (None, "a message")])
def test_a_refusal_names_the_kind_and_the_place_and_never_the_secret(index: int | None, place: str) -> None:
    """The caller can find it."""
    with pytest.raises(InvalidInput, match=rf"^{place} holds a secret \(AWS access key\)") as refused:
        screened_message(prepared(Message.of("user", f"use {AWS}"), index=index), "refuse")
    assert AWS not in str(refused.value)


def test_off_looks_at_nothing() -> None:
    """The text is stored as sent."""
    message = prepared(Message.of("user", f"use {AWS}"))
    assert screened_message(message, "off") is message
