"""Divide: exchanges of groups, which are kept or taken away as a whole."""

from __future__ import annotations

import pytest
from hypothesis import given

from germane.compaction.exchanges import Division, divide
from germane.dialects.dialect import OutgoingMessage
from germane.dialects.edits import orphans
from germane.integrations.compactor import compact
from germane.types.message import Message, Opaque, Part, ToolCall, ToolResult
from germane_testing.validators import validate_against
from support.examples import examples
from support.wild_conversations import conversations

pytestmark = pytest.mark.requirement("HIST-1")


def say(role: str, text: str = "x") -> Message:
    return Message.of(role, text)  # type: ignore[arg-type]


def calls(*ids: str) -> Message:
    return Message(role="assistant", parts=tuple(ToolCall(id=id, name="f") for id in ids))


def results(*ids: str, text: str = "r") -> Message:
    return Message(role="tool", parts=tuple(ToolResult(call_id=id, text=text) for id in ids))


def item(part: Part) -> Message:
    return Message(role="assistant", parts=(part,))


REASONING = item(Opaque(kind="openai-responses:reasoning", raw={"type": "reasoning", "id": "rs_1", "encrypted_content": "e"}))
EXCHANGE = [say("user"), calls("a"), results("a"), say("assistant")]


def groups(talk: list[Message]) -> list[tuple[int, int]]:
    return [(group.start, group.end) for exchange in divide(talk)[1] for group in exchange.groups]


def begins(talk: list[Message]) -> tuple[int, list[int]]:
    lead, exchanges = divide(talk)
    return lead, [exchange.start for exchange in exchanges]


def states(talk: list[Message]) -> list[str]:
    return [group.state for exchange in divide(talk)[1] for group in exchange.groups]


@pytest.mark.requirement("BUILD-3")
def test_an_exchange_begins_with_the_users_words() -> None:
    """System messages at the start stand apart; two messages of the user's in a row begin one exchange."""
    talk = [say("system"), *EXCHANGE, say("user"), say("user"), say("assistant")]
    assert begins(talk) == (1, [1, 5])
    assert begins([]) == (0, [])
    assert begins([say("system")]) == (1, [])
    assert begins([say("assistant"), say("user")]) == (0, [0, 1])


@pytest.mark.requirement("BUILD-3")
def test_no_exchange_ends_between_a_call_and_its_result() -> None:
    """Also where the user spoke in between, and where an id comes again later."""
    between = [say("user"), calls("a"), say("user", "wait"), results("a")]
    assert begins(between) == (0, [0])
    assert groups(between) == [(0, 1), (1, 4)]
    assert begins([*EXCHANGE, *EXCHANGE, *EXCHANGE]) == (0, [0, 4, 8])


@pytest.mark.parametrize(
    ("talk", "found"),
    [
        ([calls("a", "b"), results("b"), results("a")], [(0, 3)]),
        ([calls("a"), calls("b"), results("a"), results("b")], [(0, 4)]),
        ([calls("a"), results("a"), calls("b"), results("b")], [(0, 2), (2, 4)]),
        ([REASONING, calls("a"), results("a")], [(0, 3)]),
        ([REASONING, say("assistant"), say("assistant"), say("user")], [(0, 3), (3, 4)]),
        ([REASONING, say("user")], [(0, 1), (1, 2)]),
        ([results("a"), say("user")], [(0, 1), (1, 2)]),
        ([calls("a"), say("system"), results("a"), say("user")], [(0, 3), (3, 4)]),
        ([calls("a"), results("a"), results("a")], [(0, 3)]),
        ([calls("a"), calls("a"), results("a"), results("a")], [(0, 4)]),
        ([calls("a"), *[say("user"), say("assistant")] * 9, results("a")], [(n, n + 1) for n in range(20)]),
    ],
)
def test_a_call_is_in_one_group_with_its_result(talk: list[Message], found: list[tuple[int, int]]) -> None:
    """Parallel, interleaved, signed, orphaned, used twice, and one that comes nine turns late."""
    assert groups(talk) == found


def test_a_group_is_open_while_it_waits() -> None:
    """For the result of a call, for the end of a job that an interim result tells of, and for a confirmation."""
    asked = item(Opaque(kind="openai-responses:mcp_approval_request", raw={"type": "mcp_approval_request", "id": "r1"}))
    running = results("a", text='{"status": "running", "task_id": "t1"}')
    assert states([say("user"), calls("a")]) == ["closed", "open"]
    assert states([say("user"), calls("a"), say("user"), say("assistant")]) == ["closed", "open", "closed", "closed"]
    assert states([calls("a"), running]) == ["open"]
    assert states([calls("a"), running, calls("b"), results("b", text='{"task_id": "t1", "status": "done"}')]) == ["closed"] * 2
    assert states([asked, say("user")]) == ["open", "closed"]
    assert states([calls("a"), *[say("user"), say("assistant")] * 9])[0] == "closed"


