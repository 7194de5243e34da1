"""Store: the protocols that a store implements: `Store` as a whole, and `ScopedStore`, the part that one scope can reach.

A store answers reads and runs plans, and that is nearly all. A scoped store is made from a scope and can't reach anything
outside it (SCOPE-2): none of its methods, and none of the objects that it returns, takes an org, an agent or a user.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

if TYPE_CHECKING:
    from germane.kinds.blocks.value import ArchivalEntry
    from germane.kinds.events.value import Event
    from germane.kinds.memories.value import Memory
    from germane.transfer.contents import Contents, Owned, Reach
    from germane.types.evidence import Found
    from germane.types.plan import Plan, Read, StorePlan, StoreRead
    from germane.types.query import Query
    from germane.types.scope import Scope


T = TypeVar("T")


class StillLoading(Exception):
    """Raised by a search that doesn't wait while its partition is loaded into memory; a later search finds it loaded. Only the
    gather stage sees this exception."""


class ScopedSearch(Protocol[T]):
    """Searches what one scope sees of a kind."""

    async def search(self, query: Query, limit: int, *, keywords: bool, vectors: bool, wait: bool) -> Found[T]:
        """Returns at most `limit` results, best first; of a long text, the passage that matches. What can't be worth its tokens
        at the query's price needn't be read, nor anything where the query needs no texts. `keywords` and `vectors` say which
        evidence is used. With `wait` false it raises `StillLoading` where what it searches isn't in memory yet, and loads it in
        the background. Of blocks it finds archival entries and blocks, of the kinds `entry`, `archival` and `block` (any other
        type of block) that the filters name; an agent-wide block with the label of one of the user's isn't found, and no shared
        one. Cancelling the call stops its work."""


class EventSearch(Protocol):
    """Searches what one scope sees of events, and knows who speaks there."""

    async def search(self, query: Query, limit: int, *, keywords: bool, vectors: bool, wait: bool) -> Found[Event]:
        """See `ScopedSearch.search`."""

    async def speakers(self, said_in: str | None = None) -> tuple[str, ...]:
        """Returns the distinct names under which messages were recorded, sorted. With `said_in`, only those that have a word in
        common with it."""


class ScopedStore(Protocol):
    """One scope's reads and writes."""

    @property
    def scope(self) -> Scope: ...
    @property
    def memories(self) -> ScopedSearch[Memory]: ...
    @property
    def events(self) -> EventSearch: ...
    @property
    def blocks(self) -> ScopedSearch[ArchivalEntry]: ...

    async def ask(self, read: Read[T]) -> T:
        """Returns what the read answers, from a snapshot. The reads of a kind stand in its `reads.py`; plans ask the same ones,
        and some that are answered within a plan alone. Raises `InvalidInput` for a read that the store doesn't know. Cancelling
        the call stops its work."""

    async def commit(self, plan: Plan[T]) -> T:
        """Runs the plan and returns its outcome once its changes are durable: no other way of writing exists. Raises what the
        plan raises; then nothing has been written."""

    async def revision(self) -> int:
        """Returns the revision of the last commit that changed this scope's content. Revisions number the store's commits, so
        they only rise."""

    def known_revision(self) -> int:
        """Returns the revision of a commit that every read from now on sees: the latest that this process knows of. No I/O."""


class UnscopedStore(Protocol):
    """What belongs to no scope, such as API keys, and what is asked about all of them: for the operator of the store and for
    germane's own workers."""

    async def ask(self, read: StoreRead[T]) -> T:
        """Returns what the read answers, from a snapshot. Raises `InvalidInput` for a read that the store doesn't know, such as
        one of a scope. Cancelling the call stops its work."""

    async def commit(self, plan: StorePlan[T]) -> T:
        """Runs the plan in one transaction and returns its outcome once its changes are durable. Raises what the plan raises,
        and `StoreUnavailable` where nothing can be written."""


class Store(UnscopedStore, Protocol):
    """A place where memories, events and keys of many scopes are kept."""

    @property
    def read_only(self) -> bool:
        """Whether nothing can be written, so that every commit raises `StoreUnavailable`."""

    def within(self, scope: Scope) -> ScopedStore:
        """Returns the part of the store that `scope` can reach. Does no I/O."""

    def dump(self, reach: Reach) -> AsyncIterator[Sequence[Contents | Owned]]:
        """Yields all that is stored within `reach`, as it was at the first step, in portions of bounded size: `Contents` first,
        then each thing with its owner. Owners come by org, agent and user, what is agent-wide first; see `Owned` for the order
        within. A whole store ends with the tombstones of owners that were forgotten as a whole. Raises `StoreUnavailable`
        where the store is closed meanwhile, or where its reader keeps it waiting for a minute."""

    async def close(self) -> None:
        """Completes what is being written and releases the store. Idempotent."""


