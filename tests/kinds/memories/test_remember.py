"""Remember: what is new, what is there already, and what it supersedes (MEM-1, MEM-4)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.errors import InvalidInput
from germane.extraction.memories.extracted import extracted_memory
from germane.extraction.memories.plans import remember_found
from germane.kinds.memories.plans import Remembered, new_memory, remember
from germane.kinds.memories.reads import FactsOnKey, MemoriesByHash
from germane.kinds.memories.value import Memory
from germane.types.candidate import Provenance
from germane.types.plan import Decision, Plan, Read
from germane.types.scope import Scope
from support.examples import examples
from support.memory_operations import MemoryOperations

NOW = datetime(2024, 5, 8, 12, tzinfo=UTC)
SCOPE = Scope(user="caroline")


def memory(text: str, *, now: datetime = NOW, scope: Scope = SCOPE, kind: str = "note", **given: Any) -> Memory:
    return new_memory(text, kind=kind, scope=scope, now=now, given=given)


def fact(value: str, day: int, **given: Any) -> Memory:
    return memory(value, kind="fact", key="city", observed_at=NOW + timedelta(days=day), now=NOW + timedelta(days=99), **given)


@pytest.fixture
def ledger() -> MemoryOperations:
    return MemoryOperations()


@pytest.mark.requirement("MEM-1")
def test_a_new_memory_belongs_to_the_scopes_user_and_holds_from_now() -> None:
    """Its id carries the time it was made."""
    made = memory("Likes tea")
    assert (made.user, made.kind, made.text, made.confidence, made.sensitivity) == (
        "caroline",
        "note",
        "Likes tea",
        0.8,
        "private",
    )
    assert (made.created_at, made.valid_from, made.valid_to) == (NOW, NOW, None)
    assert int(made.id.replace("-", "")[:12], 16) == NOW.timestamp() * 1000


@pytest.mark.requirement("MEM-1")
@pytest.mark.parametrize(
    "given",
    [
        {"colour": "red"},
        {"tags": "work"},
        {"tags": [""]},
        {"tags": ["x" * 65]},
        {"tags": [1]},
        {"sensitivity": "secret"},
        {"confidence": 1.01},
        {"confidence": float("nan")},
        {"confidence": True},
        {"pinned": 1},
        {"expires_at": NOW},
        {"valid_to": NOW - timedelta(days=1)},
        {"valid_from": "soon"},
    ],
)
def test_an_attribute_that_does_not_fit_is_refused_by_name(given: dict[str, Any]) -> None:
    """The message begins with or holds the name of what was wrong."""
    with pytest.raises(InvalidInput, match=next(iter(given)).removesuffix("s")):
        memory("Likes tea", **given)


@pytest.mark.requirement("MEM-1")
def test_tags_are_tidied_sorted_and_each_there_once() -> None:
    """Composed and decomposed accents are the same tag."""
    assert memory("x", tags=["b", " a  a ", "b", "e\u0301", "é"]).tags == ("a a", "b", "é")


@pytest.mark.requirement("SCOPE-4")
def test_naive_times_are_read_in_the_scopes_zone() -> None:
    """Ends as well as beginnings."""
    made = memory("x", scope=Scope(zone="Asia/Tokyo"), expires_at=datetime(2024, 6, 1, 9))
    assert made.expires_at == datetime(2024, 6, 1, tzinfo=UTC)


def test_an_end_in_the_past_needs_a_beginning_before_it() -> None:
    """What has ended can be imported, a memory that never holds can't."""
    past = memory("x", valid_from=NOW - timedelta(days=9), expires_at=NOW - timedelta(days=1))
    assert past.holds(NOW - timedelta(days=5))
    assert not past.holds(NOW)


@pytest.mark.requirement("MEM-4")
def test_an_exact_duplicate_returns_the_memory_that_is_there(ledger: MemoryOperations) -> None:
    """Case and blanks make no difference to a text."""
    first = ledger.commit(remember(memory("Likes  tea")))
    again = ledger.commit(remember(memory("likes tea\n", now=NOW + timedelta(days=1))))
    assert first.created
    assert again == Remembered(memory=first.memory, created=False)
    assert len(ledger.memories) == 1


@pytest.mark.requirement("MEM-4")
def test_the_same_text_of_another_kind_is_no_duplicate(ledger: MemoryOperations) -> None:
    """A preference and a note say different things."""
    ledger.commit(remember(memory("Likes tea")))
    assert ledger.commit(remember(memory("Likes tea", kind="preference"))).created


@pytest.mark.requirement("MEM-4", "GATHER-6")
def test_what_holds_no_longer_is_no_duplicate(ledger: MemoryOperations) -> None:
    """Remembering what has expired brings it back."""
    ledger.commit(remember(memory("On leave", expires_at=NOW + timedelta(days=1))))
    assert ledger.commit(remember(memory("On leave", now=NOW + timedelta(days=2)))).created


def test_a_duplicate_takes_the_stricter_sensitivity(ledger: MemoryOperations) -> None:
    """Saying that it is sensitive counts, whether or not it was known before; saying it is public doesn't undo that."""
    ledger.commit(remember(memory("Takes insulin")))
    raised = ledger.commit(remember(memory("Takes insulin", sensitivity="sensitive")))
    kept = ledger.commit(remember(memory("Takes insulin", sensitivity="public")))
    assert [done.memory.sensitivity for done in (raised, kept)] == ["sensitive", "sensitive"]
    assert len(ledger.memories) == 1


