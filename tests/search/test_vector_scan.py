"""A scan of vectors gives the same whether one thread works on it or two, and leaves no thread behind."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from germane.search import cosine
from germane.search.cosine import VectorScan
from germane.search.partition import Partition
from germane.search.quantised import dots
from support.plain_units import Text, held

pytestmark = pytest.mark.requirement("ENGINE-8")

QUERY = np.array([0.5, 0.5, -0.5, 0.5], np.float32)
HELPER = "germane-scan"
PATIENCE = 30.0


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A helper for any scan, and chunks of three rows. Afterwards no helper works, and one may work again."""
    monkeypatch.setattr(cosine, "_MIN_SHARED_ROWS", 1)
    monkeypatch.setattr(cosine, "_CHUNK", 3)
    monkeypatch.setattr(cosine, "_HELPERS", helpers := threading.BoundedSemaphore(1))
    yield
    assert not [thread for thread in threading.enumerate() if thread.name == HELPER]
    assert helpers.acquire(blocking=False)


def filled(rows: int) -> Partition:
    numbers = np.random.default_rng(rows).normal(size=(rows, 4))
    unit = numbers / np.linalg.norm(numbers, axis=1, keepdims=True)
    return held([[Text(key=key, at=float(key), vector=tuple(map(float, row))) for key, row in enumerate(unit, 1)]])


def expected(partition: Partition) -> NDArray[np.float32]:
    rows = partition.columns.rows
    return dots(partition.columns["vector"][:rows], partition.columns["scale"][:rows], QUERY)


def scanned(partition: Partition, stop: Callable[[], bool] = lambda: False) -> NDArray[np.float32]:
    with VectorScan.begun(partition, QUERY, partition.columns.rows, stop) as scan:
        return scan.products()


def together(monkeypatch: pytest.MonkeyPatch, failing: bool = False) -> set[str]:
    """Has each of the two threads wait for the other's first chunk. Returns the names of those that multiplied."""
    seen, both = set[str](), threading.Barrier(2)

    def waiting(*given: Any) -> Any:
        name = threading.current_thread().name
        if name not in seen:
            seen.add(name)
            both.wait(PATIENCE)
            if failing and name == HELPER:
                raise MemoryError
        return dots(*given)

    monkeypatch.setattr(cosine, "dots", waiting)
    return seen


@given(st.integers(1, 40))
def test_one_thread_and_two_give_the_same(rows: int) -> None:
    partition = filled(rows)
    assert np.array_equal(scanned(partition), expected(partition))


def test_both_threads_take_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    partition, seen = filled(20), together(monkeypatch)
    assert np.array_equal(scanned(partition), expected(partition))
    assert seen == {HELPER, threading.current_thread().name}


def test_small_partitions_get_no_helper(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cosine, "_MIN_SHARED_ROWS", 21)
    partition, seen = filled(20), set[str]()

    def noting(*given: Any) -> Any:
        seen.add(threading.current_thread().name)
        return dots(*given)

    monkeypatch.setattr(cosine, "dots", noting)
    assert np.array_equal(scanned(partition), expected(partition))
    assert seen == {threading.current_thread().name}


def test_what_fails_in_the_helper_fails_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows that it had taken are missing."""
    together(monkeypatch, failing=True)
    with pytest.raises(MemoryError):
        scanned(filled(20))


@pytest.mark.parametrize("where", ["busy", "no thread"])
def test_a_search_without_a_helper_does_all_of_it(monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    """Where another search has the helper, and where the system gives no thread."""
    partition = filled(20)
    if where == "busy":
        with cosine._HELPERS:
            assert np.array_equal(scanned(partition), expected(partition))
        return

    def refused(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refused)
        assert np.array_equal(scanned(partition), expected(partition))


def test_a_search_that_nobody_waits_for_stops_both_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two chunks; what isn't done stays at 0."""
    together(monkeypatch)
    calls = iter([False, False])
    found = scanned(filled(20), lambda: next(calls, True))
    assert found[:6].all()
    assert not found[6:].any()


def test_a_search_that_fails_meanwhile_leaves_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """The helper ends its chunk, takes no further one, and is waited for."""
    begun, awaited = threading.Event(), threading.Event()
    join, multiplied = threading.Thread.join, list[int]()

    def waiting(*given: Any) -> Any:
        multiplied.append(1)
        begun.set()
        awaited.wait(PATIENCE)
        return dots(*given)

    def joined(thread: threading.Thread, timeout: float | None = None) -> None:
        awaited.set()
        join(thread, timeout)

    def failing() -> None:
        with VectorScan.begun(filled(20), QUERY, 20, lambda: False):
            assert begun.wait(PATIENCE)
            raise ZeroDivisionError

    monkeypatch.setattr(cosine, "dots", waiting)
    monkeypatch.setattr(threading.Thread, "join", joined)
    with pytest.raises(ZeroDivisionError):
        failing()
    assert multiplied == [1]
