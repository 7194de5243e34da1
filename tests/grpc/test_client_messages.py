"""Messages of the client: those sent must all be in the reply, in order and unaltered, or the reply is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from types import MappingProxyType
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.api.remote.operation_call import ClientScope
from germane.grpc.client import conversation
from germane.grpc.client.assembly import AssembleCall
from germane.grpc.client.conversation import Altered, Oversized, SentMessage, add_messages, verify_reply
from germane.grpc.messages import context_pb2
from support.examples import examples

Wire: TypeAlias = context_pb2.Message
ADDED = Wire(role="system", content="what the model needs to know")
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
TALK: list[Any] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "one", "id": "m1", "created_at": "2026-01-01"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "three"},
    {"role": "user", "content": [{"type": "text", "text": "four"}, {"type": "image_url", "image_url": {"url": "x"}}]},
]


def sent(messages: list[Any]) -> list[SentMessage]:
    return add_messages(messages, context_pb2.AssembleContextRequest())


def back(messages: list[Any], *wires: Wire, system: Any = None) -> list[Any]:
    written = "" if system is None else json.dumps(system)
    return verify_reply(sent(messages), context_pb2.AssembleContextResponse(messages=wires, system_json=written))[0]


def as_json(*messages: Any) -> list[Wire]:
    return [Wire(role=message["role"], json=json.dumps(message)) for message in messages]


def wires(messages: list[Any]) -> list[Wire]:
    return [one.wire for one in sent(messages)]


def test_what_came_back_as_it_was_sent_is_the_callers_own_object() -> None:
    """With whatever was put around it."""
    first, *rest = wires(TALK)
    out = back(TALK, ADDED, first, *rest[:3], ADDED, rest[3])
    assert [*map(id, (*out[1:5], out[6]))] == [*map(id, TALK)]


def test_what_came_back_written_in_another_way_is_the_callers_own_object() -> None:
    """JSON where a role and a text were sent: it says the same."""
    out = back(TALK, *as_json(*TALK))
    assert [*map(id, out)] == [*map(id, TALK)]


def test_germanes_own_keys_may_be_gone() -> None:
    """A provider would refuse them; what was said is untouched."""
    bare = {"role": "user", "content": "one"}
    assert back(TALK, *as_json(TALK[0], bare, *TALK[2:])) == [TALK[0], bare, *TALK[2:]]


ALTERATIONS: dict[str, Callable[[list[Any]], list[Any]]] = {
    "all of them lost": lambda told: [],
    "one lost": lambda told: told[:3] + told[4:],
    "the last lost": lambda told: told[:-1],
    "two swapped": lambda told: [told[0], told[2], told[1], *told[3:]],
    "a word changed": lambda told: [told[0], {"role": "user", "content": "two"}, *told[2:]],
    "a word added to a text": lambda told: [told[0], {"role": "user", "content": "memory: one"}, *told[2:]],
    "a role changed": lambda told: [told[0], {**told[1], "role": "assistant"}, *told[2:]],
    "the call lost": lambda told: [*told[:2], {"role": "assistant", "content": "closed"}, *told[3:]],
    "the call's arguments changed": lambda told: [
        *told[:2],
        {**told[2], "tool_calls": [{**CALL, "function": {"name": "f", "arguments": "[]"}}]},
        *told[3:],
    ],
    "the result's call changed": lambda told: [*told[:3], {**told[3], "tool_call_id": "c2"}, *told[4:]],
    "the image lost": lambda told: [*told[:4], {"role": "user", "content": [{"type": "text", "text": "four"}]}],
    "the image changed": lambda told: [
        *told[:4],
        {"role": "user", "content": [told[4]["content"][0], {"type": "image_url", "image_url": {"url": "y"}}]},
    ],
    "a turn of the assistant's invented": lambda told: [*told[:4], {"role": "assistant", "content": "I lied."}, *told[4:]],
    "a tool's result invented": lambda told: [*told, {"role": "tool", "tool_call_id": "c1", "content": "no"}],
    "the system's text changed": lambda told: [{"role": "system", "content": "Be long."}, *told[1:]],
}


@pytest.mark.requirement("RPC-3")
@pytest.mark.parametrize("alteration", ALTERATIONS)
def test_an_answer_in_which_the_callers_messages_are_altered_is_none(alteration: str) -> None:
    """Lost, moved, changed or put into somebody's mouth."""
    with pytest.raises(Altered):
        back(TALK, ADDED, *as_json(*ALTERATIONS[alteration](TALK)))


@pytest.mark.parametrize("written", ["[]", "5", "null", "{"])
def test_an_answer_that_holds_no_messages_is_none(written: str) -> None:
    """JSON of something else, or none."""
    with pytest.raises(ValueError):  # noqa: PT011
        back(TALK, Wire(json=written), *wires(TALK))


def test_turns_written_as_one_and_additions_inside_a_turn_pass() -> None:
    """As for providers that want the roles to take turns, and the system prompt apart."""
    talk = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "one"}, {"role": "user", "content": "two"}]
    texts = [{"type": "text", "text": text} for text in ("one", "what is known", "two")]
    whole = {"role": "user", "content": texts}
    assert back(talk, *as_json(whole), system="What is known\n\nBe brief.") == [whole]
    for system in ("What is known", [{"type": "text", "text": "Be long."}], 5):
        with pytest.raises(Altered):
            back(talk, *as_json(whole), system=system)
    with pytest.raises(Altered):
        back(talk, *as_json({"role": "user", "content": texts[:2]}), system="Be brief.")


