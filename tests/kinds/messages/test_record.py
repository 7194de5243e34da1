"""Record: each message once, verbatim, in order."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from germane.errors import Conflict, InvalidInput
from germane.kinds.events.value import Recorded
from germane.types.message import Message, Opaque, Role, Text, ToolCall, ToolResult
from germane.types.scope import Scope
from support.session_operations import NOW, SessionOperations


def said(*texts: str) -> list[Message]:
    """A conversation: the user begins."""
    return [Message.of("assistant" if turn % 2 else "user", text) for turn, text in enumerate(texts)]


def user(text: str, **given: Any) -> Message:
    return Message.of("user", text, **given)


@pytest.fixture
def ledger() -> SessionOperations:
    return SessionOperations()


def test_a_message_becomes_an_event_with_everything_that_came_with_it(ledger: SessionOperations) -> None:
    """Id, name, time, text and the caller's dict."""
    raw = {"role": "user", "content": "Hello", "custom": [1]}
    at = datetime(2023, 1, 1, 9, tzinfo=UTC)
    added = ledger.record([user("Hello", id="m1", name="Caroline", created_at=at)], raws=[raw], channel="chat").added
    event = ledger.events[0]
    assert added == (event.id,)
    assert (event.type, event.role, event.text, event.name, event.user) == (
        "user_message",
        "user",
        "Hello",
        "Caroline",
        "caroline",
    )
    assert (event.message_id, event.created_at, event.recorded_at, event.session) == ("m1", at, NOW, "s")
    assert (event.provenance.message_id, event.provenance.session, event.provenance.channel) == ("m1", "s", "chat")
    assert event.raw == raw


def test_messages_without_a_time_keep_their_order(ledger: SessionOperations) -> None:
    """Each a microsecond after the one before, so that any sort by time keeps it."""
    ledger.record(said("a", "b", "c"))
    assert [event.created_at for event in ledger.events] == [NOW + timedelta(microseconds=turn) for turn in range(3)]
    assert [event.position for event in ledger.events] == [0, 1, 2]


@pytest.mark.requirement("SCOPE-4")
def test_a_naive_time_is_local_and_one_in_the_future_stays(ledger: SessionOperations) -> None:
    """Stored in UTC."""
    ledger.record([user("a", created_at=datetime(2999, 7, 1, 12))], scope=Scope(zone="Asia/Tokyo"))
    assert ledger.events[0].created_at == datetime(2999, 7, 1, 3, tzinfo=UTC)


@pytest.mark.parametrize(
    ("role", "parts", "type", "text"),
    [
        (
            "assistant",
            (Text("Let me see"), ToolCall(id="c", name="find", arguments="{}")),
            "assistant_message",
            "Let me see\nfind({})",
        ),
        ("tool", (ToolResult(call_id="c", text="42"),), "tool_message", "42"),
        ("user", (ToolResult(call_id="c", text="42"),), "tool_message", "42"),
        ("user", (ToolResult(call_id="c", text="42"), Text("so?")), "user_message", "42\nso?"),
        ("user", (Opaque(kind="audio"),), "user_message", "[audio]"),
    ],
)
def test_tool_calls_results_and_unreadable_parts_are_kept_as_text(
    ledger: SessionOperations, role: Role, parts: tuple[Any, ...], type: str, text: str
) -> None:
    """A message that only answers a tool call is a tool message in every provider's shape."""
    ledger.record([Message(role=role, parts=parts)])
    assert [(event.type, event.text) for event in ledger.events] == [(type, text)]


def test_system_and_empty_messages_are_neither_kept_nor_compared(ledger: SessionOperations) -> None:
    """They may change or move between two sends of the same conversation."""
    hello, empty = user("Hello"), Message(role="assistant")
    assert ledger.record([Message.of("system", "Be brief"), hello, empty]).skipped == 2
    done = ledger.record([Message.of("system", "Be kind"), hello, Message.of("assistant", "Hi")])
    assert (len(done.added), done.skipped) == (1, 2)
    assert ledger.said == ["Hello", "Hi"]


def test_lone_surrogates_are_kept_as_replacement_characters(ledger: SessionOperations) -> None:
    """And the same broken text sent again is the same message."""
    broken = user("a\ud83d b", name="\udc00", id="\ud800")
    ledger.record([broken])
    assert ledger.record([broken]).added == ()
    event = ledger.events[0]
    assert (event.text, event.name, event.message_id) == ("a\ufffd b", "\ufffd", "\ufffd")


@pytest.mark.parametrize("id", ["", "x" * 257, 7])
def test_a_message_id_that_cannot_be_kept_is_refused(ledger: SessionOperations, id: Any) -> None:
    """An id must find its message again."""
    with pytest.raises(InvalidInput, match="id must be a string of 1 to 256"):
        ledger.record([user("a", id=id)])


def test_a_session_must_have_a_name(ledger: SessionOperations) -> None:
    """An empty one would join strangers' conversations."""
    with pytest.raises(InvalidInput, match="session must have 1 to 256"):
        ledger.record(said("a"), session="")


def test_dicts_must_come_one_a_message(ledger: SessionOperations) -> None:
    """Else they would be kept with the wrong ones."""
    with pytest.raises(InvalidInput, match="0 dicts for 1 messages"):
        ledger.record(said("a"), raws=[])


def test_the_same_id_and_content_is_skipped_wherever_it_stands(ledger: SessionOperations) -> None:
    """Within a call as between calls."""
    a, b = user("a", id="1"), user("b", id="2")
    assert len(ledger.record([a, a]).added) == 1
    assert len(ledger.record([b, a]).added) == 1
    assert ledger.said == ["a", "b"]


