"""germane.keys from end to end: a key is made, used, rotated and revoked, here and in another process."""

from __future__ import annotations

import threading
from datetime import timedelta
from pathlib import Path

import pytest

from germane import Germane
from germane.clock import Clock
from germane.errors import NotFound, StoreUnavailable
from germane.sync import Germane as Blocking
from germane_testing.builders import NOON, Hashed
from germane_testing.time_warp import Ticking


def opened(path: Path, clock: Clock | None = None) -> Germane:
    return Germane.open(path, embedder=Hashed(), clock=clock, freeze=False)


@pytest.mark.requirement("RPC-5")
async def test_a_key_is_made_used_rotated_and_revoked(tmp_path: Path) -> None:
    """Two keys of an org at once, the old one to the end of the overlap."""
    watch = Ticking(NOON, timedelta(0))
    async with opened(tmp_path / "a.db", watch.clock) as germane:
        old = await germane.keys.create(org="acme", agents=["support"], rights=["read"], note="gateway")
        new = await germane.keys.create(org="acme", replaces=old.key.id, overlap=timedelta(hours=24))
        assert {key.id: key.state(NOON) for key in await germane.keys.list("acme")} == {
            old.key.id: "ending",
            new.key.id: "active",
        }
        for new_key in (old, new):
            grant = await germane.keys.verify(new_key.token)
            assert grant is not None
            assert (grant.org, grant.agents, grant.rights, grant.key) == ("acme", ("support",), ("read",), new_key.key.id)
        watch.advance(timedelta(hours=24))
        assert await germane.keys.verify(old.token) is None
        assert await germane.keys.verify(new.token)
        assert (await germane.keys.revoke(new.key.id)).revoked_at == NOON + timedelta(hours=24)
        assert await germane.keys.verify(new.token) is None
        with pytest.raises(NotFound):
            await germane.keys.revoke("a" * 16)
        assert ("keys", "0 good, 2 ended", True) in (await germane.check()).findings


@pytest.mark.requirement("RPC-5", "OPS-2")
async def test_what_another_process_revokes_ends_here_within_a_second(tmp_path: Path) -> None:
    """And what it makes is good here at once."""
    watch = Ticking(NOON, timedelta(0))
    async with opened(tmp_path / "a.db", watch.clock) as here, opened(tmp_path / "a.db") as there:
        new_key = await there.keys.create(org="acme")
        assert await here.keys.verify(new_key.token)
        await there.keys.revoke(new_key.key.id)
        watch.advance(timedelta(seconds=0.999))
        assert await here.keys.verify(new_key.token)
        watch.advance(timedelta(seconds=0.001))
        assert await here.keys.verify(new_key.token) is None


@pytest.mark.requirement("RPC-5")
async def test_the_last_use_is_in_the_list(tmp_path: Path) -> None:
    """Written at the latest when germane is closed."""
    clock = Ticking(NOON, timedelta(0)).clock
    async with opened(tmp_path / "a.db", clock) as germane:
        new_key = await germane.keys.create(org="acme")
        await germane.keys.verify(new_key.token, patience=None)
        assert (await germane.keys.list())[0].last_used_at is None
    async with opened(tmp_path / "a.db") as germane:
        assert (await germane.keys.list())[0].last_used_at == NOON


@pytest.mark.requirement("RPC-5")
async def test_a_hung_store_is_no_reason_to_refuse_a_key(tmp_path: Path) -> None:
    """All readers of the real store are stuck: a cached key stays valid, an unknown one raises `StoreUnavailable`."""
    watch, stuck = Ticking(NOON, timedelta(0)), threading.Event()
    async with opened(tmp_path / "a.db", watch.clock) as germane:
        known, other = [await germane.keys.create(org="acme") for _ in range(2)]
        assert await germane.keys.verify(known.token)
        watch.advance(timedelta(seconds=5))
        for _ in range(8):
            germane._open.store._readers.run_in_background(lambda _: stuck.wait(timeout=30))  # type: ignore[attr-defined]
        try:
            assert await germane.keys.verify(known.token, patience=0.01)
            with pytest.raises(StoreUnavailable):
                await germane.keys.verify(other.token, patience=0.01)
        finally:
            stuck.set()
        watch.advance(timedelta(seconds=5))
        assert await germane.keys.verify(other.token, patience=None)


@pytest.mark.requirement("RPC-5")
def test_the_blocking_twin_has_keys(tmp_path: Path) -> None:
    """The same verbs, from any thread."""
    with Blocking.open(tmp_path / "a.db", embedder=Hashed(), freeze=False) as germane:
        new_key = germane.keys.create(org="acme", lifetime=timedelta(days=90), note="cron")
        assert [key.id for key in germane.keys.list("acme")] == [new_key.key.id]
        assert germane.keys.verify(new_key.token)
        germane.keys.revoke(new_key.key.id)
        assert germane.keys.verify(new_key.token) is None


async def test_a_germane_that_isnt_open_has_no_keys(tmp_path: Path) -> None:
    """It says how to open it."""
    germane = opened(tmp_path / "a.db")
    with pytest.raises(StoreUnavailable, match="async with"):
        _ = germane.keys
