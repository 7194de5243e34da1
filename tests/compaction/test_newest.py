"""Exchanges: whole batches, the oldest left out first."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.compaction.eviction import keep_newest
from germane.dialects.registry import DIALECTS
from germane.types.message import Message, ToolCall, ToolResult, is_human
from support.examples import examples
from support.wild_conversations import conversations


def say(role: str, text: str = "x") -> Message:
    return Message.of(role, text)  # type: ignore[arg-type]


def calls(*ids: str) -> Message:
    return Message(role="assistant", parts=tuple(ToolCall(id=id, name="f") for id in ids))


def results(*ids: str) -> Message:
    return Message(role="tool", parts=tuple(ToolResult(call_id=id, text="r") for id in ids))


EXCHANGE = [say("user"), calls("a"), results("a"), say("assistant")]


@pytest.mark.requirement("BUILD-3")
def test_the_oldest_batches_go_first_and_the_newest_never() -> None:
    """By tokens and by number; the lead messages stay."""
    talk = [say("system"), *EXCHANGE, *EXCHANGE, *EXCHANGE]
    costs = [7, *[10] * 12]
    assert keep_newest(talk, costs, 80, 500) == (1, 5, 9, 87, 1)
    assert keep_newest(talk, costs, 79, 500).start == 9
    assert keep_newest(talk, costs, 1_000, 8).start == 5
    assert keep_newest(talk, costs, 0, 1) == (1, 9, 9, 47, 2)
    assert keep_newest(talk, costs, 1_000, 500).messages_left_out == 0


@pytest.mark.requirement("BUILD-3")
@examples(200)
@given(talk=conversations, tokens=st.integers(0, 60), count=st.integers(1, 9))
def test_what_is_left_is_valid_for_every_provider(talk: list[Message], tokens: int, count: int) -> None:
    """Whatever the conversation was: the newest words stay, and each dialect writes the rest so that its API takes it."""
    kept = keep_newest(talk, [10] * len(talk), tokens, count)
    rest = talk[: kept.lead] + talk[kept.start :]
    assert kept.lead <= kept.start <= len(talk)
    human = [index for index, message in enumerate(talk) if is_human(message)]
    assert not human or human[-1] >= kept.start or human[-1] < kept.lead
    if kept.start < kept.active:
        assert len(talk) - kept.start <= count
        assert 10 * (len(talk) - kept.start) <= tokens
    for dialect in DIALECTS:
        if rest:
            assert dialect.problems(dialect.render(rest)) == ()
