"""Short repeats: "ok" and "yes" without ids and times, from clients that record new turns only."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from datetime import timedelta

import pytest

from germane.kinds.events.value import Recorded
from germane.types.message import Message
from support.session_operations import NOW, SessionOperations

QUESTIONS = ("ok", "yes", "next", "and then?", "thanks")
ANSWERS = ("Done.", "Noted.", "Anything else?")
LONG = "Please book the room on the second floor for Monday. " * 5


def turn(*texts: str) -> list[Message]:
    return [Message.of("assistant" if index % 2 else "user", text) for index, text in enumerate(texts)]


def calls(chance: random.Random) -> Iterator[list[Message]]:
    """The calls of one chat: whole turns, questions and answers in calls of their own, or questions alone."""
    habit = chance.choice(("turns", "messages", "questions"))
    for _ in range(chance.randint(5, 25)):
        question, answer = turn(chance.choice(QUESTIONS), chance.choice(ANSWERS))
        if habit == "turns":
            yield [question, answer]
        elif habit == "messages":
            yield from ([question], [answer])
        else:
            yield [question]


def kept(ledger: SessionOperations) -> list[tuple[str, str]]:
    return [(event.role, event.text) for event in ledger.events]


def spoken(messages: Sequence[Message]) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in messages]


@pytest.mark.parametrize("retries", [0.0, 0.3], ids=["each call once", "some calls again"])
def test_chats_of_short_repeats_are_kept_as_they_were_said(retries: float) -> None:
    """200 chats, 11 seconds and more between two turns, a third of the calls sent again within ten."""
    wrong = 0
    for seed in range(200):
        chance, ledger, now, said = random.Random(seed), SessionOperations(), NOW, list[Message]()
        for call in calls(chance):
            now += timedelta(seconds=chance.uniform(11, 300))
            ledger.record(call, now=now)
            said += call
            while chance.random() < retries:
                assert ledger.record(call, now=now + timedelta(seconds=chance.uniform(0, 9))).added == ()
        wrong += kept(ledger) != spoken(said)
    assert wrong == 0


def test_what_was_taken_for_a_retry_is_told() -> None:
    """200 chats as fast as a machine: what isn't stored is counted as assumed, message for message."""
    for seed in range(200):
        chance, ledger, now, sent, assumed = random.Random(seed), SessionOperations(), NOW, 0, 0
        for call in calls(chance):
            now += timedelta(seconds=chance.uniform(0, 20))
            outcome = ledger.record(call, now=now)
            sent, assumed = sent + len(call), assumed + outcome.assumed_resent
        assert len(ledger.events) + assumed == sent


def test_an_ok_after_the_answer_was_stored_is_new_and_certain() -> None:
    """The assistant's message stands in between."""
    ledger = SessionOperations()
    ledger.record(turn("ok", "Done."))
    outcome = ledger.retry(turn("ok"))
    assert (len(outcome.added), outcome.assumed_resent, outcome.assumed_new) == (1, 0, ())


def test_the_last_message_alone_is_a_retry_for_ten_seconds_and_then_new() -> None:
    """Either way the outcome says what was assumed."""
    ledger = SessionOperations()
    ledger.record(turn("ok"), now=NOW)
    assert ledger.record(turn("ok"), now=NOW + timedelta(seconds=10)) == Recorded(skipped=1, assumed_resent=1)
    outcome = ledger.record(turn("ok"), now=NOW + timedelta(seconds=11))
    assert outcome == Recorded(added=(ledger.events[1].id,), assumed_new=(ledger.events[1].id,))


def test_a_turn_like_the_first_one_is_new_later() -> None:
    """The beginning of a session is no sign of a retry, however short the session."""
    ledger = SessionOperations()
    for call in (turn("hi", "Hello."), turn("next", "Done."), turn("hi", "Hello.")):
        ledger.record(call)
    assert ledger.said == ["hi", "Hello.", "next", "Done.", "hi", "Hello."]


def test_a_turn_of_tools_that_is_said_again_is_new_later() -> None:
    """A turn is one question with all that follows, however many messages."""
    ledger = SessionOperations()
    lights = [Message.of("user", "lights on"), Message.of("tool", "ok"), Message.of("assistant", "Done.")]
    ledger.record(lights)
    ledger.record(lights)
    assert len(ledger.events) == 6


@pytest.mark.parametrize(
    "again",
    [turn(LONG, "Done."), turn("yes", "Done.", LONG, "Done."), turn(LONG, "Done.", "more?")],
    ids=["a long question", "more than a turn", "the list goes on"],
)
def test_what_nobody_says_twice_is_held_and_certain(again: list[Message]) -> None:
    """A day later as at once."""
    ledger = SessionOperations()
    ledger.record(turn("yes", "Done.", LONG, "Done."))
    outcome = ledger.record(again, now=NOW + timedelta(days=1))
    assert (outcome.assumed_resent, outcome.assumed_new) == (0, ())
    assert ledger.said == ["yes", "Done.", LONG, "Done.", *(["more?"] if len(again) == 3 else [])]


def test_a_whole_conversation_that_goes_on_is_certain_from_its_second_turn() -> None:
    """The most common client, however short its first turn; a window that goes on is held, but assumed."""
    ledger = SessionOperations()
    ledger.record(turn("hi", "Hello."))
    outcome = ledger.record(turn("hi", "Hello.", "ok", "Done."))
    assert (len(outcome.added), outcome.assumed_resent) == (2, 0)
    outcome = ledger.record(turn("ok", "Done.", "bye", "Bye."))
    assert (len(outcome.added), outcome.assumed_resent) == (2, 2)


def test_ids_and_times_leave_no_doubt() -> None:
    """The same time is the same message, a day later too; another time is another message, at once too."""
    ledger = SessionOperations()
    timed = [Message.of("user", "ok", created_at=NOW - timedelta(hours=1))]
    ledger.record(timed)
    assert ledger.record(timed, now=NOW + timedelta(days=1)) == Recorded(skipped=1)
    other = [Message.of("user", "ok", created_at=NOW + timedelta(seconds=1))]
    assert ledger.retry(other) == Recorded(added=(ledger.events[1].id,))


def test_an_import_adds_nothing_whenever_it_is_repeated() -> None:
    """Its file is the conversation, not a turn of it."""
    ledger = SessionOperations()
    ledger.record(turn("hi", "Hello."), source_kind="import")
    assert ledger.record(turn("hi", "Hello."), source_kind="import", now=NOW + timedelta(days=1)) == Recorded(skipped=2)