def test_the_same_words_count_as_often_as_they_were_said() -> None:
    """Two messages with the text "ok" aren't found in one."""
    talk = [{"role": "user", "content": "ok"}, {"role": "user", "content": "ok"}]
    with pytest.raises(Altered):
        back(talk, *as_json({"role": "user", "content": [{"type": "text", "text": "ok"}]}))


def said() -> st.SearchStrategy[dict[str, Any]]:
    text = st.text(st.characters(codec="utf-8"), max_size=8)
    plain = st.fixed_dictionaries({"role": st.sampled_from(["system", "user", "assistant"]), "content": text})
    parts = st.lists(st.fixed_dictionaries({"type": st.just("text"), "text": text}), max_size=3)
    return plain | st.fixed_dictionaries({"role": st.just("user"), "content": parts}, optional={"id": text})


@pytest.mark.requirement("RPC-3")
@examples(200)
@given(talk=st.lists(said(), max_size=6), data=st.data())
def test_whatever_is_added_between_the_callers_messages_are_all_there(talk: list[Any], data: st.DataObject) -> None:
    """The same objects in the same order, however they were written on the way."""
    out: list[Wire] = []
    for one in sent(talk):
        out += [ADDED] * data.draw(st.integers(0, 2))
        out.append(one.wire if data.draw(st.booleans()) else as_json(*one.originals)[0])
    found = back(talk, *out, ADDED)
    own = iter(found)
    assert all(any(one is message for one in own) for message in talk)
    assert len(found) == len(out) + 1


@pytest.mark.requirement("RPC-3")
@examples(200)
@given(talk=st.lists(said(), min_size=1, max_size=6), data=st.data())
def test_no_answer_without_one_of_the_callers_texts_passes(talk: list[Any], data: st.DataObject) -> None:
    """Whichever message is replaced by germane's own."""
    lost = data.draw(st.integers(0, len(talk) - 1))
    content = talk[lost]["content"]
    blank = not any(part["text"].strip() for part in content) if isinstance(content, list) else not content.strip()
    out = [ADDED if at == lost else one.wire for at, one in enumerate(sent(talk))]
    if blank:
        back(talk, *out)
    else:
        with pytest.raises(Altered):
            back(talk, *out)


@pytest.mark.requirement("RPC-4")
@pytest.mark.parametrize("rich", [False, True])
def test_of_a_long_conversation_the_latest_go_one_by_one_and_all_come_back(rich: bool) -> None:
    """Ten thousand messages: all but the latest are sent as one text, and the answer has them again."""
    talk: list[Any] = [{"role": "system", "content": "Be brief."}]
    for number in range(10_000):
        text = f"message {number}"
        talk.append({"role": ("user", "assistant")[number % 2], "content": [{"type": "text", "text": text}] if rich else text})
    call = AssembleCall(ClientScope(), talk, model="gpt-4o")
    request = call.build()
    assert len(request.messages) <= 400
    assert all(f"message {number}" in request.messages[1].content for number in range(0, 9_600, 100))
    answer = call.answer(context_pb2.AssembleContextResponse(messages=[ADDED, *request.messages]))
    assert [*map(id, answer.messages[1:])] == [*map(id, talk)]


def test_a_long_conversation_is_never_parted_between_a_call_and_its_result() -> None:
    """The messages sent one by one begin with a user's turn; the message for the rest has the assistant's role."""
    talk: list[Any] = []
    for number in range(400):
        talk += [{"role": "user", "content": f"{number}"}, TALK[2], TALK[3], {"role": "assistant", "content": "done"}]
    talk.append({"role": "user", "content": "thanks"})
    assert talk[-conversation.MAX_MESSAGES]["role"] == "assistant"
    _, *latest = sent(talk)
    assert latest[0].wire.role == "user"
    with pytest.raises(Altered):  # what stands for others can't be sent on
        back(talk, *as_json({"role": "assistant", "content": sent(talk)[0].wire.content}), *wires(talk)[1:])


def test_more_than_can_be_sent_in_time_isnt_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one message or in many; the client doesn't encode them first."""
    monkeypatch.setattr(conversation, "MAX_BYTES", 1000)
    for talk in ([{"role": "user", "content": "x" * 1001}], [{"role": "user", "content": [{"text": "x" * 1001}]}], TALK * 300):
        with pytest.raises(Oversized):
            sent(talk)
    with pytest.raises(Oversized):
        sent([{"role": "assistant", "content": [Spoken("x" * 1001)]}])


class Spoken:
    """An SDK's own object."""

    def __init__(self, content: str = "hello") -> None:
        self.content = content

    def model_dump(self, **asked: Any) -> dict[str, Any]:
        return {"role": "assistant", "content": self.content}


def test_messages_of_other_kinds_go_as_what_they_say_and_come_back_as_they_are() -> None:
    """Mappings, an SDK's objects, times."""
    talk = [
        MappingProxyType({"role": "user", "content": "hi", "created_at": datetime(2026, 1, 1)}),
        Spoken(),
        {"role": "user", "content": "\ud800"},
    ]
    out = back(talk, ADDED, *wires(talk))
    assert [*map(id, out[1:])] == [*map(id, talk)]
    assert json.loads(wires(talk)[0].json)["created_at"] == "2026-01-01T00:00:00"