@pytest.mark.parametrize("other", [user("A", id="1"), Message.of("assistant", "a", id="1")])
def test_the_same_id_with_other_content_is_a_conflict_and_writes_nothing(ledger: SessionOperations, other: Message) -> None:
    """The message names the id; what stood before and after it in the call isn't written either."""
    with pytest.raises(Conflict, match="'1'"):
        ledger.record([user("first"), user("a", id="1"), other])
    assert ledger.said == []
    ledger.record([user("a", id="1")])
    with pytest.raises(Conflict, match="'1'"):
        ledger.record([user("new"), other, user("newer", id="2")])
    assert ledger.said == ["a"]


def test_new_ids_make_new_messages_whatever_they_say(ledger: SessionOperations) -> None:
    """With ids, "ok" in calls of its own is kept each time; the tail needn't even be read."""
    for id in "123":
        ledger.record([user("ok", id=id)])
    assert ledger.said == ["ok", "ok", "ok"]
    assert {type(read).__name__ for read in ledger.reads} == {"EventsByMessageId", "SessionLength"}


def test_a_whole_conversation_sent_each_turn_adds_what_is_new(ledger: SessionOperations) -> None:
    """So does a window of its last turns."""
    conversation = said("hi", "hello", "ok", "ok", "ok", "bye")
    for turn in range(1, 7):
        assert len(ledger.record(conversation[max(0, turn - 3) : turn]).added) == 1
    assert ledger.said == [message.text for message in conversation]


def test_ok_twice_is_two_messages(ledger: SessionOperations) -> None:
    """In one call; with the list sent again and grown; with ids or times of their own."""
    ledger.record([user("a"), user("ok")])
    ledger.record([user("a"), user("ok"), user("ok")])
    assert ledger.said == ["a", "ok", "ok"]
    for hour in (1, 2, 2):
        ledger.record([user("sure", created_at=NOW + timedelta(hours=hour))])
    assert ledger.said == ["a", "ok", "ok", "sure", "sure"]


def test_what_equals_the_end_of_the_session_is_a_retry(ledger: SessionOperations) -> None:
    """A call that was repeated because its answer was lost adds nothing."""
    ledger.record(said("a", "ok"))
    for list in (said("a", "ok"), said("a", "ok")[1:]):
        assert ledger.retry(list) == Recorded(skipped=len(list), assumed_resent=len(list))
    assert ledger.said == ["a", "ok"]


def test_the_same_words_further_back_are_no_retry(ledger: SessionOperations) -> None:
    """A client that records only what is new may say a thing again."""
    for text in ("ok", "sure", "ok", "sure?"):
        ledger.record([user(text)])
    assert ledger.said == ["ok", "sure", "ok", "sure?"]


def test_a_turn_that_begins_like_the_session_is_new(ledger: SessionOperations) -> None:
    """One message in common is too little to take it for the same."""
    ledger.record(said("ok", "sure"))
    assert len(ledger.record(said("ok", "fine")).added) == 2


def test_events_that_are_no_messages_stand_in_nobodys_way(ledger: SessionOperations) -> None:
    """A conversation is aligned across what else happened in its session."""
    ledger.record(said("a", "b", "c"))
    ledger.events[1] = ledger.events[1]._replace(role="", type="file_read")
    assert ledger.record([user("a"), user("c"), user("d")]).skipped == 2


def test_an_earlier_state_sent_late_adds_nothing(ledger: SessionOperations) -> None:
    """Two writers of one conversation may finish in the wrong order."""
    ledger.record(said("a", "b", "c", "d"))
    assert ledger.retry(said("a", "b")).added == ()


def test_a_conversation_that_was_edited_adds_from_the_edit_on(ledger: SessionOperations) -> None:
    """What was said before stays as it was said."""
    ledger.record(said("a", "b", "c", "d"))
    ledger.record(said("a", "b", "C", "D"))
    assert ledger.said == ["a", "b", "c", "d", "C", "D"]


def test_where_only_answers_have_ids_the_questions_are_known_by_them(ledger: SessionOperations) -> None:
    """A client that keeps the provider's ids, sending any stretch again."""
    turns = [message for n in range(40) for message in (user("ok"), Message.of("assistant", f"a{n}", id=f"m{n}"))]
    for end in range(2, 81, 2):
        assert len(ledger.record(turns[max(0, end - 6) : end]).added) == 2
    assert ledger.record(turns[60:66]).added == ()
    assert len(ledger.events) == 80


def test_what_was_forgotten_does_not_come_back_with_the_conversation(ledger: SessionOperations) -> None:
    """From the middle or from the end, without ids or with them."""
    for id in (None, "m"):
        ledger = SessionOperations()
        turns = [user(text, id=id and id + text) for text in "abcdef"]
        ledger.record(turns)
        ledger.forget(1, 2, 5)
        ledger.record([*turns, user("new", id=id)])
        assert ledger.said == ["a", "d", "e", "new"]


def test_a_million_characters_and_ten_thousand_messages_are_kept(ledger: SessionOperations) -> None:
    """And sent again they add nothing but what is new."""
    turns = [*said(*map(str, range(9_999))), user("x" * 1_000_000)]
    assert len(ledger.record(turns).added) == 10_000
    assert len(ledger.record([*turns, user("more")]).added) == 1
    assert [len(event.text) for event in ledger.events[-2:]] == [1_000_000, 4]
