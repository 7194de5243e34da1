"""Each response is told with the messages that it answers, whatever the lanes, warm-ups, steering and faults between."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.dialects.replies import read_reply
from germane.service.proxy.socket_responses import SocketResponse, SocketResponses, read_event
from support.examples import examples

pytestmark = pytest.mark.requirement("PROXY-1")


class Talk:
    """One connection: `told` are the responses. What is sent and what the provider says is given as fields."""

    def __init__(self, max_copy: int = 1 << 20) -> None:
        self.told: list[SocketResponse[str]] = []
        self.responses = SocketResponses(self.told.append, max_copy=max_copy)

    def create(self, words: str, **fields: Any) -> None:
        event = {"type": "response.create", "model": "gpt-5.4", "input": words, **fields}
        self.responses.create(json.dumps(event), event, f"call for {words}")

    def steer(self, words: str, id: str) -> None:
        event = {"type": "response.steer", "input": words, "previous_response_id": id}
        self.responses.steer(json.dumps(event), event)

    def says(self, kind: str, lane: str | None = None, **fields: Any) -> None:
        self.responses.told(json.dumps({"type": kind, **fields} | ({} if lane is None else {"stream_id": lane})))

    def begins(self, id: str, lane: str | None = None, previous: str | None = None) -> None:
        self.says("response.created", lane, response={"id": id, "previous_response_id": previous, "error": None})

    def ends(self, id: str, words: str = "", lane: str | None = None, kind: str = "completed", **fields: Any) -> None:
        output = [message(words)] if words else []
        self.says(f"response.{kind}", lane, response={"id": id, "status": kind, "output": output, **fields})

    def answers(self, id: str, words: str, lane: str | None = None, previous: str | None = None) -> None:
        self.begins(id, lane, previous)
        self.ends(id, words, lane)

    @property
    def said(self) -> list[tuple[str, list[str], list[str]]]:
        """The id of each response, the words that it answers, and the words of the answer."""
        return [(one.id, [item["content"] for item in one.messages], spoken(one)) for one in self.told]


def message(words: str) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": words}]}


def spoken(response: SocketResponse[Any]) -> list[str]:
    """The words of the reply, as a recorder reads them."""
    read = read_reply("openai-responses", response.reply.decode(), events=True)
    return [item["content"] if isinstance(item["content"], str) else item["content"][0]["text"] for item in read]


def test_a_response_is_told_with_its_create_and_what_was_given_for_it() -> None:
    """And only once it has ended."""
    talk = Talk()
    talk.create("Hello.")
    talk.begins("r1")
    assert talk.told == []
    talk.ends("r1", "Hi.")
    assert talk.said == [("r1", ["Hello."], ["Hi."])]
    assert (talk.told[0].call, talk.told[0].generates, talk.told[0].whole) == ("call for Hello.", True, True)


def test_lanes_run_side_by_side_and_each_is_first_in_first_out() -> None:
    """Responses of several lanes may begin and end in any order."""
    talk = Talk()
    talk.create("a1", stream_id="a")
    talk.create("b1", stream_id="b")
    talk.create("a2", stream_id="a")
    talk.create("none")
    talk.begins("rb", "b")
    talk.begins("ra1", "a")
    talk.answers("rn", "N")
    talk.ends("ra1", "A1", "a")
    talk.answers("ra2", "A2", "a")
    talk.ends("rb", "B1", "b")
    assert talk.said == [("rn", ["none"], ["N"]), ("ra1", ["a1"], ["A1"]), ("ra2", ["a2"], ["A2"]), ("rb", ["b1"], ["B1"])]


def test_words_of_a_warm_up_belong_to_the_response_that_continues_it() -> None:
    """The warm-up is told for itself, as one that generates nothing."""
    talk = Talk()
    talk.create("Prepared.", generate=False)
    talk.answers("w1", "")
    talk.create("Also.", previous_response_id="w1", prompt_cache_options={"prewarm": True})
    talk.answers("w2", "", previous="w1")
    talk.create("Said.", previous_response_id="w2")
    talk.answers("r1", "Yes.", previous="w2")
    assert [one.generates for one in talk.told] == [False, False, True]
    assert talk.said[-1] == ("r1", ["Prepared.", "Also.", "Said."], ["Yes."])


def test_a_warm_up_is_continued_again_where_the_first_response_failed() -> None:
    talk = Talk()
    talk.create("Prepared.", generate=False)
    talk.answers("w1", "")
    talk.create("Said.", previous_response_id="w1")
    talk.begins("r1", previous="w1")
    talk.ends("r1", kind="failed")
    talk.create("Said.", previous_response_id="w1")
    talk.answers("r2", "Yes.", previous="w1")
    assert talk.said[1:] == [("r2", ["Prepared.", "Said."], ["Yes."])]


def test_a_second_response_to_a_warm_up_does_not_have_its_words_again() -> None:
    talk = Talk()
    talk.create("Prepared.", generate=False)
    talk.answers("w1", "")
    for number in (1, 2):
        talk.create(f"Said {number}.", previous_response_id="w1")
        talk.answers(f"r{number}", "Yes.", previous="w1")
    assert [said[1] for said in talk.said[1:]] == [["Prepared.", "Said 1."], ["Said 2."]]


def test_words_that_steer_are_answered_by_the_successor() -> None:
    """With the call of the response that was steered."""
    talk = Talk()
    talk.create("Tell me.", stream_id="a")
    talk.begins("r1", "a")
    talk.steer("Shorter.", "r1")
    talk.steer("In verse.", "r1")
    for id in ("s1", "s2"):
        talk.says("response.steer.accepted", "a", steer={"id": id, "previous_response_id": "r1"})
    talk.ends("r1", "Once", "a", "incomplete", incomplete_details={"reason": "steered"})
    talk.answers("r2", "Upon a time.", "a", "r1")
    assert talk.said == [("r1", ["Tell me."], ["Once"]), ("r2", ["Shorter.", "In verse."], ["Upon a time."])]
    assert talk.told[1].call == "call for Tell me."


def test_words_that_wait_for_a_tools_result_are_answered_with_it() -> None:
    """The provider puts them in front of the input of the next create."""
    talk = Talk()
    talk.create("Tell me.")
    talk.begins("r1")
    talk.steer("Shorter.", "r1")
    talk.says("response.steer.accepted", steer={"id": "s1", "previous_response_id": "r1"})
    talk.ends("r1", "One moment.")
    talk.create("the result", previous_response_id="r1")
    talk.answers("r2", "Done.", previous="r1")
    assert talk.said[1] == ("r2", ["Shorter.", "the result"], ["Done."])


@pytest.mark.parametrize("accepted", [True, False])
def test_words_that_could_not_steer_are_not_taken_for_said(accepted: bool) -> None:
    """Refused at once, or given back after they were accepted."""
    talk = Talk()
    talk.create("Tell me.")
    talk.begins("r1")
    talk.steer("Shorter.", "r1")
    told = {"previous_response_id": "r1"} | ({"id": "s1"} if accepted else {})
    if accepted:
        talk.says("response.steer.accepted", steer=told)
    talk.says("response.steer.failed", error={"code": "invalid_input"}, steer=told)
    talk.ends("r1", "All.")
    talk.create("Next.", previous_response_id="r1")
    talk.answers("r2", "Yes.", previous="r1")
    assert [said[1] for said in talk.said] == [["Tell me."], ["Next."]]


def test_a_refused_create_is_not_taken_for_the_next_one() -> None:
    talk = Talk()
    talk.create("Refused.")
    talk.create("Taken.")
    talk.says("error", error={"code": "invalid_input"}, status=400)
    talk.answers("r1", "Yes.")
    assert talk.said == [("r1", ["Taken."], ["Yes."])]


def test_an_error_about_something_else_refuses_no_create() -> None:
    talk = Talk()
    talk.create("Taken.")
    talk.responses.stray()
    talk.says("error", error={"code": "invalid_event"}, status=400)
    talk.answers("r1", "Yes.")
    assert talk.said == [("r1", ["Taken."], ["Yes."])]


def test_a_create_without_any_answer_is_passed_over_where_the_next_continues_another_response() -> None:
    talk = Talk()
    talk.create("Lost.", previous_response_id="r0")
    talk.create("Taken.", previous_response_id="r9")
    talk.answers("r1", "Yes.", previous="r9")
    assert talk.said == [("r1", ["Taken."], ["Yes."])]


def test_of_a_response_that_ends_in_an_error_nothing_is_told() -> None:
    """The client asks again."""
    talk = Talk()
    talk.create("Hello.")
    talk.begins("r1")
    talk.says("response.output_text.delta", output_index=0, delta="Hi")
    talk.says("error", error={"code": "server_error"})
    talk.responses.end()
    assert talk.told == []


def test_what_came_before_the_connection_ended_is_told() -> None:
    """Whole items as they came, and the words of the one that wasn't whole."""
    talk = Talk()
    talk.create("Hello.")
    talk.begins("r1")
    talk.says("response.output_text.delta", output_index=0, delta="Hi ")
    talk.says("response.output_item.done", output_index=0, item=message("Hi there."))
    talk.says("response.output_text.delta", output_index=1, delta="How ")
    talk.says("response.output_text.delta", output_index=1, delta="are \ud83d")
    talk.responses.end()
    assert talk.said == [("r1", ["Hello."], ["Hi there.", "How are \ud83d"])]
    assert not talk.told[0].whole


