"""Plan run: the tables of all reads and changes, and the run of one plan: answers its reads and applies its changes.

The plan's scope bounds both: reads see what the scope sees; changes reach what its user owns and what a `Select` of the same
plan named. A plan runs once. The changes of a plan that only forgets may be applied twice, since forgetting is idempotent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from germane.errors import InvalidInput
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
from germane.kinds.injections import PutInjection
from germane.kinds.memories.llm_extraction.queue import ClaimHeld, FinishClaim
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
    OwnDirective,
    PutConflict,
    PutMemory,
    PutTombstones,
    RecordedConflicts,
    ResolveConflict,
    RestoreConflict,
    Select,
    Selection,
    SetDirective,
)
from germane.stores.sql.archive.archive_rows import HISTORY_CHANGES, HISTORY_READS
from germane.stores.sql.blocks.plans import BLOCK_CHANGES, BLOCK_READS
from germane.stores.sql.documents import DOCUMENT_CHANGES, DOCUMENT_READS
from germane.stores.sql.events import event_rows
from germane.stores.sql.events.event_rows import put_replacement
from germane.stores.sql.events.typed_events import events_named, latest_typed, positions_taken, typed_position
from germane.stores.sql.forgetting import forget, forget_whole, left_of
from germane.stores.sql.graph.plans import GRAPH_CHANGES, GRAPH_READS
from germane.stores.sql.injections import put_injection
from germane.stores.sql.links import bind
from germane.stores.sql.listing import VisiblePartition
from germane.stores.sql.memories import memory_rows
from germane.stores.sql.memories.conflicts import (
    conflict_by_id,
    conflicts_between,
    own_directive,
    put_conflict,
    resolve_conflict,
    restore_conflict,
    set_directive,
)
from germane.stores.sql.memories.extraction_queue import claim_held, finish_claim
from germane.stores.sql.memories.memory_rows import memories_with, said_lately
from germane.stores.sql.memories.reader import drop_vectors
from germane.stores.sql.profile import PROFILE_CHANGES, PROFILE_READS
from germane.stores.sql.reading import Answers
from germane.stores.sql.selection import select
from germane.stores.sql.tasks.plans import TASK_CHANGES, TASK_READS
from germane.stores.sql.tombstones import ids_in_use, put_tombstones
from germane.stores.sql.transaction import Appliers, ScopeWriting, Transaction
from germane.types.plan import Change, Decision, Plan, Read, run_plan
from germane.types.scope import Scope

T = TypeVar("T")

READS: Answers = {**BLOCK_READS, **DOCUMENT_READS, **GRAPH_READS, **HISTORY_READS, **PROFILE_READS, **TASK_READS}
"""The function that answers each read, within a plan and outside of any."""
CHANGES: Appliers = {**BLOCK_CHANGES, **DOCUMENT_CHANGES, **GRAPH_CHANGES, **HISTORY_CHANGES, **PROFILE_CHANGES, **TASK_CHANGES}
"""The function that applies each change."""

_OWN_READS: Mapping[type, tuple[Callable[..., Any], Callable[[], Any]]] = {
    EventsById: (event_rows.by_id, dict),
    EventsByMessageId: (event_rows.by_message_id, dict),
    SessionTail: (event_rows.tail, tuple),
    SaidLately: (said_lately, SaidBefore),
    LastSaid: (event_rows.last_said, lambda: None),
    SessionLength: (event_rows.length, int),
    TypedPosition: (typed_position, lambda: FIRST_TYPED),
    EventsNamed: (events_named, dict),
    LatestTyped: (latest_typed, tuple),
    PositionsTaken: (positions_taken, frozenset),
    MemoriesByHash: (memory_rows.by_hash, tuple),
    FactsOnKey: (memory_rows.facts_on_key, tuple),
    MemoriesWith: (memories_with, tuple),
    DerivedFrom: (memory_rows.derived_from, tuple),
    ClaimHeld: (claim_held, bool),
    OwnDirective: (own_directive, str),
    ConflictById: (conflict_by_id, lambda: None),
    ConflictsBetween: (conflicts_between, RecordedConflicts),
}
"""The reads of the scope's own partition alone: the function that answers each, and its answer where the partition doesn't
exist."""


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
        if (answer := READS.get(type(read))) is not None:
            return answer(self._writing, read)
        if type(read) in _OWN_READS:
            reader, empty = _OWN_READS[type(read)]
            own = self._own(self._transaction.visible(self._scope))
            return empty() if own is None else reader(self._transaction, own, read)
        if isinstance(read, Select):
            self._transaction.write_events()
            return self._select(read)
        if isinstance(read, LeftOf):
            self._transaction.flush()
            return left_of(self._transaction.connection, read)
        visible = self._transaction.visible(self._scope)
        if isinstance(read, MemoriesById):
            return memory_rows.by_id(self._transaction.connection, visible, read)
        own = self._own(visible)
        if isinstance(read, IdsInUse):
            return ids_in_use(self._transaction, own, read)
        raise InvalidInput(f"the store can't answer {type(read).__name__}")

    def _own(self, visible: tuple[VisiblePartition, ...]) -> VisiblePartition | None:
        return next((partition for partition in visible if partition.user == self._scope.user), None)

    def _select(self, read: Select) -> Selection:
        own = self._owned(read.user)
        if own is None:
            return Selection()
        found, partitions = select(self._transaction.connection, own, read)
        self._writing.selected.update((own, *partitions))
        return found

    def _owned(self, user: str | None) -> VisiblePartition | None:
        """Returns the partition of `user` (None: of the scope's own user). A scope with a user gets no other user's
        partition."""
        user = self._scope.user if user is None else user
        if self._scope.user not in (None, user):
            return None
        whose = Scope(org=self._scope.org, agent=self._scope.agent, user=user)
        return next((partition for partition in self._transaction.visible(whose) if partition.user == user), None)

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
                self._check(change.event.user)
            partition = self._transaction.own(self._scope)
            event_rows.put_events(self._transaction, partition, run)

    def _check(self, user: str | None) -> None:
        if user != self._scope.user:
            raise InvalidInput("what is written must belong to the scope's own user, or be agent-wide where it has none")

    def _apply(self, change: Change) -> None:
        if (apply := CHANGES.get(type(change))) is not None:
            apply(self._writing, change)
            return
        transaction, scope = self._transaction, self._scope
        connection = transaction.connection
        match change:
            case PutMemory(memory, restored):
                self._check(memory.user)
                memory_rows.put_memory(transaction, transaction.own(scope), memory, restored=restored)
            case EndMemory():
                memory_rows.end_memory(transaction, transaction.own(scope), change)
            case DropVectors():
                drop_vectors(transaction, transaction.own(scope), change)
            case PutConflict():
                put_conflict(transaction, transaction.own(scope), change)
            case RestoreConflict():
                restore_conflict(transaction, transaction.own(scope), change)
            case ResolveConflict():
                resolve_conflict(connection, transaction.own(scope), change)
            case Forget():
                own = self._own(transaction.visible(scope))
                forget(transaction, tuple(self._writing.selected | ({own} if own else set())), change)
            case ForgetOwner():
                whole = self._owned(change.user)
                if whole is not None:
                    forget_whole(transaction, whole, change)
            case FinishClaim(claim):
                finish_claim(connection, claim)
            case PutInjection():
                own_partition = transaction.own(scope)
                put_injection(transaction, own_partition, transaction.visible(scope), change)
            case PutReplacement():
                put_replacement(transaction, transaction.own(scope), change)
            case ReservePositions():
                event_rows.reserve_positions(transaction, transaction.own(scope), change)
            case PutTombstones():
                put_tombstones(transaction, None if change.ownerless else transaction.own(scope), change)
            case CountFeedback():
                own = self._own(transaction.visible(scope))
                memory_rows.count_feedback(connection, (own,) if own else (), change)
            case CountRetrievals():
                memory_rows.count_retrievals(connection, transaction.visible(scope), change)
            case SetDirective(text, id):
                if text or self._own(transaction.visible(scope)) is not None:  # removing nothing creates no partition
                    set_directive(transaction, transaction.own(scope), text, id)
            case _:
                raise InvalidInput(f"the store can't write {type(change).__name__}")
