"""Verifying keys: the store's answer is used within a second; while it can't be asked, cached answers stay valid for a
while."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import Any

import pytest

from germane.clock import Clock
from germane.errors import InvalidInput, StoreCorrupt, StoreUnavailable
from germane.kinds.keys.handle import Keyring
from germane.kinds.keys.value import Grant, make_token
from germane.kinds.keys.verifier import FRESH, GRACE, KeyUsage, Verifier
from germane.types.plan import StoreRead, replay
from germane_testing.builders import NOON
from germane_testing.faults import Garbage, Hang, Raise, Slow, faulty
from germane_testing.injection_contract import issuing
from germane_testing.time_warp import warped
from support.key_stores import FailingKeyStore, MemoryKeyStore


def now() -> datetime:
    """A calendar that goes with the loop's clock."""
    return NOON + timedelta(seconds=time())


def time() -> float:
    return asyncio.get_running_loop().time()


def verifier(key_store: Any) -> Verifier:
    return Verifier(key_store, KeyUsage(key_store, read_only=True), Clock(now=now))


def keyring(key_store: Any) -> Keyring:
    return Keyring(key_store, verifier(key_store), Clock(now=now))


@pytest.mark.requirement("RPC-5", "SCOPE-2")
@warped
async def test_a_good_key_opens_what_it_was_made_for() -> None:
    """One org, its agents, its rights; the key's id for logs."""
    chest = MemoryKeyStore()
    new_key = chest.put(agents=("support",), rights=("read",))
    grant = await keyring(chest).verify(new_key.token)
    assert grant == Grant(key=new_key.key.id, org="acme", agents=("support",), rights=("read",))


@pytest.mark.requirement("RPC-5")
@warped
async def test_keys_that_open_nothing_look_the_same_and_take_the_same_way() -> None:
    """An unknown, malformed, wrong, expired or revoked token: None after one lookup in the store, every time."""
    chest = MemoryKeyStore()
    good, other = chest.put(1), chest.put(2)
    expired, revoked = chest.put(3, expires_at=NOON), chest.put(4, revoked_at=NOON)
    wrong, unknown = good.token[:-52] + other.token[-52:], replay(issuing(9), {}).outcome.token
    keys = keyring(chest)
    for shown in (unknown, "nonsense", "", wrong, expired.token, revoked.token) * 2:
        before = len(chest.looks)
        assert await keys.verify(shown) is None
        assert len(chest.looks) == before + 1


@pytest.mark.requirement("RPC-5")
@warped
async def test_a_good_key_is_asked_about_once_a_second() -> None:
    """The cache answers in between, so that a busy caller costs the store nothing; concurrent callers share one lookup."""
    chest = MemoryKeyStore()
    new_key, keys = chest.put(), keyring(faulty(chest, Slow(0.001), "ask"))
    for _ in range(30):
        assert all(await asyncio.gather(*(keys.verify(new_key.token) for _ in range(50))))
        await asyncio.sleep(0.1)
    assert len(chest.looks) == 3


@pytest.mark.requirement("RPC-5", "OPS-2")
@warped
async def test_a_revocation_in_another_process_holds_within_a_second() -> None:
    """However often the key is used in between."""
    chest = MemoryKeyStore()
    new_key, keys = chest.put(), keyring(chest)
    assert await keys.verify(new_key.token)
    await asyncio.sleep(0.3)
    chest.change(new_key.key.id, revoked_at=NOON)
    revoked = time()
    held = []
    for _ in range(200):
        if await keys.verify(new_key.token):
            held.append(time() - revoked)
        await asyncio.sleep(0.01)
    assert 0.5 < max(held) <= FRESH


class Late(MemoryKeyStore):
    """A store that reads at once and answers late."""

    async def ask(self, read: StoreRead[Any]) -> Any:
        found = await super().ask(read)
        await asyncio.sleep(0.8)
        return found


