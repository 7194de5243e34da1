"""Plan run: the tables of all reads and changes, and the run of one plan: answers its reads and applies its changes.

The plan's scope bounds both: reads see what the scope sees; changes reach what its user owns and what a `Select` of the same
plan named. A plan runs once. The changes of a plan that only forgets may be applied twice, since forgetting is idempotent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from germane.errors import InvalidInput
from germane.extraction.llm.queue import ClaimHeld, FinishClaim
from germane.kinds.events.reads import (
    EventsById,
    EventsByMessageId,
    EventsNamed,
    LastSaid,
    LatestTyped,
    PositionsTaken,
    PutEvent,
    PutReplacement,
    ReservePositions,
    SaidBefore,
    SaidLately,
    SessionLength,
    SessionTail,
    TypedPosition,
)
from germane.kinds.events.value import FIRST_TYPED
from germane.kinds.memories.directive import SetDirective
from germane.kinds.memories.reads import (
    ConflictById,
    ConflictsBetween,
    CountFeedback,
    CountRetrievals,
    DerivedFrom,
    DropVectors,
    EndMemory,
    FactsOnKey,
    Forget,
    ForgetOwner,
    IdsInUse,
    LeftOf,
    MemoriesByHash,
    MemoriesById,
    MemoriesWith,
    PutConflict,
    PutMemory,
    PutTombstones,
    RecordedConflicts,
    Remains,
    ResolveConflict,
    RestoreConflict,
    Select,
    Selection,
)
from germane.stores.sql.archive.archive_rows import HISTORY_CHANGES, HISTORY_READS
from germane.stores.sql.blocks.plans import BLOCK_CHANGES, BLOCK_READS
from germane.stores.sql.documents import DOCUMENT_CHANGES, DOCUMENT_READS
from germane.stores.sql.events import event_rows
from germane.stores.sql.events.event_rows import put_replacement
from germane.stores.sql.events.reader import SEEN_EVENT_READS
from germane.stores.sql.events.typed_events import events_named, latest_typed, positions_taken, typed_position
from germane.stores.sql.forgetting import forget, forget_whole, left_of
from germane.stores.sql.gate import GATE_READS
from germane.stores.sql.graph.plans import GRAPH_CHANGES, GRAPH_READS
from germane.stores.sql.injections import INJECTION_CHANGES, INJECTION_READS
from germane.stores.sql.inventory import INVENTORY_READS
from germane.stores.sql.links import bind
from germane.stores.sql.listing import VisiblePartition
from germane.stores.sql.memories import memory_rows
from germane.stores.sql.memories.conflicts import (
    DIRECTIVE_READS,
    conflict_by_id,
    conflicts_between,
    put_conflict,
    resolve_conflict,
    restore_conflict,
    set_directive,
)
from germane.stores.sql.memories.extraction_queue import claim_held, finish_claim
from germane.stores.sql.memories.memory_rows import memories_with, said_lately
from germane.stores.sql.memories.reader import SEEN_MEMORY_READS, drop_vectors
from germane.stores.sql.profile import PROFILE_CHANGES, PROFILE_READS
from germane.stores.sql.reading import Answers, ScopeReading, nothing
from germane.stores.sql.selection import select
from germane.stores.sql.tasks.plans import TASK_CHANGES, TASK_READS
from germane.stores.sql.tombstones import ids_in_use, put_tombstones
from germane.stores.sql.transaction import Appliers, ScopeWriting, Transaction, to_own
from germane.types.plan import Change, Decision, Plan, Read, run_plan
from germane.types.scope import Scope

T = TypeVar("T")
R = TypeVar("R")


def _of_plan(answer: Callable[[Transaction, VisiblePartition, R], T], empty: Callable[[], T]) -> Callable[[ScopeReading, R], T]:
    """Returns the function that answers a read of the scope's own partition which a plan alone may ask: the answer counts what
    the same commit is about to write. `empty` makes the answer where the partition doesn't exist."""

    def answered(reading: ScopeReading, read: R) -> T:
        transaction, own = _within_plan(reading, read).transaction, reading.own
        return empty() if own is None else answer(transaction, own, read)

    return answered


def _within_plan(reading: ScopeReading, read: object) -> ScopeWriting:
    if not isinstance(reading, ScopeWriting):
        raise InvalidInput(f"{type(read).__name__} is answered within a plan alone")
    return reading


def _selected(reading: ScopeReading, read: Select) -> Selection:
    writing = _within_plan(reading, read)
    writing.write_events()
    own = _owned(writing, read.user)
    if own is None:
        return Selection()
    found, partitions = select(writing.connection, own, read)
    writing.selected.update((own, *partitions))
    return found


def _left_of(reading: ScopeReading, read: LeftOf) -> Remains:
    writing = _within_plan(reading, read)
    writing.transaction.flush()
    return left_of(writing.connection, read)


