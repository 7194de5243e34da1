"""Talk: what counts as shown and as tokens, as the requests of a conversation follow each other."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from germane.api.agent import Agent
from germane.types.candidate import Breakdown, Chosen, Provenance, Scored
from germane.types.context import Context
from germane_eval.dataset import Question
from germane_eval.everyday import OPEN, RequestAnswer, Talk, TurnWithoutNeed
from germane_eval.passes import Asker
from germane_testing.builders import candidate

pytestmark = pytest.mark.requirement("EVAL-1")

SAID = {"m1": "We moved to Braga for the violins.", "m2": "Aldo takes 40 euros.", "m3": "Aldo takes 55 euros now."}


def item(text: str, message: str | None, *, source: str = "messages", rank: int = 1) -> Chosen:
    parts = Breakdown(relevance=0.5, recency=0.5, usefulness=0.5, confidence=0.5, frequency=0.0)
    made = candidate(text, id=f"i-{text}", source=source, provenance=Provenance(message_id=message))
    return Chosen(scored=Scored(candidate=made, score=0.5, log_odds=0.0, breakdown=parts, rank=rank), text=text, tokens=1)


def context(talk: Talk, added: str, *items: Chosen, profile: int | None = None) -> Context:
    """An assembly that puts `added`, all that stands, before the talk's messages."""
    tokens = {} if profile is None else {"profile_tokens": profile}
    messages = [{"role": "system", "content": added}, *talk.messages] if added else talk.messages
    return cast("Context", SimpleNamespace(items=items, metadata=SimpleNamespace(**tokens), to_openai=lambda: messages))


def talk(budget: int = OPEN) -> Talk:
    return Talk(conversation="nuno", session="s", said=SAID, count=lambda text: len(text.split()), budget=budget)


def asked(text: str = "where is it", *evidence: str, answer: str = "", outdated: str = "") -> Question:
    superseded = frozenset(outdated.split())
    return Question(
        id=text, text=text, evidence=frozenset(evidence), category="self", answer=answer or None, superseded=superseded
    )


def answered(one: Talk, question: Question, added: str, *items: Chosen, profile: int | None = None) -> RequestAnswer:
    one.ask(question)
    return one.answer(question, context(one, added, *items, profile=profile))


def test_the_requests_are_turns_with_a_reply_between_them() -> None:
    """The name of who asks is kept."""
    one = talk()
    one.ask(asked("first"))
    one.ask(Question(id="q", text="second", evidence=frozenset(), name="Rosa"))
    assert one.messages == [
        {"role": "user", "content": "first"},
        {"role": "assistant", "content": "Okay."},
        {"role": "user", "content": "second", "name": "Rosa"},
    ]


def test_a_request_is_found_when_all_its_evidence_is_held() -> None:
    """By the message itself, or by a line made of it with the answer's words."""
    question = asked("why Braga, and how much", "m1", "m3", answer="violins, 55 euros")
    assert answered(talk(), question, f"{SAID['m1']} {SAID['m3']}").found is True
    assert answered(talk(), question, SAID["m1"], item("plank: 55 euros", "m3")).found is True
    assert answered(talk(), question, SAID["m1"], item("plank: dear", "m3")).found is False
    assert answered(talk(), question, "", item("55 euros", "m3")).found is False
    assert answered(talk(), asked("thanks"), "").found is None


def test_what_was_shown_for_an_earlier_request_still_counts() -> None:
    """As text, and as tokens that stand but aren't new."""
    one = talk()
    first = answered(one, asked("how much", "m3", answer="55 euros"), "three more words", item("55 euros", "m3"))
    second = answered(one, asked("how much again", "m3", answer="55 euros"), "three more words and two")
    assert (first.found, first.standing, first.new, first.items) == (True, 3, 3, 1)
    assert (second.found, second.standing, second.new, second.items) == (True, 5, 2, 0)


def test_outdated_text_alone_is_told_from_outdated_text_beside_what_holds() -> None:
    """Whatever of it stands since an earlier turn included."""
    question = asked("how much", "m3", answer="55 euros", outdated="m2")
    one = talk()
    assert answered(one, question, "", item("40 euros", "m2")).alone is True
    assert answered(one, question, "").alone is True
    assert answered(one, question, "", item("55 euros", "m3")).alone is False
    assert answered(talk(), question, "").alone is False


def test_what_always_stands_is_counted_apart() -> None:
    """Its tokens and its items, the first time and when it stands already; a message's ids may come with a line."""
    one = talk()
    line = item("from Braga", "m1", source="profile")
    first = answered(one, asked("hello"), "one two three four five", line, item("x", "m2"), profile=4)
    assert (first.standing, first.new, first.profile, first.searched) == (5, 5, 4, 1)
    assert (first.items, first.searched_items) == (2, 1)
    second = answered(one, asked("thanks"), "one two three four five six seven", profile=4)
    assert (second.new, second.profile, second.searched, second.items) == (2, 4, 2, 0)
    assert first.missed
    assert not second.missed
    assert not answered(talk(), asked("thanks"), "from Braga", line, profile=2).missed


def test_a_line_made_of_several_messages_counts_for_each_of_them() -> None:
    """Its provenance names them."""

    class Merged(SimpleNamespace):
        message_ids = ("m1", "m3")
        message_id = None

    line = cast("Chosen", SimpleNamespace(text="Braga, violins, 55 euros", source="profile", provenance=Merged()))
    question = asked("why Braga, and how much", "m1", "m3", answer="violins, 55 euros")
    assert answered(talk(), question, "", line).found is True


def test_a_miss_has_its_texts_without_a_budget_only() -> None:
    """The evidence with what was shown of it, and the best of what was added; a request that got all has none."""
    question = asked("why Braga, and how much", "m1", "m3", answer="violins, 55 euros")
    items = (item("second", None, rank=2), item("Aldo, dear", "m3", rank=1))
    missed = answered(talk(), question, "", *items)
    assert [(one.id, one.text, one.instead) for one in missed.needed] == [
        ("m1", SAID["m1"], ()),
        ("m3", SAID["m3"], ("Aldo, dear",)),
    ]
    assert missed.shown == ("Aldo, dear", "second")
    assert answered(talk(250), question, "", *items).needed == ()
    assert answered(talk(), question, f"{SAID['m1']} {SAID['m3']}", *items).shown == ()
    needless = answered(talk(), asked("thanks"), "", *items)
    assert needless.missed
    assert needless.shown == ("Aldo, dear", "second")


async def test_what_always_stands_is_no_answer_to_a_turn_without_need() -> None:
    """Its tokens and its lines aren't counted there either."""
    lines = [item("from Braga", "m1", source="profile"), item("Aldo", "m2")]
    metadata = SimpleNamespace(total_tokens_injected=50, profile_tokens=30)

    class Standing:
        async def assemble(self, messages: object, **options: object) -> object:
            return SimpleNamespace(items=tuple(lines), metadata=metadata)

    turn = TurnWithoutNeed(id=1, language="en", kind="thanks", half="report", text="Thanks")
    asker = Asker(strategy="default", model="gpt-4o", budgets=(), deadline=None)
    asked_turn = await asker.ask_turn(cast("Agent", Standing()), turn, conversation="nuno", at=None)
    assert (asked_turn.tokens, asked_turn.items) == (20, 1)
    del lines[1]  # the wrapper is around what always stands, and around nothing else
    asked_turn = await asker.ask_turn(cast("Agent", Standing()), turn, conversation="nuno", at=None)
    assert (asked_turn.tokens, asked_turn.items) == (0, 0)