@pytest.mark.requirement("RPC-5")
@warped
async def test_an_answer_is_as_old_as_its_question() -> None:
    """A slow store doesn't make a cached answer valid for longer than the second."""
    chest = Late()
    new_key, keys = chest.put(), keyring(chest)
    first = asyncio.create_task(keys.verify(new_key.token, patience=None))
    await asyncio.sleep(0.01)
    chest.change(new_key.key.id, revoked_at=NOON)
    assert await first
    await asyncio.sleep(1.01 - time())
    assert await keys.verify(new_key.token, patience=None) is None


@pytest.mark.requirement("RPC-5")
@warped
async def test_a_revocation_in_this_process_holds_at_once() -> None:
    """Also where an older answer was on its way when the key was revoked, and the store hangs afterwards."""
    chest = MemoryKeyStore()
    new_key = chest.put()
    good = chest.rows[new_key.key.id]
    key_store = FailingKeyStore(chest, Slow(0.01), after=0)
    keys = keyring(key_store)
    on_its_way = asyncio.create_task(keys.verify(new_key.token))
    await asyncio.sleep(0.001)
    await keys.revoke(new_key.key.id)
    chest.rows[new_key.key.id] = good  # what the look that is on its way read before
    assert await on_its_way
    chest.change(new_key.key.id, revoked_at=NOON)
    key_store.well = True
    assert await keys.verify(new_key.token) is None


@pytest.mark.requirement("RPC-5")
@warped
async def test_a_key_replaced_without_overlap_ends_at_once() -> None:
    """The cache forgets a key that this process changes."""
    chest = MemoryKeyStore()
    old, keys = chest.put(), keyring(chest)
    assert await keys.verify(old.token)
    new = await keys.create(org="acme", replaces=old.token, overlap=timedelta(0))
    assert await keys.verify(old.token) is None
    assert await keys.verify(new.token)


@pytest.mark.requirement("RPC-5")
@pytest.mark.parametrize("fault", [Hang(), Raise(StoreUnavailable("away")), Raise(OSError), Raise(StoreCorrupt("broken"))])
def test_a_known_key_goes_on_for_a_while_when_the_store_cant_be_asked(fault: Any) -> None:
    """Until `GRACE` seconds after its last confirmation. A key that was never seen is neither accepted nor called invalid."""

    @warped
    async def story() -> None:
        chest = MemoryKeyStore()
        known, new = chest.put(1), chest.put(2)
        key_store = FailingKeyStore(chest, fault)
        keys = keyring(key_store)
        assert await keys.verify(known.token)
        while time() < GRACE - 2:
            await asyncio.sleep(1.5)
            assert await keys.verify(known.token)
            with pytest.raises(StoreUnavailable):
                await keys.verify(new.token)
        await asyncio.sleep(4)
        with pytest.raises(StoreUnavailable):
            await keys.verify(known.token)
        key_store.well = True
        await asyncio.sleep(FRESH)
        assert await keys.verify(known.token)
        assert await keys.verify(new.token)

    story()


@pytest.mark.requirement("RPC-5")
@warped
async def test_while_the_store_hangs_memory_answers_at_once() -> None:
    """The first caller waits for its patience, later callers don't wait, and the store gets one lookup a second."""
    chest = MemoryKeyStore()
    new_key, key_store = chest.put(), FailingKeyStore(chest, Hang())
    keys = keyring(key_store)
    assert await keys.verify(new_key.token)
    await asyncio.sleep(FRESH)
    began = time()
    assert await keys.verify(new_key.token, patience=0.02)
    assert time() - began == pytest.approx(0.02)
    for _ in range(10):
        before = time()
        assert await keys.verify(new_key.token, patience=0.02)
        assert time() == before
    assert key_store.looks == 2


