"""What a message holds beside germane's own text is the same in its dict as in its parsed form, of whatever session."""

from __future__ import annotations

from typing import Any

import pytest

from germane.dialects.edits import authored, authored_dict
from germane.dialects.registry import parse, parse_all
from germane.stages.inject import inject
from germane.text.injected import LEFT_OUT
from germane.types.message import Message, Text, ToolCall, ToolResult
from support.exchanges import CLAUDE, EXCHANGE, GEMINI, request

pytestmark = pytest.mark.requirement("INJECT-5")

NONCE = "abcdefghijkl"
STABLE = f'<directive nonce="{NONCE}">Be brief.</directive>'
LATE = f'<memory nonce="{NONCE}">Likes tea.</memory>'


@pytest.mark.parametrize("placement", ["first", "split", "append"])
@pytest.mark.parametrize(("provider", "raw"), [("openai", EXCHANGE), ("anthropic", CLAUDE), ("gemini", GEMINI)])
def test_what_was_injected_is_gone_when_it_comes_back(provider: str, raw: list[dict[str, Any]], placement: Any) -> None:
    """From the message and from its dict alike."""
    out = inject(request(raw, provider), STABLE, LATE, placement=placement).convert(provider)
    pairs = [(authored(message), one) for message, one in zip(parse_all(out.messages, provider), out.messages, strict=True)]
    back = [(message, authored_dict(one, message.role)) for message, one in pairs if message is not None]
    assert [message.content for message, _ in back] == [message.content for message in parse_all(raw, provider)]
    assert [parse(one, provider).content for _, one in back] == [message.content for message, _ in back]
    assert NONCE not in repr(back)


def test_what_is_somebodys_stays() -> None:
    """The caller's own system message, and a quotation in a human's or the model's words, are the same objects."""
    for message in (
        Message.of("system", "be nice"),
        Message.of("user", f"what is {LATE}?"),
        Message.of("assistant", f"you sent {LATE}"),
    ):
        assert authored(message) is message
        assert authored_dict(raw := {"role": message.role, "content": message.text}, message.role) is raw
    message = Message(role="system", parts=(Text(STABLE), Text("be nice")))
    assert authored(message) == Message.of("system", "be nice")
    assert authored(Message.of("system", LATE)) is None


def test_with_quotes_it_is_left_out_of_every_part() -> None:
    """Also of what a tool answered, and of what a call passes on."""
    call = ToolCall(
        id="c", name="ask", arguments=f'{{"prompt": "{LATE}"}}'.replace('nonce="', 'nonce=\\"').replace('l">', 'l\\">')
    )
    message = Message(role="assistant", parts=(Text(f"see {LATE}"), call, ToolResult(call_id="c", text=f"found {LATE}")))
    cut = authored(message, quotes=True)
    assert cut is not None
    assert "tea" not in cut.content
    assert cut.content.count(LEFT_OUT) == 3
    raw = {"role": "assistant", "content": "", "tool_calls": [{"function": {"arguments": call.arguments}}], "x": [LATE]}
    assert "tea" not in repr(authored_dict(raw, "assistant", quotes=True))
