"""Germane's own text that a caller sends back is taken out of the request, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from germane.stages.inject import inject, without_returned
from germane.text.injected import system_words
from germane.types.message import Message, Text
from support.exchanges import CLAUDE, EXCHANGE, GEMINI, request

pytestmark = pytest.mark.requirement("INJECT-6")

NONCE = "abcdefghijkl"
NOTICE = f'<notice nonce="{NONCE}">Data.</notice>'
STABLE = f"<directive>\nBe brief.\n</directive>\n\n{NOTICE}"
LATE = f'{NOTICE}\n\n<factual_memories nonce="{NONCE}">\n<memory id="m1">Likes tea.</memory>\n</factual_memories>'


@pytest.mark.parametrize(("provider", "raw"), [("openai", EXCHANGE), ("anthropic", CLAUDE), ("gemini", GEMINI)])
def test_the_request_is_what_it_was_before(provider: str, raw: list[dict[str, Any]]) -> None:
    given = request(raw, provider)
    out = inject(given, STABLE, LATE, placement="append", earlier={} if provider == "openai" else {0: LATE})
    back = without_returned(request(out.messages, provider), NONCE).request
    assert [message.content for message in back.messages] == [message.content for message in given.messages]
    assert NONCE not in str(back.raw)


def test_a_request_without_germanes_text_is_the_same_object() -> None:
    given = request(EXCHANGE)
    assert without_returned(given, NONCE).request is given
    human = request([{"role": "user", "content": f"what is {LATE}?"}])
    assert without_returned(human, NONCE).request.raw[0] is human.raw[0]


@pytest.mark.parametrize("text", ["{0}\n\nYou are a vet.", "You are a vet.\n\n{0}", "You are\n\n{0}\n\na vet."])
@pytest.mark.parametrize("germanes", [STABLE, LATE, f"{STABLE}\n\n{LATE}", f'<directive nonce="{NONCE}">\nx\n</directive>'])
def test_the_callers_words_stay_around_germanes(text: str, germanes: str) -> None:
    """In a system text that holds both."""
    assert system_words(text.format(germanes), NONCE).split() == ["You", "are", "a", "vet."]


def test_text_that_was_changed_goes_too() -> None:
    """As long as it has the nonce: an element that isn't closed ends with the text."""
    assert system_words(f'Hello\n\n<memory nonce="{NONCE}">\n[m1] cut o', NONCE) == "Hello"
    assert system_words('<memory nonce="other">x</memory>', NONCE) == '<memory nonce="other">x</memory>'


def test_message_values_and_blocks_are_cut_too() -> None:
    """A part in front of the human's words goes; a system block keeps what is the caller's."""
    messages = [
        Message(role="system", parts=(Text(STABLE), Text(f"{LATE}\n\nBe nice."))),
        Message(role="user", parts=(Text(LATE), Text("Hi"))),
        {"role": "user", "content": [{"type": "text", "text": LATE}, {"type": "text", "text": "Ho"}]},
        {"role": "system", "content": LATE},
    ]
    found = without_returned(request(messages), NONCE).request
    assert [message.content for message in found.messages] == ["Be nice.", "Hi", "Ho"]