def _owned(writing: ScopeWriting, user: str | None) -> VisiblePartition | None:
    """Returns the partition of `user` (None: of the scope's own user). A scope with a user gets no other user's partition."""
    scope = writing.scope
    user = scope.user if user is None else user
    if scope.user not in (None, user):
        return None
    whose = Scope(org=scope.org, agent=scope.agent, user=user)
    return next((partition for partition in writing.transaction.visible(whose) if partition.user == user), None)


READS: Answers = {
    **BLOCK_READS,
    **DIRECTIVE_READS,
    **DOCUMENT_READS,
    **GATE_READS,
    **GRAPH_READS,
    **HISTORY_READS,
    **INJECTION_READS,
    **INVENTORY_READS,
    **PROFILE_READS,
    **SEEN_EVENT_READS,
    **SEEN_MEMORY_READS,
    **TASK_READS,
    MemoriesById: lambda reading, read: memory_rows.by_id(reading.connection, reading.visible, read),
    MemoriesByHash: _of_plan(memory_rows.by_hash, tuple),
    MemoriesWith: _of_plan(memories_with, tuple),
    FactsOnKey: _of_plan(memory_rows.facts_on_key, tuple),
    DerivedFrom: _of_plan(memory_rows.derived_from, tuple),
    ConflictById: _of_plan(conflict_by_id, nothing),
    ConflictsBetween: _of_plan(conflicts_between, RecordedConflicts),
    ClaimHeld: _of_plan(claim_held, bool),
    EventsById: _of_plan(event_rows.by_id, dict),
    EventsByMessageId: _of_plan(event_rows.by_message_id, dict),
    EventsNamed: _of_plan(events_named, dict),
    LatestTyped: _of_plan(latest_typed, tuple),
    SessionTail: _of_plan(event_rows.tail, tuple),
    SessionLength: _of_plan(event_rows.length, int),
    LastSaid: _of_plan(event_rows.last_said, nothing),
    SaidLately: _of_plan(said_lately, SaidBefore),
    TypedPosition: _of_plan(typed_position, lambda: FIRST_TYPED),
    PositionsTaken: _of_plan(positions_taken, frozenset),
    IdsInUse: lambda reading, read: ids_in_use(_within_plan(reading, read).transaction, reading.own, read),
    Select: _selected,
    LeftOf: _left_of,
}
"""The function that answers each read, within a plan and outside of any."""


def answer_read(reading: ScopeReading, read: Read[Any]) -> Any:
    """Answers a read. Raises `InvalidInput` for one that the store doesn't know."""
    answer = READS.get(type(read))
    if answer is None:
        raise InvalidInput(f"the store can't answer {type(read).__name__}")
    return answer(reading, read)


def _put_memory(writing: ScopeWriting, change: PutMemory) -> None:
    writing.check_owner(change.memory.user)
    memory_rows.put_memory(writing.transaction, writing.own_id(), change.memory, restored=change.restored)


def _count_feedback(writing: ScopeWriting, change: CountFeedback) -> None:
    own = writing.own
    memory_rows.count_feedback(writing.connection, () if own is None else (own,), change)


def _set_directive(writing: ScopeWriting, change: SetDirective) -> None:
    if change.text or writing.own is not None:  # removing nothing creates no partition
        set_directive(writing.transaction, writing.own_id(), change.text, change.id)


def _put_tombstones(writing: ScopeWriting, change: PutTombstones) -> None:
    put_tombstones(writing.transaction, None if change.ownerless else writing.own_id(), change)


def _forget(writing: ScopeWriting, change: Forget) -> None:
    own = writing.own
    forget(writing.transaction, tuple(writing.selected | (set() if own is None else {own})), change)


def _forget_owner(writing: ScopeWriting, change: ForgetOwner) -> None:
    whole = _owned(writing, change.user)
    if whole is not None:
        forget_whole(writing.transaction, whole, change)


CHANGES: Appliers = {
    **BLOCK_CHANGES,
    **DOCUMENT_CHANGES,
    **GRAPH_CHANGES,
    **HISTORY_CHANGES,
    **INJECTION_CHANGES,
    **PROFILE_CHANGES,
    **TASK_CHANGES,
    PutMemory: _put_memory,
    EndMemory: to_own(memory_rows.end_memory),
    DropVectors: to_own(drop_vectors),
    CountFeedback: _count_feedback,
    CountRetrievals: lambda to, change: memory_rows.count_retrievals(to.connection, to.visible, change),
    PutConflict: to_own(put_conflict),
    RestoreConflict: to_own(restore_conflict),
    ResolveConflict: lambda to, change: resolve_conflict(to.connection, to.own_id(), change),
    SetDirective: _set_directive,
    FinishClaim: lambda to, change: finish_claim(to.connection, change.claim),
    PutReplacement: to_own(put_replacement),
    ReservePositions: to_own(event_rows.reserve_positions),
    PutTombstones: _put_tombstones,
    Forget: _forget,
    ForgetOwner: _forget_owner,
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
            event_rows.put_events(self._transaction, self._writing.own_id(), run)

    def _apply(self, change: Change) -> None:
        apply = CHANGES.get(type(change))
        if apply is None:
            raise InvalidInput(f"the store can't write {type(change).__name__}")
        apply(self._writing, change)
