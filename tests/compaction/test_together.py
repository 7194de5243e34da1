"""Together: what leaves a conversation at once: calls with results that came late, and what is left of one exchange."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.compaction.boundaries import Boundaries, Room
from germane.compaction.exchanges import Division, linked_spans, span_holding
from germane.dialects.registry import parse_all
from germane.integrations import Truncate, compact
from germane.types.message import Message, ToolCall, ToolResult
from germane_testing.validators import validate, validate_against
from support.examples import examples

pytestmark = pytest.mark.requirement("HIST-1", "HIST-4")

WORDS = "the build fails on line forty two of the parser because a token is missing there "


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def said(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def call(id: str, name: str = "run") -> dict[str, Any]:
    return {"type": "function_call", "call_id": id, "name": name, "arguments": "{}"}


def output(id: str, text: str = "done") -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": id, "output": text}


def faults(talk: list[dict[str, Any]], *, most: int) -> dict[int, list[str]]:
    """What is wrong with what is left of each beginning of the conversation."""
    found = {}
    for count in range(1, len(talk) + 1):
        begun = talk[:count]
        left = compact(begun, model="gpt-5", provider="openai-responses", max_tokens=most, strategy=Truncate()).messages
        wrong = [*validate(left, "openai-responses"), *validate_against(begun, left, "openai-responses")]
        if wrong:
            found[count] = [str(each) for each in wrong]
    return found


LATE = [user(f"old {WORDS}"), *map(call, "abcd"), output("a"), output("c"), user("wait " + WORDS)]
"""Four calls at once, of which two are answered before the user speaks."""


@pytest.mark.parametrize("most", [120, 160, 200, 300])
@pytest.mark.parametrize("between", [0, 2, 5])
def test_a_late_result_stays_or_leaves_with_its_call(most: int, between: int) -> None:
    """The calls wait while all around them leaves; their results come when the boundary is behind them."""
    wait = [each for number in range(between) for each in (said(WORDS), user(f"and {number}? {WORDS}"))]
    late = [output("b"), said(WORDS), output("d", WORDS)]
    after = [each for number in range(6) for each in (user(f"next {number} {WORDS}"), said(WORDS))]
    assert faults([*LATE, *wait, *late, *after], most=most) == {}


@pytest.mark.parametrize("most", [120, 200])
def test_a_result_stays_with_each_call_that_may_be_its(most: int) -> None:
    """Several open calls share an id, a call is given twice, and ids are missing."""
    shared = [call("x"), call("y"), call("x", "read"), call("x"), call("y"), output("x"), output("y"), output("x", WORDS)]
    twice = [call("", "run"), said(WORDS), call("", "run"), output("", WORDS)]
    after = [each for number in range(5) for each in (user(f"next {number} {WORDS}"), said(WORDS))]
    assert faults([user(WORDS), *shared, *after, *twice, *after], most=most) == {}


def test_a_call_that_waits_takes_no_result_of_its_new_neighbour() -> None:
    """Both wait: one for its result, one for the end of its work. What stood between them has left, and a result has no id."""

    def asked(id: str, name: str) -> dict[str, Any]:
        function = {"name": name, "arguments": "{}"}
        return {"role": "assistant", "tool_calls": [{"id": id, "type": "function", "function": function}]}

    def told(id: str, text: str) -> dict[str, Any]:
        return {"role": "tool", "tool_call_id": id, "content": text}

    talk = [user(WORDS), asked("x", "run"), user(WORDS), asked("b", "list"), told("b", WORDS), user(WORDS)]
    talk += [asked("y", "read"), told("", '{"status": "pending"}'), *([user(WORDS), said(WORDS)] * 3)]
    read = parse_all(talk)  # what germane writes itself has calls in a row as one message
    seen = set()
    for most in range(60, 400, 10):
        left = compact(read, model="gpt-4o", max_tokens=most, strategy=Truncate()).messages
        names = [call["function"]["name"] for each in left for call in each.get("tool_calls", ())]
        seen.add(tuple(names))
        assert "run" not in names, most
        assert "read" in names, most
    assert ("read",) in seen


def test_what_the_responses_api_pairs_is_one_group() -> None:
    """The first of two calls that share an id is answered first, also where the assistant spoke between them."""
    run = Message(role="assistant", parts=(ToolCall(id="", name="run"),))
    talk = [Message.of("user", "go"), run, Message.of("assistant", "so"), run]
    talk.append(Message(role="tool", parts=(ToolResult(call_id="", text="done"),)))
    division = Division()
    for message in talk:
        division.add(message)
    assert [(group.start, group.end) for group in division.groups(0, 5)] == [(0, 1), (1, 5)]


def test_a_call_that_stays_before_the_boundary_knows_its_late_result() -> None:
    """One that has left has none."""
    division = Division()
    ask = Message(role="assistant", parts=(ToolCall(id="a", name="f"),))
    division.add(Message.of("user", "go"))
    division.add(ask)
    division.floor, division.kept = 2, ((1, 2),)
    division.add(Message.of("user", "wait"))
    division.add(Message(role="tool", parts=(ToolResult(call_id="a", text="r"),)))
    assert division.late == [(1, 3)]
    assert [group.state for group in division.groups(1, 2)] == ["closed"]
    gone = Division()
    gone.add(ask)
    gone.floor = 1
    gone.add(Message(role="tool", parts=(ToolResult(call_id="a", text="r"),)))
    assert gone.late == []


@pytest.mark.requirement("HIST-1")
def test_what_is_left_of_one_exchange_leaves_at_once() -> None:
    """The running exchange was opened up; later no answer stays without its question."""
    talk: list[dict[str, Any]] = [{"role": "system", "content": "Be brief."}, user("old " * 60)]
    for number in range(8):
        function = {"name": "f", "arguments": "{}"}
        talk.append({"role": "assistant", "tool_calls": [{"id": f"c{number}", "type": "function", "function": function}]})
        talk.append({"role": "tool", "tool_call_id": f"c{number}", "content": "result " * 20})
    talk += [said("done"), user("Hello"), said("Hi"), user("Again " * 20)]
    for most in range(60, 400, 20):
        for count in range(len(talk) - 3, len(talk) + 1):
            left = compact(talk[:count], model="gpt-4o", max_tokens=most, strategy=Truncate()).messages
            if said("done") in left and not any(each.get("content") == "old " * 60 for each in left):
                newest = next(each for each in reversed(talk[:count]) if each["role"] == "user")
                assert newest == talk[1], (most, count)


spans = st.lists(st.integers(1, 4), max_size=12)


@examples(200)
@given(widths=spans, links=st.lists(st.tuples(st.integers(-1, 40), st.integers(-1, 40)), max_size=12))
def test_linked_spans_are_in_one_set(widths: list[int], links: list[tuple[int, int]]) -> None:
    """Each span is in one set, and no link goes from one set to another."""
    places, start = [], 0
    for width in widths:
        places.append((start, start + width))
        start += width
    found = linked_spans(places, links)
    assert sorted(span for each in found for span in each) == places
    assert [each[0] for each in found] == sorted(each[0] for each in found)
    of = {span: number for number, each in enumerate(found) for span in each}
    for one, other in links:
        first, second = span_holding(places, one), span_holding(places, other)
        if first is not None and second is not None:
            assert of[places[first]] == of[places[second]]


def test_a_look_at_fewer_tokens_changes_nothing() -> None:
    """What would leave then still stands, with the results that came late to its calls."""
    room = Room(high=100, low=50, mask=False)
    boundaries = Boundaries(room, lambda spans: spans, lambda span: (), lambda index: 0)
    for number in range(8):
        message = Message.of("user" if number % 2 == 0 else "assistant", f"words {number}")
        boundaries.add(message, message, 10)
    boundaries.division.late.append((1, 3))
    before = boundaries.now
    pressed = boundaries.pressed(75)
    assert pressed.now.covered > 3
    assert pressed.division.late == []
    assert (boundaries.now, boundaries.division.late, boundaries.division.floor) == (before, [(1, 3)], 0)
