"""The last use of a key: noted in memory, written after the answers, once an hour."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from germane.errors import StoreUnavailable
from germane.kinds.keys.verifier import KeyUsage
from germane_testing.builders import NOON
from germane_testing.faults import Hang, Raise, faulty
from germane_testing.time_warp import warped
from support.key_stores import MemoryKeyStore


@pytest.mark.requirement("RPC-5")
@warped
async def test_a_use_is_written_after_the_answers_and_once_an_hour() -> None:
    """Noting costs no write by itself; uses of many keys are one commit."""
    chest = MemoryKeyStore()
    keys = [chest.put(number).key for number in (1, 2)]
    usage = KeyUsage(chest, read_only=False)
    for minute in range(60):
        for key in keys:
            usage.note(key, NOON + timedelta(minutes=minute))
        assert chest.commits == (1 if minute else 0)
        await asyncio.sleep(2)
    assert [stored.key.last_used_at for stored in chest.rows.values()] == [NOON, NOON]
    usage.note(keys[0], NOON + timedelta(hours=1))
    await usage.close()
    assert chest.commits == 2
    assert chest.rows[keys[0].id].key.last_used_at == NOON + timedelta(hours=1)


@warped
async def test_what_another_process_wrote_within_the_hour_is_enough() -> None:
    """The stored time of the last use decides."""
    chest = MemoryKeyStore()
    key = chest.put(last_used_at=NOON).key
    usage = KeyUsage(chest, read_only=False)
    usage.note(key, NOON + timedelta(minutes=59))
    await usage.close()
    assert chest.commits == 0


@warped
async def test_nothing_is_written_where_nothing_can_be() -> None:
    """A read-only store isn't written to; a store that fails raises nothing."""
    chest = MemoryKeyStore()
    key = chest.put().key
    for key_store, read_only in ((chest, True), (faulty(chest, Raise(StoreUnavailable("full")), "commit"), False)):
        usage = KeyUsage(key_store, read_only=read_only)
        usage.note(key, NOON)
        await asyncio.sleep(2)
        await usage.close()
    assert chest.commits == 0
    assert chest.rows[key.id].key.last_used_at is None


@warped
async def test_while_the_store_hangs_one_write_waits() -> None:
    """However many keys are used, one task waits and noting does no I/O."""
    chest = MemoryKeyStore()
    usage = KeyUsage(faulty(chest, Hang(), "commit"), read_only=False)
    for number in range(50):
        usage.note(chest.put(number + 1).key, NOON)
        await asyncio.sleep(2)
        assert len(asyncio.all_tasks()) == 2


@warped
async def test_closing_gives_up_on_a_store_that_hangs() -> None:
    """After a bound, whether the store hung before or hangs only on the last write; and leaves no task behind."""
    for pause in (0.0, 0.5, 5.0):
        chest = MemoryKeyStore()
        usage = KeyUsage(faulty(chest, Hang(), "commit"), read_only=False)
        usage.note(chest.put().key, NOON)
        await asyncio.sleep(pause)
        await asyncio.wait_for(usage.close(), timeout=6)
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == {asyncio.current_task()}
