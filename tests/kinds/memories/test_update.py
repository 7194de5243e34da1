"""Update: corrections in place, of one's own, that fit the kind (MEM-3)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from germane.errors import InvalidInput, NotFound
from germane.kinds.memories.plans import new_memory, remember, update
from germane.kinds.memories.reads import MemoriesById
from germane.kinds.memories.value import Memory
from germane.types.plan import replay
from germane.types.scope import Scope
from support.memory_operations import MemoryOperations

pytestmark = pytest.mark.requirement("MEM-3")

NOW = datetime(2024, 5, 8, 12, tzinfo=UTC)
LATER = NOW + timedelta(days=1)
SCOPE = Scope(user="caroline")


@pytest.fixture
def ledger() -> MemoryOperations:
    return MemoryOperations()


def keep(ledger: MemoryOperations, text: str = "Lieks tea", kind: str = "note", scope: Scope = SCOPE, **given: Any) -> Memory:
    return ledger.commit(remember(new_memory(text, kind=kind, scope=scope, now=NOW, given=given))).memory


def test_a_new_text_changes_hash_and_time_and_nothing_else(ledger: MemoryOperations) -> None:
    """Counts, tags and validity stay."""
    old = keep(ledger, title="Drinks", tags=["taste"])
    new = ledger.commit(update(old.id, {}, text="Likes tea", at=LATER, scope=SCOPE))
    assert (new.text, new.updated_at, new.tags, new.valid_from) == ("Drinks: Likes tea", LATER, ("taste",), NOW)
    assert new.content_hash != old.content_hash
    assert ledger.memories == {old.id: new}


def test_attributes_change_without_the_content(ledger: MemoryOperations) -> None:
    """None removes an end."""
    old = keep(ledger, expires_at=LATER)
    new = ledger.commit(update(old.id, {"pinned": True, "expires_at": None, "confidence": 1}, at=LATER, scope=SCOPE))
    assert (new.pinned, new.expires_at, new.confidence, new.content) == (True, None, 1.0, old.content)


@pytest.mark.parametrize(
    ("kind", "changes", "message"),
    [
        ("preference", {"title": "Tea"}, "a preference has no title"),
        ("note", {"key": "city"}, "a note has no key"),
        ("note", {"id": "other"}, "a note has no id"),
        ("note", {"body": " "}, "body is empty"),
        ("note", {"confidence": 2}, "confidence must be"),
        ("note", {"expires_at": NOW}, "not after the beginning"),
        ("episode", {"title": "Tea"}, "an episode has no title"),
        ("note", {}, "nothing to update"),
    ],
)
def test_what_does_not_fit_is_refused_and_nothing_is_written(
    ledger: MemoryOperations, kind: str, changes: dict[str, Any], message: str
) -> None:
    """Fields of other kinds, fields that aren't the caller's, values out of range."""
    old = keep(ledger, kind=kind)
    with pytest.raises(InvalidInput, match=message):
        ledger.commit(update(old.id, changes, at=LATER, scope=SCOPE))
    assert ledger.memories == {old.id: old}


def test_a_beginning_behind_the_end_is_refused(ledger: MemoryOperations) -> None:
    """Whichever of the two is given."""
    old = keep(ledger, valid_to=LATER)
    for changes in ({"valid_from": LATER}, {"valid_to": NOW}):
        with pytest.raises(InvalidInput, match=r"valid_to .* is not after the beginning"):
            ledger.commit(update(old.id, changes, at=LATER, scope=SCOPE))
    assert ledger.memories == {old.id: old}


def test_the_key_of_a_fact_stays(ledger: MemoryOperations) -> None:
    """A fact's timeline depends on its key."""
    old = keep(ledger, "Vienna", "fact", key="city")
    with pytest.raises(InvalidInput, match="key of a fact can't be changed"):
        ledger.commit(update(old.id, {"key": "town"}, at=LATER, scope=SCOPE))
    assert (
        ledger.commit(update(old.id, {"value": ["Vienna", "Graz"]}, at=LATER, scope=SCOPE)).text == 'city: ["Vienna", "Graz"]'
    )


@pytest.mark.requirement("SCOPE-3")
@pytest.mark.parametrize("owner", [None, "melanie"])
def test_what_is_absent_and_what_is_not_ones_own_look_the_same(ledger: MemoryOperations, owner: str | None) -> None:
    """A user's scope sees what is agent-wide, but doesn't change it."""
    other = keep(ledger, scope=Scope(user=owner))
    for id in (other.id, "nothing"):
        with pytest.raises(NotFound, match=f"no memory '{id}' here"):
            ledger.commit(update(id, {"pinned": True}, at=LATER, scope=SCOPE))


def test_nothing_is_written_where_nothing_differs(ledger: MemoryOperations) -> None:
    """An update to what it says already is no update."""
    old = keep(ledger)
    decision = replay(update(old.id, {"body": "Lieks tea"}, at=LATER, scope=SCOPE), {MemoriesById: {old.id: old}})
    assert (decision.changes, decision.outcome) == ((), old)
