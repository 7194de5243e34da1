"""Feedback, retrieval counts and the directive (MEM-5)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from germane.errors import InvalidInput
from germane.kinds.memories.directive import set_directive
from germane.kinds.memories.plans import count_retrievals, feedback, new_memory, remember
from germane.kinds.memories.reads import CountRetrievals
from germane.kinds.memories.value import Memory
from germane.types.plan import replay
from germane.types.scope import Scope
from support.memory_operations import MemoryOperations

NOW = datetime(2024, 5, 8, 12, tzinfo=UTC)


def keep(ledger: MemoryOperations, text: str) -> Memory:
    return ledger.commit(remember(new_memory(text, scope=Scope(), now=NOW))).memory


@pytest.mark.requirement("MEM-5")
def test_a_verdict_counts_once_for_each_known_memory() -> None:
    """Ids of messages and of nothing are passed over."""
    ledger = MemoryOperations()
    tea, coffee = keep(ledger, "tea"), keep(ledger, "coffee")
    assert ledger.commit(feedback([tea.id, tea.id, "message-1"], helpful=True, scope=Scope())) == 1
    assert ledger.commit(feedback([tea.id, coffee.id], helpful=False, scope=Scope())) == 2
    kept = ledger.memories
    assert [(kept[id].helpful, kept[id].harmful) for id in (tea.id, coffee.id)] == [(1, 1), (0, 1)]
    assert [kept[id].usefulness for id in (tea.id, coffee.id)] == [1 / 2, 1 / 3]
    assert kept[tea.id].updated_at == tea.updated_at


@pytest.mark.requirement("MEM-5")
@pytest.mark.parametrize("ids", [[], ["nothing"]])
def test_a_verdict_on_nothing_known_writes_nothing(ids: list[str]) -> None:
    """No change, hence no new revision."""
    ledger = MemoryOperations()
    assert ledger.commit(feedback(ids, helpful=True, scope=Scope())) == 0
    assert ledger.written == []


@pytest.mark.requirement("MEM-5", "SCOPE-2")
@pytest.mark.parametrize("helpful", [True, False])
def test_what_is_agent_wide_is_not_for_one_user_to_judge(helpful: bool) -> None:
    """A vote on them would count for every other user. The user's own memories are counted, and the outcome is their number."""
    ledger, ann = MemoryOperations(), Scope(user="ann")
    shared = keep(ledger, "tea")
    hers = ledger.commit(remember(new_memory("coffee", scope=ann, now=NOW))).memory
    assert ledger.commit(feedback([shared.id, hers.id], helpful, scope=ann)) == 1
    assert (ledger.memories[shared.id], ledger.memories[hers.id].usefulness) == (shared, 2 / 3 if helpful else 1 / 3)
    assert ledger.commit(feedback([shared.id, hers.id], helpful, scope=Scope())) == 1
    assert ledger.memories[shared.id].usefulness == (2 / 3 if helpful else 1 / 3)


@pytest.mark.parametrize("helpful", [1, "no", None])
def test_a_verdict_is_true_or_false(helpful: Any) -> None:
    """The string "no" would be true."""
    with pytest.raises(InvalidInput, match="helpful must be true or false"):
        replay(feedback(["a"], helpful, scope=Scope()), {})


@pytest.mark.requirement("MEM-5")
def test_a_batch_counts_each_answer_a_memory_went_into() -> None:
    """A memory named three times rises by three."""
    decision = replay(count_retrievals(["a", "b", "a", "a"]), {})
    assert decision.changes == (CountRetrievals(("a", "b")), CountRetrievals(("a",)), CountRetrievals(("a",)))
    assert decision.outcome == 4
    assert replay(count_retrievals([]), {}).changes == ()


def test_a_directive_is_kept_as_written_and_a_blank_one_is_removed() -> None:
    """It is the operator's text."""
    ledger = MemoryOperations()
    assert ledger.commit(set_directive(" Be brief.\n")) == ledger.directive == " Be brief.\n"
    assert ledger.commit(set_directive(" \n")) == ledger.directive == ""


@pytest.mark.parametrize("text", ["\udc00", None, "x" * 100_001])
def test_a_directive_that_cannot_be_kept_is_refused(text: Any) -> None:
    """By name, without its text."""
    with pytest.raises(InvalidInput, match="directive"):
        replay(set_directive(text), {})
