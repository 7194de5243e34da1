"""Queue contract: the tests of `StoreContract` about the queue for extraction with a language model: leases and parking."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from germane.events.operations import PutEvent
from germane.memories.llm_extraction.answer import Accepted
from germane.memories.llm_extraction.claim import Claim
from germane.memories.llm_extraction.store_accepted import StoredAnswer, store_accepted
from germane.store import Store
from germane.testing.scope_contract import ANNA, BEN, LATER
from germane.testing.stored import a_memory, an_event, writing
from germane.types.scope import Scope

__all__ = ["QueueContract"]

_MINUTES = timedelta(minutes=10)
_AFTER = LATER + 2 * _MINUTES


async def _said(store: Store, scope: Scope, count: int = 1, *, session: str = "s1") -> None:
    """The user of the scope says `count` things in a session, after the queue has begun."""
    await store.extraction.begin()
    said = [an_event(f"I like tea {place}", session=session, position=place, user=scope.user) for place in range(count)]
    await store.within(scope).journal.commit(writing(*map(PutEvent, said)))


async def _claimed(store: Store, holder: str, *, at: datetime = LATER, within: Scope | None = None) -> Claim | None:
    return await store.extraction.claim(holder, now=at, until=at + _MINUTES, within=within, eager=True)


async def _one(store: Store, holder: str, *, at: datetime = LATER, within: Scope | None = None) -> Claim:
    claim = await _claimed(store, holder, at=at, within=within)
    assert claim is not None
    return claim


@pytest.mark.requirement("MEM-7")
class QueueContract:
    """`store` is the fixture of `StoreContract`."""

    async def test_one_holder_at_a_time_reads_a_session(self, store: Store) -> None:
        """Until its lease ends; another session isn't kept waiting."""
        await _said(store, ANNA, 30)
        claim = await _one(store, "a")
        assert (claim.first, len(claim.turns) < 30, claim.scope.user) == (0, True, "anna")
        assert await _claimed(store, "b") is None
        await _said(store, BEN)
        assert (await _one(store, "b")).scope.user == "ben"
        assert (await _one(store, "b", at=_AFTER, within=ANNA)).first == 0

    async def test_a_lost_lease_stores_releases_and_ends_nothing(self, store: Store) -> None:
        """The later holder's claim isn't touched by the earlier one's answer, failure or end."""
        await _said(store, ANNA)
        lost = await _one(store, "a")
        held = await _one(store, "b", at=_AFTER)
        anna = store.within(ANNA).journal
        late = replace(a_memory("late", user="anna"), derived_from=(lost.turns[0].id,))
        assert await anna.commit(store_accepted(lost, Accepted((late,)))) is None
        await store.extraction.release(lost, reason="late", retry_at=None)
        await store.extraction.release_all("a")
        assert await _claimed(store, "c", at=_AFTER) is None
        assert (await store.extraction.report(0)).parked == 0
        assert await anna.commit(store_accepted(held, Accepted())) == StoredAnswer()
        assert await _claimed(store, "c", at=_AFTER + _MINUTES) is None

    async def test_a_claim_is_of_its_own_scope(self, store: Store) -> None:
        """Another user's plan can't end it, nor store anything for it."""
        await _said(store, ANNA)
        claim = await _one(store, "a")
        await store.within(BEN).journal.commit(writing(PutEvent(an_event(user="ben"))))
        assert await store.within(BEN).journal.commit(store_accepted(claim, Accepted((a_memory("x", user="ben"),)))) is None
        assert await store.within(ANNA).journal.commit(store_accepted(claim, Accepted())) == StoredAnswer()

    async def test_who_ends_gives_all_leases_back(self, store: Store) -> None:
        """At once, and no try has failed."""
        for scope in (ANNA, BEN):
            await _said(store, scope)
            await _one(store, "a", within=scope)
        await store.extraction.release_all("a")
        for scope in (ANNA, BEN):
            assert (await _one(store, "b", within=scope)).tries == 0

    async def test_only_failures_of_a_run_count_as_tries(self, store: Store) -> None:
        """Those of the endpoint don't; a failed run waits for its time, also where somebody is eager."""
        await _said(store, ANNA)
        for failed, tries in ((False, 0), (False, 0), (True, 1)):
            claim = await _one(store, "a")
            await store.extraction.release(claim, reason="why", retry_at=LATER, failed=failed)
            assert (await _one(store, "a")).tries == tries
            await store.extraction.release_all("a")
        claim = await _one(store, "a")
        await store.extraction.release(claim, reason="why", retry_at=_AFTER)
        assert await _claimed(store, "a") is None
        assert (await _one(store, "a", at=_AFTER)).tries == 2

    async def test_a_parked_run_lets_what_follows_go_on_and_is_resumed_by_its_scope(self, store: Store) -> None:
        """With fresh tries; another user's stays parked, with its reason."""
        for scope in (ANNA, BEN):
            await _said(store, scope, 30)
            claim = await _one(store, "a", within=scope)
            await store.extraction.release(claim, reason=f"of {scope.user}", retry_at=LATER)
            claim = await _one(store, "a", within=scope)
            await store.extraction.release(claim, reason=f"of {scope.user}", retry_at=None)
            rest = await _one(store, "a", within=scope)
            assert (rest.first, rest.tries) == (claim.stop, 0)
            assert await store.within(scope).journal.commit(store_accepted(rest, Accepted())) == StoredAnswer()
        report = await store.extraction.report(0)
        assert (report.parked, report.waiting, report.reasons) == (2, 0, (("of anna", 1), ("of ben", 1)))
        await store.extraction.resume(ANNA, everything=False)
        report = await store.extraction.report(0)
        assert (report.parked, report.waiting, report.reasons) == (1, 1, (("of ben", 1),))
        again = await _one(store, "a")
        assert (again.first, again.tries, again.scope.user) == (0, 0, "anna")
        assert await store.within(ANNA).journal.commit(store_accepted(again, Accepted())) == StoredAnswer()
        assert await _claimed(store, "a", at=_AFTER) is None

    async def test_what_follows_a_run_that_failed_before_has_all_its_tries(self, store: Store) -> None:
        """The count of tries belongs to the messages of the run."""
        await _said(store, ANNA, 30)
        await store.extraction.release(await _one(store, "a"), reason="why", retry_at=LATER)
        tried = await _one(store, "a")
        assert tried.tries == 1
        assert await store.within(ANNA).journal.commit(store_accepted(tried, Accepted())) == StoredAnswer()
        rest = await _one(store, "a")
        assert (rest.first, rest.tries) == (tried.stop, 0)