@pytest.mark.requirement("RPC-5")
@warped
async def test_without_any_time_memory_answers_and_the_store_is_asked_behind_it() -> None:
    """No caller waits, and the store's answer counts for the next call."""
    chest = MemoryKeyStore()
    new_key, keys = chest.put(), keyring(faulty(chest, Slow(0.01), "ask"))
    with pytest.raises(StoreUnavailable):
        await keys.verify(new_key.token, patience=0)
    await asyncio.sleep(0.02)
    assert await keys.verify(new_key.token, patience=0)
    chest.change(new_key.key.id, revoked_at=NOON)
    await asyncio.sleep(FRESH)
    before = time()
    assert await keys.verify(new_key.token, patience=0)
    assert time() == before
    await asyncio.sleep(0.02)
    with pytest.raises(StoreUnavailable):
        await keys.verify(new_key.token, patience=0)
    await asyncio.sleep(0.02)
    assert await keys.verify(new_key.token) is None


@pytest.mark.requirement("RPC-5")
@warped
async def test_a_revocation_that_nobody_waited_for_may_have_been_done() -> None:
    """The cached key is forgotten all the same, so that no outage brings it back."""
    chest = MemoryKeyStore()
    new_key, key_store = chest.put(), FailingKeyStore(chest, Hang())
    keys = keyring(faulty(key_store, Hang(), "commit"))
    assert await keys.verify(new_key.token)
    leaving = asyncio.create_task(keys.revoke(new_key.key.id))
    await asyncio.sleep(0)
    leaving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaving
    with pytest.raises(StoreUnavailable):
        await keys.verify(new_key.token)


@pytest.mark.requirement("RPC-5")
@warped
async def test_what_the_store_says_after_an_outage_counts() -> None:
    """A key that was revoked during the outage becomes invalid when the outage ends, not when the grace does."""
    chest = MemoryKeyStore()
    new_key, key_store = chest.put(), FailingKeyStore(chest, Raise(StoreUnavailable("away")))
    keys = keyring(key_store)
    assert await keys.verify(new_key.token)
    chest.change(new_key.key.id, revoked_at=NOON)
    await asyncio.sleep(5)
    assert await keys.verify(new_key.token)
    key_store.well = True
    assert await keys.verify(new_key.token) is None
    key_store.well = False
    with pytest.raises(StoreUnavailable):
        await keys.verify(new_key.token)


@pytest.mark.requirement("RPC-5")
@warped
async def test_an_end_that_is_known_is_kept_to_through_an_outage() -> None:
    """The grace doesn't extend an expiry that is known."""
    chest = MemoryKeyStore()
    new_key = chest.put(expires_at=NOON + timedelta(seconds=30))
    keys = keyring(FailingKeyStore(chest, Hang()))
    assert await keys.verify(new_key.token)
    await asyncio.sleep(29)
    assert await keys.verify(new_key.token)
    await asyncio.sleep(1)
    with pytest.raises(StoreUnavailable):
        await keys.verify(new_key.token)


@pytest.mark.requirement("RPC-5")
@warped
async def test_without_patience_only_the_stores_word_counts() -> None:
    """A request that writes waits for the store and gets no grace."""
    chest = MemoryKeyStore()
    new_key, key_store = chest.put(), FailingKeyStore(chest, Raise(StoreUnavailable("away")))
    keys = keyring(key_store)
    assert await keys.verify(new_key.token, patience=None)
    await asyncio.sleep(FRESH)
    with pytest.raises(StoreUnavailable, match="doesn't answer"):
        await keys.verify(new_key.token, patience=None)
    slow = keyring(FailingKeyStore(chest, Slow(3600), after=0))
    assert await slow.verify(new_key.token, patience=None)


@pytest.mark.requirement("RPC-5")
@pytest.mark.parametrize("nonsense", [Garbage("garbage"), Garbage(7), Garbage({}), Raise(KeyError("x")), Raise(AssertionError)])
def test_an_answer_that_makes_no_sense_lets_nobody_in(nonsense: Any) -> None:
    """This isn't an outage: the cached key is dropped, and `StoreUnavailable` is raised."""

    @warped
    async def story() -> None:
        chest = MemoryKeyStore()
        new_key, key_store = chest.put(), FailingKeyStore(chest, nonsense)
        keys = keyring(key_store)
        assert await keys.verify(new_key.token)
        await asyncio.sleep(FRESH)
        for _ in range(2):
            with pytest.raises(StoreUnavailable) as told:
                await keys.verify(new_key.token)
            assert new_key.token.rpartition("_")[2] not in str(told.value)

    story()