def test_items_are_the_output_where_the_last_event_has_none() -> None:
    talk = Talk()
    talk.create("Hello.")
    talk.begins("r1")
    talk.says("response.output_item.done", output_index=0, item=message("Hi there."))
    talk.ends("r1")
    assert talk.said == [("r1", ["Hello."], ["Hi there."])]


def test_a_reply_that_is_too_long_is_told_without_it() -> None:
    """What was asked stands alone then."""
    talk = Talk(max_copy=2000)
    talk.create("Hello.")
    talk.begins("r1")
    for _ in range(3):
        talk.says("response.output_text.delta", output_index=0, delta="x" * 1000)
    talk.ends("r1", "y" * 2000)
    talk.create("Again.")
    talk.answers("r2", "Yes.")
    assert talk.said == [("r1", ["Hello."], []), ("r2", ["Again."], ["Yes."])]
    assert [one.whole for one in talk.told] == [False, True]


def test_a_create_that_is_too_long_is_not_told_and_the_next_one_is() -> None:
    talk = Talk(max_copy=500)
    talk.create("x" * 600)
    talk.create("Hello.")
    talk.answers("r1", "Long.")
    talk.answers("r2", "Short.")
    assert talk.said == [("r2", ["Hello."], ["Short."])]


def test_warm_ups_make_room() -> None:
    """However many there are, what is held is bounded."""
    talk = Talk(max_copy=5000)
    for number in range(100):
        talk.create("x" * 300, generate=False)
        talk.answers(f"w{number}", "")
    talk.create("Said.", previous_response_id="w99")
    talk.answers("r1", "Yes.", previous="w99")
    talk.create("Late.", previous_response_id="w3")
    talk.answers("r2", "Yes.", previous="w3")
    assert [said[1] for said in talk.said[-2:]] == [["x" * 300, "Said."], ["Late."]]


