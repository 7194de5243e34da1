"""The embedded store against the contract of every store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from germane.clock import Clock
from germane.kinds.keys.reads import NonceKey
from germane.stores.contract import Store
from germane.stores.sqlite import SqliteStore
from germane_testing.builders import Hashed
from germane_testing.store_contract import StoreContract
from support.scans import Scans


class TestSqliteStore(StoreContract):
    @pytest.fixture(autouse=True)
    def scans(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        """No statement takes longer because others store more."""
        scans = Scans(monkeypatch)
        yield
        assert scans.found() == []

    @pytest.fixture
    def opening(self, tmp_path: Path) -> Callable[[], Store]:
        return lambda: SqliteStore.open(tmp_path / "store.db", embedder=Hashed(), clock=Clock())


async def test_a_store_in_memory_works_without_a_file() -> None:
    """`:memory:` is one of its own each time."""
    first, second = (SqliteStore.open(":memory:", embedder=Hashed(), clock=Clock()) for _ in range(2))
    assert await first.ask(NonceKey()) != await second.ask(NonceKey())
    await first.close()
    await second.close()
