"""Plan run: the tables of all reads and changes, and the run of one plan: answers its reads and applies its changes.

The plan's scope bounds both: reads see what the scope sees; changes reach what its user owns and what a `Select` of the same
plan named. A plan runs once. The changes of a plan that only forgets may be applied twice, since forgetting is idempotent.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Generic, TypeVar

from germane.errors import InvalidInput
from germane.kinds.events.reads import PutEvent
from germane.kinds.memories.reads import Forget, ForgetOwner
from germane.stores.sql.blocks.plans import BLOCK_CHANGES, BLOCK_READS
from germane.stores.sql.conversations.alias_rows import ALIAS_CHANGES, ALIAS_READS
from germane.stores.sql.conversations.archive_rows import CONVERSATION_CHANGES, CONVERSATION_READS
from germane.stores.sql.documents import DOCUMENT_CHANGES, DOCUMENT_READS
from germane.stores.sql.events.event_rows import put_events
from germane.stores.sql.events.reader import EVENT_CHANGES, EVENT_READS
from germane.stores.sql.forgetting import FORGETTING_CHANGES, FORGETTING_READS
from germane.stores.sql.gate import GATE_CHANGES, GATE_READS
from germane.stores.sql.graph.plans import GRAPH_CHANGES, GRAPH_READS
from germane.stores.sql.inventory import INVENTORY_READS, INVENTORY_STORE_READS
from germane.stores.sql.keys import KEY_CHANGES, KEY_READS
from germane.stores.sql.links import bind
from germane.stores.sql.memories.conflicts import (
    CONFLICT_CHANGES,
    CONFLICT_READS,
    DIRECTIVE_CHANGES,
    DIRECTIVE_READS,
    DIRECTIVE_STORE_READS,
)
from germane.stores.sql.memories.extraction_queue import QUEUE_CHANGES, QUEUE_READS, QUEUE_STORE_CHANGES, QUEUE_STORE_READS
from germane.stores.sql.memories.reader import MEMORY_CHANGES, MEMORY_READS
from germane.stores.sql.profile import PROFILE_CHANGES, PROFILE_READS
from germane.stores.sql.reading import Answers, ReadTransaction, ScopeReading, StoreAnswers
from germane.stores.sql.tasks.plans import TASK_CHANGES, TASK_READS
from germane.stores.sql.transaction import Appliers, ScopeWriting, StoreAppliers, Transaction
from germane.types.plan import Change, Decision, Plan, Read, StorePlan, StoreRead, run_plan
from germane.types.scope import Scope

T = TypeVar("T")

READS: Answers = {
    **ALIAS_READS,
    **BLOCK_READS,
    **CONFLICT_READS,
    **DIRECTIVE_READS,
    **DOCUMENT_READS,
    **EVENT_READS,
    **FORGETTING_READS,
    **GATE_READS,
    **GRAPH_READS,
    **CONVERSATION_READS,
    **INVENTORY_READS,
    **MEMORY_READS,
    **PROFILE_READS,
    **QUEUE_READS,
    **TASK_READS,
}
"""The function that answers each read, within a plan and outside of any."""


def answer_read(reading: ScopeReading, read: Read[Any]) -> Any:
    """Answers a read. Raises `InvalidInput` for one that the store doesn't know."""
    answer = READS.get(type(read))
    if answer is None:
        raise InvalidInput(f"the store can't answer {type(read).__name__}")
    return answer(reading, read)


CHANGES: Appliers = {
    **ALIAS_CHANGES,
    **BLOCK_CHANGES,
    **CONFLICT_CHANGES,
    **DIRECTIVE_CHANGES,
    **DOCUMENT_CHANGES,
    **EVENT_CHANGES,
    **FORGETTING_CHANGES,
    **GATE_CHANGES,
    **GRAPH_CHANGES,
    **CONVERSATION_CHANGES,
    **MEMORY_CHANGES,
    **PROFILE_CHANGES,
    **QUEUE_CHANGES,
    **TASK_CHANGES,
}
"""The function that applies each change but `PutEvent`: events that follow one another are written together."""


class PlanRun(Generic[T]):
    """A plan as a job of the writer. Calling it runs the plan, applies its changes in the transaction, and returns its
    outcome."""

    protects = True
    """The transaction's `protect` is called here, where more than events is written."""

    def __init__(self, scope: Scope, plan: Plan[T]) -> None:
        self._scope, self._plan = scope, plan
        self._decided: Decision[T] | None = None
        self._transaction: Transaction
        self._writing: ScopeWriting

    def __call__(self, transaction: Transaction) -> T:
        self._transaction, self._writing = transaction, self._renewed(transaction)
        if self._decided is None:
            self._decided = run_plan(self._plan, self.answer)
        self.apply(self._decided.changes)
        return self._decided.outcome

    def _renewed(self, transaction: Transaction) -> ScopeWriting:
        """What a plan found in one transaction stays found where its changes are applied in a second one."""
        writing = ScopeWriting(self._scope, transaction)
        if self._decided is not None:
            writing.selected |= self._writing.selected
            writing.found_blocks |= self._writing.found_blocks
        return writing

    @property
    def forgets(self) -> bool:
        """Whether all changes of the plan forget. True before the plan has run, since its changes aren't known then."""
        return self._decided is None or all(isinstance(change, Forget | ForgetOwner) for change in self._decided.changes)

    def answer(self, read: Read[Any]) -> Any:
        return answer_read(self._writing, read)

    def apply(self, changes: tuple[Change, ...]) -> None:
        """Applies the changes in order; consecutive events are written together."""
        if not all(isinstance(change, PutEvent) for change in changes):
            self._transaction.protect()
        run: list[PutEvent] = []
        for change in changes:
            if isinstance(change, PutEvent):
                run.append(change)
                continue
            self._put_events(run)
            run = []
            self._apply(change)
            if change.derivation is not None:
                bind(self._transaction.connection, self._transaction.own(self._scope), change.derivation)
        self._put_events(run)

    def _put_events(self, run: list[PutEvent]) -> None:
        if run:
            for change in run:
                self._writing.check_owner(change.event.user)
            put_events(self._transaction, self._writing.own_id(), run)

    def _apply(self, change: Change) -> None:
        apply = CHANGES.get(type(change))
        if apply is None:
            raise InvalidInput(f"the store can't write {type(change).__name__}")
        apply(self._writing, change)


# The store as a whole: its reads and changes are others than those of a scope, so that no plan of a scope reaches them.


STORE_READS: StoreAnswers = {**DIRECTIVE_STORE_READS, **INVENTORY_STORE_READS, **KEY_READS, **QUEUE_STORE_READS}
"""The function that answers each read of the store, within a plan and outside of any."""
STORE_CHANGES: StoreAppliers = {**KEY_CHANGES, **QUEUE_STORE_CHANGES}
"""The function that applies each change of the store."""


def answer_store_read(reading: ReadTransaction, read: StoreRead[Any]) -> Any:
    """Answers a read of the store. Raises `InvalidInput` for one that the store doesn't know."""
    answer = STORE_READS.get(type(read))
    if answer is None:
        raise InvalidInput(f"the store can't answer {type(read).__name__} outside of a scope")
    return answer(reading, read)


def run_store_plan(transaction: Transaction, plan: StorePlan[T]) -> T:
    """Runs the plan, applies its changes in the transaction, and returns its outcome."""
    decision = run_plan(plan, partial(answer_store_read, transaction))
    for change in decision.changes:
        apply = STORE_CHANGES.get(type(change))
        if apply is None:
            raise InvalidInput(f"the store can't write {type(change).__name__} outside of a scope")
        apply(transaction, change)
    return decision.outcome