# Capabilities: what a store may lack. A caller asks with `isinstance` before it uses one, and says what is missing, or goes on
# without it. A test of `StoreContract` that needs one is skipped where the store lacks it.


@runtime_checkable
class EmbedsQueries(Protocol):
    """Optional capability of a scoped store: its searches call `Query.embed` where that is set."""

    embeds_queries: bool


@runtime_checkable
class Scrubs(Protocol):
    """A scoped store that removes the bytes of what was forgotten from its files."""

    async def scrub(self) -> str:
        """Removes all forgotten content from the store's files, whichever scope forgot it. Returns '' when none is left, else a
        sentence that says what the removal still waits for. Idempotent. Raises nothing: forgotten content can't be read again
        in any case."""


async def scrub_files(store: ScopedStore) -> str:
    """Scrubs the files where the store can; see `Scrubs.scrub`. Returns a sentence that says so where it can't."""
    return await store.scrub() if isinstance(store, Scrubs) else "this store doesn't overwrite what was forgotten in its files"


@runtime_checkable
class TellsChanges(Protocol):
    """A store that tells what other processes have changed. A store that several processes share must do so."""

    def when_vanished(self, listener: Callable[[Callable[[str, str, str | None], str]], None]) -> None:
        """Sets the function that is called within a second after any process set or replaced a directive or forgot all that a
        scope had, so that cached copies can be revised. It is called on any thread, with a function that reads the current
        directive of an org, agent and user (None: the agent's), and is valid only during the call."""

    def when_erased(self, listener: Callable[[], None]) -> None:
        """Sets the function that is called within a second after any process removed anything. It is called on any thread."""


@runtime_checkable
class WarmsUp(Protocol):
    """A store that keeps in memory what it searches."""

    async def warm(self, scope: Scope) -> None:
        """Loads the partitions that searches of this scope need into memory."""


@runtime_checkable
class BacksUp(Protocol):
    """A store that copies itself."""

    async def backup(self, target: Path, progress: Callable[[int, int], None] | None = None) -> None:
        """Writes a consistent copy to `target` while the store is in use. Calls `progress(done, total)` with pages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkup:
    """What `germane doctor` shows: for each check its name, its finding in words, and whether the finding is fine."""

    findings: tuple[tuple[str, str, bool], ...]

    @property
    def healthy(self) -> bool:
        return all(fine for _, _, fine in self.findings)


@runtime_checkable
class ExaminesItself(Protocol):
    """A store that tells how it is."""

    async def check(self) -> Checkup:
        """Examines the store."""

    async def verify(self, *, full: bool = False, progress: Callable[[int, int], None] | None = None) -> Checkup:
        """Reads all that is stored and compares it with what was derived from it: checksums, search rows (a sample of them, all
        where `full`), rows without the thing that they belong to. `progress(done, total)` counts texts, on any thread."""


@runtime_checkable
class EmbedsLater(Protocol):
    """A store that can make vectors after the commit of a text, and all of them anew."""

    async def embed_pending(self, limit: int | None = None) -> int:
        """Completes what search still lacks: divides long texts that an earlier version stored undivided, and embeds at most
        `limit` texts (default: all) that have no vector, such as those that wait for a slow embedder. Returns the number of
        texts embedded."""

    @property
    def refused_texts(self) -> int:
        """The texts that the embedder refused since the store was opened, although it embeds others; keywords find them."""

    async def stale_vectors(self) -> int:
        """Returns how many texts have no vector of the embedder in use; only keywords find these (SEARCH-3)."""

    async def reembed(self, progress: Callable[[int, int], None] | None = None) -> int:
        """Gives every text a vector of the embedder in use and calls `progress(done, total)`. Returns the number of vectors
        made."""


@runtime_checkable
class Upgrades(Protocol):
    """A store that brings what an earlier version stored into the form of this one."""

    async def upgrade(self, progress: Callable[[int, int], None] | None = None) -> int:
        """Divides the long texts that an earlier version stored undivided, makes the outlines that its sessions lack, and reads
        its sessions for telling clauses; calls `progress(done, total)` for each. An interrupted run is taken up again by the
        next one. Returns the number of texts divided, of sessions outlined and of sessions read."""
