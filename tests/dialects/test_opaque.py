"""Signed and bound items of each provider are known, and thinking leaves a message as whole blocks."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from germane.dialects.opaque import bound_to_next, prefix_bound, signed, unbound
from germane.dialects.registry import dialect
from germane.types.message import Message, Opaque, Text

pytestmark = pytest.mark.requirement("HIST-5")

THINKING = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
REDACTED = {"type": "redacted_thinking", "data": "ZGF0YQ=="}
SAID = {"type": "text", "text": "so"}


def opaque(provider: str, raw: dict[str, Any]) -> Opaque:
    found = [part for part in dialect(provider).parse(raw).parts if isinstance(part, Opaque)]
    assert len(found) == 1
    return found[0]


def block(raw: dict[str, Any]) -> Opaque:
    return opaque("anthropic", {"role": "assistant", "content": [raw]})


def thought(**fields: Any) -> Opaque:
    return opaque("gemini", {"role": "model", "parts": [{"text": "hm", "thought": True, **fields}]})


def item(kind: str, **fields: Any) -> Opaque:
    return opaque("openai-responses", {"type": kind, **fields})


@pytest.mark.parametrize(
    ("part", "is_signed", "is_bound"),
    [
        (block(THINKING), True, True),
        (block(REDACTED), True, True),
        (block({"type": "compaction", "content": "sum", "encrypted_content": "x"}), True, False),
        (block({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}), False, True),
        (block({"type": "web_search_tool_result", "tool_use_id": "s", "content": []}), False, False),
        (block({"type": "document", "source": {"type": "text", "data": "x"}}), False, False),
        (thought(thoughtSignature="c2ln"), True, True),
        (thought(thought_signature=b"sig"), True, True),
        (thought(), False, False),
        (item("reasoning", id="rs_1", summary=[], encrypted_content="x"), True, True),
        (item("reasoning", id="rs_1", summary=[]), True, True),
        (item("compaction", encrypted_content="x"), True, False),
        (item("mcp_approval_request", id="mcpr_1"), False, True),
        (item("web_search_call", id="ws_1", status="completed"), False, False),
    ],
)
def test_each_providers_items_are_known(part: Opaque, is_signed: bool, is_bound: bool) -> None:
    """Signed: any change is refused. Bound: what follows came of it."""
    assert (signed(part), bound_to_next(part)) == (is_signed, is_bound)


def test_thinking_is_bound_to_what_stood_before_it() -> None:
    """Other items are not."""
    assert prefix_bound(block(THINKING))
    assert prefix_bound(block(REDACTED))
    assert not prefix_bound(item("reasoning", id="rs_1", summary=[]))


def test_thinking_leaves_whole_and_nothing_else_does() -> None:
    """A message of thinking only is nothing without it."""
    raw = {"role": "assistant", "content": [THINKING, SAID, REDACTED]}
    before = copy.deepcopy(raw)
    assert unbound(raw) == {"role": "assistant", "content": [SAID]}
    assert raw == before
    assert unbound({"role": "assistant", "content": [THINKING]}) is None
    plain = {"role": "assistant", "content": [SAID]}
    assert unbound(plain) is plain
    message = Message(role="assistant", parts=(block(THINKING), Text("so")))
    assert unbound(message) == Message(role="assistant", parts=(Text("so"),))
    assert unbound(Message(role="assistant", parts=(block(THINKING),))) is None
