"""Forget: only what was named, never by accident, any number of times (MEM-3)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from germane.errors import InvalidInput
from germane.kinds.memories.forgetting import forget, left_of
from germane.kinds.memories.plans import new_memory, remember
from germane.kinds.memories.reads import Forget, ForgetOwner, LeftOf, Remains, Select, Selection
from germane.kinds.memories.value import Receipt
from germane.types.plan import Read, replay
from germane.types.scope import Scope
from support.memory_operations import MemoryOperations

pytestmark = pytest.mark.requirement("MEM-3")

NOW = datetime(2024, 5, 8, 12, tzinfo=UTC)
SCOPE = Scope(user="caroline")


def keep(ledger: MemoryOperations, text: str, **given: Any) -> str:
    return ledger.commit(remember(new_memory(text, scope=SCOPE, now=NOW, given=given))).memory.id


def test_a_receipt_says_what_is_left_and_where() -> None:
    """What still has something of it isn't among what was checked, and is what the receipt waits for."""
    found: dict[type[Read[Any]], Any] = {LeftOf: Remains(("memories", "derivations"), ("derivations",))}
    receipt = replay(left_of(Receipt(memory_ids=("m",))), found).outcome
    assert (receipt.checked, receipt.waiting_for.split(",")[0]) == (("memories",), "derivations")
    assert replay(left_of(Receipt(memory_ids=("m",))), {LeftOf: Remains(("memories",))}).outcome.waiting_for == ""


def test_a_dry_run_says_what_would_go_and_writes_nothing() -> None:
    """The same receipt but for its flag."""
    ledger = MemoryOperations()
    id = keep(ledger, "a", tags=["work"])
    keep(ledger, "b")
    assert ledger.commit(forget(tag="work", dry_run=True, scope=SCOPE, at=NOW)) == Receipt(memory_ids=(id,), dry_run=True)
    assert len(ledger.memories) == 2
    assert ledger.commit(forget(tag="work", scope=SCOPE, at=NOW)) == Receipt(memory_ids=(id,))
    assert len(ledger.memories) == 1


def test_a_receipt_says_in_words_whether_anything_matched() -> None:
    """`scrubbed` alone reads as if something had been forgotten."""
    nothing = Receipt(scrubbed=True)
    assert (nothing.matched, str(nothing)) == (False, "nothing matches: nothing was forgotten")
    assert str(Receipt(dry_run=True)) == "nothing matches: nothing would be forgotten"
    some = Receipt(memory_ids=("a",), event_ids=("b", "c"), waiting_for="a running backup")
    assert some.matched
    assert str(some).startswith("forgot 1 memories, 2 messages; some of it is still left in the file")


def test_forgetting_again_is_an_empty_receipt() -> None:
    """It is idempotent: nothing more is written."""
    ledger = MemoryOperations()
    id = keep(ledger, "a")
    assert len(ledger.commit(forget(ids=[id, id], scope=SCOPE, at=NOW))) == 1
    written = len(ledger.written)
    assert ledger.commit(forget(ids=[id], scope=SCOPE, at=NOW)) == Receipt()
    assert len(ledger.written) == written


def test_messages_go_with_memories_and_the_tombstone_says_who_and_why() -> None:
    """One change takes both."""
    answers: dict[type[Read[Any]], Any] = {Select: Selection(memory_ids=("m",), event_ids=("e",))}
    decision = replay(forget(session="s", scope=SCOPE, at=NOW, by="caroline", reason="asked"), answers)
    assert decision.changes == (
        Forget(memory_ids=("m",), event_ids=("e",), sessions=("s",), at=NOW, by="caroline", reason="asked"),
    )
    assert decision.outcome == Receipt(memory_ids=("m",), event_ids=("e",))


@pytest.mark.parametrize(
    ("criteria", "message"),
    [
        ({}, "Give ids, key, tag, session, source_kind, channel or user"),
        ({"key": ""}, "key is blank"),
        ({"user": " "}, "user is blank"),
        ({"everything": True, "tag": "work"}, "no other criterion but user"),
        ({"everything": True, "ids": ["a"]}, "no other criterion but user"),
        ({"user": "melanie"}, "forgets only its own"),
    ],
)
def test_a_criterion_that_could_take_too_much_is_refused(criteria: dict[str, Any], message: str) -> None:
    """No criterion, a blank one, contradictory ones, another user."""
    with pytest.raises(InvalidInput, match=message):
        replay(forget(**criteria, scope=SCOPE, at=NOW), {Select: Selection(memory_ids=("m",))})


def test_no_ids_select_nothing() -> None:
    """An empty list is not the absence of a list: the store isn't even asked."""
    assert replay(forget(ids=[], tag="work", scope=SCOPE, at=NOW), {}).outcome == Receipt()


def test_one_id_may_come_as_a_string() -> None:
    """It isn't taken for a list of letters."""
    plan = forget(ids="abc", scope=SCOPE, at=NOW)
    assert next(plan) == Select(ids=("abc",))


def test_an_agents_own_scope_forgets_a_user() -> None:
    """All that the user owns with the agent."""
    plan = forget(user="melanie", everything=True, scope=Scope(), at=NOW)
    assert next(plan) == Select(user="melanie", everything=True)


@pytest.mark.parametrize(
    ("criteria", "scope", "user"),
    [
        ({"everything": True}, SCOPE, None),
        ({"everything": True, "user": "melanie"}, Scope(), "melanie"),
        ({"user": "melanie"}, Scope(), "melanie"),
    ],
)
def test_everything_takes_its_owner_too_found_or_not(criteria: dict[str, Any], scope: Scope, user: str | None) -> None:
    """Also where there is nothing but a directive."""
    for found in (Selection(), Selection(memory_ids=("m",))):
        decision = replay(forget(**criteria, scope=scope, at=NOW, by="op"), {Select: found})
        assert decision.changes == (ForgetOwner(user=user, at=NOW, by="op"),)
        assert decision.outcome == Receipt(memory_ids=found.memory_ids)
    assert replay(forget(**criteria, scope=scope, at=NOW, dry_run=True), {Select: Selection()}).changes == ()


def test_a_user_with_another_criterion_is_no_owner() -> None:
    """Only what matches goes."""
    decision = replay(forget(user="melanie", tag="t", scope=Scope(), at=NOW), {Select: Selection(memory_ids=("m",))})
    assert [type(change) for change in decision.changes] == [Forget]