@examples(300)
@given(talk=conversations)
def test_groups_cover_the_conversation_and_hold_every_pair(talk: list[Message]) -> None:
    """What a provider's dialect pairs is in one group: with any other group away, the same calls and results are orphans."""
    lead, exchanges = divide(talk)
    found = groups(talk)
    assert [index for start, end in found for index in range(start, end)] == list(range(lead, len(talk)))
    assert [index for each in exchanges for index in range(each.start, each.end)] == list(range(lead, len(talk)))
    for provider in ("openai", "anthropic", "gemini"):
        lost = orphans([OutgoingMessage(message=message) for message in talk[lead:]], provider)
        for start, end in found:
            alone = orphans([OutgoingMessage(message=message) for message in talk[start:end]], provider)
            assert {index + start - lead for index in alone} <= lost


def test_what_came_of_one_reasoning_is_one_group() -> None:
    """The API refuses an item that it knows without the reasoning that it came of: message and calls stay behind it."""
    reasoning = Opaque(kind="openai-responses:reasoning", raw={"type": "reasoning", "id": "rs_1", "summary": []})
    messages = [
        Message.of("user", "go"),
        Message(role="assistant", parts=(reasoning,)),
        Message.of("assistant", "so"),
        Message(role="assistant", parts=(ToolCall(id="a", name="f"),)),
        Message(role="tool", parts=(ToolResult(call_id="a", text="r"),)),
        Message.of("assistant", "done"),
    ]
    _, (exchange,) = divide(messages)
    assert [(group.start, group.end) for group in exchange.groups] == [(0, 1), (1, 5), (5, 6)]


def test_a_system_message_between_calls_and_results_stays_with_them() -> None:
    """Providers whose system prompt stands apart pair across it."""
    messages = [
        Message.of("user", "go"),
        Message(role="assistant", parts=(ToolCall(id="", name="f"), ToolCall(id="", name="g"))),
        Message(role="tool", parts=(ToolResult(call_id="", name="f", text="r"),)),
        Message.of("system", "be quick"),
        Message(role="tool", parts=(ToolResult(call_id="", name="g", text="r"),)),
    ]
    _, (exchange,) = divide(messages)
    assert [(group.start, group.end, group.state) for group in exchange.groups] == [(0, 1, "closed"), (1, 5, "closed")]


def test_white_space_is_no_request() -> None:
    """The user's last words are those before it."""
    messages = [Message.of("user", "go"), Message.of("assistant", "so"), Message.of("user", " "), Message.of("assistant", "?")]
    division = Division()
    for message in messages:
        division.add(message)
    assert division.last_human == 0
    assert [(exchange.start, exchange.end) for exchange in division.exchanges()] == [(0, 4)]


def test_a_result_out_of_reach_is_tied_to_its_call_without_what_stands_between() -> None:
    """A result that comes ten turns later makes no group of the ten turns; the call and the result still go together."""
    division = Division()
    for message in [say("user"), calls("a"), *[say("user"), say("assistant")] * 10, results("a")]:
        division.add(message)
    assert [(group.start, group.end) for group in division.groups(0, division.count)][-1] == (22, 23)
    assert division.late == [(1, 22)]


@pytest.mark.requirement("HIST-5")
def test_a_call_leaves_with_its_result_out_of_reach() -> None:
    """The Responses API pairs them over whatever stands between: one that stayed alone would be written as text."""
    call = {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}
    waits = {"type": "mcp_approval_request", "id": "mcpr_1", "name": "delete", "arguments": "{}", "server_label": "files"}
    output = {"type": "function_call_output", "call_id": "a", "output": "done"}
    talk = [{"role": role, "content": "word " * 50} for _ in range(12) for role in ("user", "assistant")]
    given = [talk[0], waits, call, *talk[:22], output, *talk]
    found = compact(given, model="gpt-5", provider="openai-responses", max_tokens=1200)
    sent = [dict(message) for message in found.messages]
    assert found.compacted
    assert waits in sent
    assert [message in sent for message in (call, output)] in ([True, True], [False, False])
    assert not validate_against(given, sent, "openai-responses")


def test_an_exchange_begins_with_at_most_eight_messages_of_users_in_a_row() -> None:
    """In a group chat of people alone each eighth message begins another one; an answer between them begins nothing."""
    _, found = divide([say("user")] * 20)
    assert [(one.start, one.end) for one in found] == [(0, 8), (8, 16), (16, 20)]
    _, found = divide([*[say("user")] * 7, say("assistant"), *[say("user")] * 9])
    assert [(one.start, one.end) for one in found] == [(0, 8), (8, 16), (16, 17)]
