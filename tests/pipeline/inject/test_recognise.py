"""Germane's own text is recognised when it comes back."""

from __future__ import annotations

from typing import Any

import pytest

from germane.dialects.registry import parse_all
from germane.pipeline.inject.inject import inject
from germane.pipeline.inject.recognise import injected, without_injected
from germane.types.message import Message, Text
from support.exchanges import CLAUDE, EXCHANGE, GEMINI, request

NONCE = "7f3a9c"
STABLE = f'<directive nonce="{NONCE}">Be brief.</directive>'
LATE = f'<memory nonce="{NONCE}">Likes tea.</memory>'


@pytest.mark.requirement("INJECT-5")
@pytest.mark.parametrize("placement", ["first", "split"])
@pytest.mark.parametrize(("provider", "raw"), [("openai", EXCHANGE), ("anthropic", CLAUDE), ("gemini", GEMINI)])
def test_what_was_injected_is_gone_when_it_comes_back(provider: str, raw: list[dict[str, Any]], placement: Any) -> None:
    """The conversation is what it was before."""
    out = inject(request(raw, provider), STABLE, LATE, placement=placement).convert(provider)
    back = without_injected(parse_all(out.messages, provider), NONCE)
    assert [message.content for message in back] == [message.content for message in parse_all(raw, provider)]
    assert not any(injected(message.content, NONCE) for message in back)


@pytest.mark.requirement("INJECT-5")
def test_only_what_is_wholly_germanes_is_removed() -> None:
    """The caller's own system message, another nonce, and a human's quotation stay: the same objects."""
    messages = (
        Message.of("system", "be nice"),
        Message.of("system", LATE.replace(NONCE, "other")),
        Message.of("user", f"what is {LATE}?"),
        Message.of("assistant", f"you sent {LATE}"),
    )
    assert without_injected(messages, NONCE) == messages
    assert all(one is other for one, other in zip(without_injected(messages, NONCE), messages, strict=True))


@pytest.mark.requirement("INJECT-5")
def test_a_part_of_germanes_is_taken_from_between_the_callers() -> None:
    """A system message in blocks keeps the caller's; without a nonce nothing is anybody's."""
    message = Message(role="system", parts=(Text(STABLE), Text("be nice")))
    assert without_injected([message], NONCE) == (Message.of("system", "be nice"),)
    assert without_injected([message], "") == (message,)
    assert not injected('<memory nonce="">', "")