@warped
async def test_a_store_that_cancels_by_itself_is_one_that_cant_be_asked() -> None:
    """No caller waits for ever, and no caller's own task is cancelled."""
    chest = MemoryKeyStore()
    new_key, key_store = chest.put(), FailingKeyStore(chest, Raise(asyncio.CancelledError))
    keys = keyring(key_store)
    assert await keys.verify(new_key.token)
    await asyncio.sleep(FRESH)
    assert await keys.verify(new_key.token)
    with pytest.raises(StoreUnavailable):
        await keys.verify(new_key.token, patience=None)


@warped
async def test_a_caller_who_leaves_takes_nobody_along() -> None:
    """The lookup continues for the other callers and for later ones."""
    chest = MemoryKeyStore()
    new_key = chest.put()
    keys = keyring(faulty(chest, Slow(0.01), "ask"))
    leaving, staying = (asyncio.create_task(keys.verify(new_key.token)) for _ in range(2))
    await asyncio.sleep(0.001)
    leaving.cancel()
    assert await staying
    with pytest.raises(asyncio.CancelledError):
        await leaving
    assert len(chest.looks) == 1


@pytest.mark.requirement("RPC-5")
@warped
async def test_an_outage_leaves_no_tasks_behind() -> None:
    """10,000 calls against a store that hangs: one lookup at a time for each key, and none after closing."""
    chest = MemoryKeyStore()
    new_key = chest.put()
    checking = verifier(FailingKeyStore(chest, Hang()))
    assert await checking.verify(new_key.token, 0.02)
    for _ in range(10_000):
        await asyncio.sleep(0.012)
        try:
            await checking.verify(new_key.token, 0.02)
        except StoreUnavailable:
            assert time() > GRACE
        assert len(asyncio.all_tasks()) <= 3
    await checking.close()
    assert len(asyncio.all_tasks()) == 1


@warped
async def test_a_flood_of_bad_keys_costs_a_bounded_number_of_looks() -> None:
    """Beyond the bound the store counts as unavailable; a cached key stays valid, and afterwards all keys verify again."""
    chest = MemoryKeyStore()
    new_key, key_store = chest.put(), FailingKeyStore(chest, Hang())
    checking = verifier(key_store)
    assert await checking.verify(new_key.token, 0.02)
    strangers = [make_token(lambda count, n=n: n.to_bytes(count))[1] for n in range(1000, 6000)]  # type: ignore[misc]
    flood = [asyncio.create_task(checking.verify(token, 0.02)) for token in strangers]
    found = await asyncio.gather(*flood, return_exceptions=True)
    assert {type(one) for one in found} == {StoreUnavailable}
    assert key_store.looks == 4097
    await asyncio.sleep(FRESH)
    assert await checking.verify(new_key.token, 0.02)
    key_store.well = True
    await asyncio.sleep(FRESH)
    assert await checking.verify("bad", 0.02) is None
    assert await checking.verify(new_key.token, None)
    await checking.close()


@warped
async def test_who_waits_while_it_is_closed_is_told() -> None:
    """They get an error: they aren't left waiting or cancelled."""
    chest = MemoryKeyStore()
    new_key = chest.put()
    checking = verifier(FailingKeyStore(chest, Hang(), after=0))
    waiting = asyncio.create_task(checking.verify(new_key.token, None))
    await asyncio.sleep(0.001)
    await checking.close()
    with pytest.raises(StoreUnavailable):
        await waiting


@pytest.mark.parametrize("patience", [-1, "1", True, float("nan")])
async def test_a_patience_that_makes_no_sense_is_refused(patience: Any) -> None:
    """The message holds the value."""
    with pytest.raises(InvalidInput, match="patience"):
        await keyring(MemoryKeyStore()).verify("x", patience=patience)
