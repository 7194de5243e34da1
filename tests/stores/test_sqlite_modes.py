"""Modes: what germane makes is its owner's alone, whatever the umask; what is there stays as it is."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from germane.clock import Clock
from germane.kinds.memories.reads import PutMemory
from germane.stores.sqlite import SqliteStore
from germane.types.scope import Scope
from germane_testing.builders import Hashed, a_memory, writing

pytestmark = pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")


@pytest.fixture(params=[0o000, 0o022, 0o277])
def _umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def opened(path: Path) -> SqliteStore:
    return SqliteStore.open(path, embedder=Hashed(), clock=Clock())


def modes(folder: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


@pytest.mark.usefixtures("_umask")
async def test_database_log_and_backup_are_their_owners_alone(tmp_path: Path) -> None:
    """From their first byte on: the copy under way too."""
    store = opened(tmp_path / "a.db")
    await store.within(Scope()).commit(writing(PutMemory(a_memory())))
    seen: dict[str, int] = {}
    report: Callable[[int, int], None] = lambda done, total: seen.update(modes(tmp_path))  # noqa: E731
    await store.backup(tmp_path / "copy.db", report)
    seen.update(modes(tmp_path))
    await store.close()
    assert {"a.db", "a.db-wal", "a.db-shm", "copy.db"} <= seen.keys()
    assert set(seen.values()) == {0o600}


async def test_the_mode_of_a_file_that_is_there_stays(tmp_path: Path) -> None:
    """Of the folder too. The check-up says who may read it."""
    path = tmp_path / "a.db"
    await opened(path).close()
    os.chmod(path, 0o644)  # noqa: PTH101
    os.chmod(tmp_path, 0o755)  # noqa: PTH101
    store = opened(path)
    (finding,) = [text for name, text, _ in (await store.check()).findings if name == "mode"]
    await store.close()
    assert "everybody on this machine may read it" in finding
    assert modes(tmp_path)["a.db"] == 0o644
    assert modes(tmp_path.parent)[tmp_path.name] == 0o755