def test_creates_that_nobody_answers_are_not_held_without_end() -> None:
    """Nothing further of such a connection is told."""
    talk = Talk()
    for _ in range(2000):
        talk.create("Hello.")
    talk.answers("r1", "Yes.")
    assert talk.told == []


def test_the_reply_of_pretty_json_is_read_too() -> None:
    """Line breaks between the values of an event don't end it."""
    talk = Talk()
    talk.create("Hello.")
    talk.begins("r1")
    ended = {"type": "response.completed", "response": {"id": "r1", "status": "completed", "output": [message("a\u2028b")]}}
    talk.responses.told(json.dumps(ended, indent=2, ensure_ascii=False).replace("\n", "\r\n"))
    assert talk.said == [("r1", ["Hello."], ["a\u2028b"])]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["r1", "r2", "a", "s1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["id", "previous_response_id"]), inner),
    max_leaves=5,
)
KINDS = [
    "response.created",
    "response.completed",
    "response.incomplete",
    "response.failed",
    "response.output_item.done",
    "response.output_text.delta",
    "response.steer.accepted",
    "response.steer.failed",
    "error",
]
FIELDS = [
    "response",
    "stream_id",
    "output_index",
    "item",
    "delta",
    "steer",
    "input",
    "previous_response_id",
    "generate",
    "error",
]
EVENTS = st.builds(
    lambda kind, fields: {**fields, "type": kind}, st.sampled_from(KINDS), st.dictionaries(st.sampled_from(FIELDS), VALUES)
)


@given(st.lists(st.tuples(st.sampled_from(["create", "steer", "told", "stray"]), EVENTS), max_size=30), st.integers(0, 400))
@examples(300)
def test_no_event_breaks_it_and_its_room_comes_back(steps: list[tuple[str, dict[str, Any]]], room: int) -> None:
    """Of any shape, from either side, in any order."""
    talk = Talk(room)
    for what, event in steps:
        text = json.dumps(event)
        if what == "told":
            talk.responses.told(text)
        elif what == "create":
            talk.responses.create(text, event, "call")
        elif what == "steer":
            talk.responses.steer(text, event)
        else:
            talk.responses.stray()
        assert 0 <= held(talk) == room - talk.responses._room
        assert talk.responses._open == waiting(talk)
    talk.responses.end()
    for told in talk.told:
        assert isinstance(told.messages, list)
        spoken(told)


def held(talk: Talk) -> int:
    """The characters that the connection's responses hold."""
    of = talk.responses
    return (
        sum(len(one.text or "") for lane in of._asked.values() for one in lane)
        + sum(len(steer.text) for one in of._steered.values() for steer in one.steers)
        + sum(one.size + sum(map(len, one.inputs)) for one in of._running.values())
        + sum(len(text) for inputs in of._warm.values() for text in inputs)
    )


def waiting(talk: Talk) -> int:
    of = talk.responses
    return sum(map(len, of._asked.values())) + sum(len(one.steers) for one in of._steered.values())


@pytest.mark.parametrize(
    "text", ["", "[" * 100_000, '{"type": "response.created", "response": ' + '{"a":' * 50_000, "null", "7"]
)
def test_what_is_no_event_is_nothing(text: str) -> None:
    assert read_event(text) == {}
    Talk().responses.told(text)