@pytest.mark.requirement("MEM-4", "GATHER-6")
def test_a_newer_fact_supersedes_the_older_which_stays_as_a_version(ledger: MemoryOperations) -> None:
    """The older one ends where the newer begins."""
    old = ledger.commit(remember(fact("Graz", 1))).memory
    new = ledger.commit(remember(fact("Vienna", 5)))
    ended = ledger.memories[old.id]
    assert new.superseded == (old.id,)
    assert (ended.valid_to, ended.superseded_by) == (new.memory.valid_from, new.memory.id)
    assert ended.holds(NOW + timedelta(days=4))
    assert not ended.holds(NOW + timedelta(days=5))


@pytest.mark.requirement("MEM-4", "GATHER-6")
def test_an_older_observation_that_arrives_late_has_ended(ledger: MemoryOperations) -> None:
    """It ends where the newer begins, which goes on to hold."""
    newer = ledger.commit(remember(fact("Vienna", 5))).memory
    late = ledger.commit(remember(fact("Graz", 1)))
    assert (late.created, late.superseded) == (True, ())
    assert (late.memory.valid_to, late.memory.superseded_by) == (newer.valid_from, newer.id)
    assert ledger.memories[newer.id] == newer


@pytest.mark.requirement("MEM-4")
def test_a_fact_that_is_true_again_is_a_new_one(ledger: MemoryOperations) -> None:
    """Graz, Vienna, Graz: three stays."""
    for day, city in enumerate(["Graz", "Vienna", "Graz"]):
        assert ledger.commit(remember(fact(city, day))).created
    assert [kept.text for kept in ledger.memories.values() if kept.valid_to is None] == ["city: Graz"]


def test_a_facts_value_may_differ_by_case_alone(ledger: MemoryOperations) -> None:
    """A corrected spelling is a new value."""
    ledger.commit(remember(fact("iphone", 1)))
    assert ledger.commit(remember(fact("iPhone", 2))).created


def test_a_pin_passes_to_what_supersedes_it(ledger: MemoryOperations) -> None:
    """Who pinned the city wants to see the city."""
    ledger.commit(remember(fact("Graz", 1, pinned=True)))
    assert ledger.commit(remember(fact("Vienna", 2))).memory.pinned
    assert not ledger.commit(remember(fact("Linz", 0))).memory.pinned


def test_a_twin_with_the_same_hash_but_another_kind_is_not_taken_for_it() -> None:
    """The hash finds candidates, the kind decides."""
    ledger = MemoryOperations()
    note = memory("x")
    ledger.memories["twin"] = replace(note, id="twin", kind="behavior")
    assert ledger.commit(remember(note)).created


@pytest.mark.requirement("MEM-4", "GATHER-6")
@examples(100)
@given(st.lists(st.tuples(st.sampled_from("ABC"), st.integers(0, 20)), max_size=12))
def test_in_whatever_order_facts_arrive_one_holds_at_a_time(arrivals: list[tuple[str, int]]) -> None:
    """At every moment the latest observation so far holds, and nothing else; sending all again adds nothing."""
    ledger, latest = MemoryOperations(), dict[int, str]()
    for letter, day in arrivals:
        latest[day] = f"{letter}{day}"
        ledger.commit(remember(fact(latest[day], day)))
    for day in range(21):
        holding = [kept for kept in ledger.memories.values() if kept.holds(NOW + timedelta(days=day, hours=1))]
        known = [seen for seen in latest if seen <= day]
        assert [kept.text for kept in holding] == ([f"city: {latest[max(known)]}"] if known else [])
    kept_before = len(ledger.memories)
    for day, value in latest.items():
        assert not ledger.commit(remember(fact(value, day))).created
    assert len(ledger.memories) == kept_before


class Whole(MemoryOperations):
    """Answers with what has ended, too."""

    def _answer(self, read: Read[Any]) -> Any:
        if isinstance(read, FactsOnKey | MemoriesByHash):
            read = replace(read, at=datetime.min.replace(tzinfo=UTC))
        return super()._answer(read)


def said(value: str, day: int) -> Memory:
    """What rules find in a message of this day: a fact about a city, or an answer's language, which excludes the others."""
    behavior = value.startswith("Answer")
    return extracted_memory(
        value,
        kind="behavior" if behavior else "fact",
        key="" if behavior else "city",
        confidence=0.8,
        sensitivity="private",
        source=f"m{day}",
        said_at=NOW + timedelta(days=day),
        provenance=Provenance(metadata={"extracted": "rules"}),
        scope=SCOPE,
    )


def storing(found: list[Memory]) -> Plan[None]:
    changes = (yield from remember_found(found)).changes
    return Decision(changes, None)


_SAID = st.tuples(st.sampled_from(("A", "B", "Answer in German", "Answer in French")), st.integers(0, 6))


@pytest.mark.requirement("MEM-2", "MEM-4")
@examples(200)
@given(st.lists(st.tuples(st.booleans(), st.lists(_SAID, min_size=1, max_size=4)), max_size=6))
def test_what_had_ended_before_changes_nothing(batches: list[tuple[bool, list[tuple[str, int]]]]) -> None:
    """Stated facts and what is found in messages, several at once and in any order, become the same memories whether versions
    that had ended are read or not."""
    narrow, whole = MemoryOperations(), Whole()
    for stated, batch in batches:
        for ledger in (narrow, whole):
            if stated:
                for value, day in batch:
                    ledger.commit(remember(fact(value, day)))
            else:
                ledger.commit(storing([said(value, day) for value, day in batch]))
        kept = [
            sorted((one.kind, one.text, one.valid_from, str(one.valid_to), one.pinned) for one in ledger.memories.values())
            for ledger in (narrow, whole)
        ]
        assert kept[0] == kept[1]
