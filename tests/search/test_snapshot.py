"""A snapshot that was extended from search to search equals one that was computed at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.search import snapshot as module
from germane.search.partition import BLOCK, Partition
from germane.search.snapshot import Snapshot, take_snapshot
from support.plain_units import DIMENSION, Text, texts, unit


def spoken(many: int, *, session: int = 1, first: int = 0) -> list[Text]:
    """Turns of one session, in order."""
    return [Text(key=first + n, session=session, at=float(first + n), words=("ash",) * (n % 5)) for n in range(1, many + 1)]


def grown(chunks: Sequence[Sequence[Text]], *, looking: bool, dropping: Sequence[int] = ()) -> tuple[Partition, Snapshot]:
    """A partition that got its units chunk by chunk, searched after each of them or only at the end."""
    partition = Partition(DIMENSION)
    for chunk in chunks:
        partition.extend([unit(text) for text in chunk])
        if looking:
            take_snapshot(partition, partition.columns.rows)
    partition.drop(dropping)
    return partition, take_snapshot(partition, partition.columns.rows)


def same(one: Snapshot, two: Snapshot, alive: np.ndarray) -> None:
    assert one.rows == two.rows
    for name in ("own", "window"):
        assert getattr(one, name)[alive].tolist() == pytest.approx(getattr(two, name)[alive].tolist(), abs=1e-6), name
    assert one.blocks[one.block[alive]].tolist() == pytest.approx(two.blocks[two.block[alive]].tolist(), abs=1e-6)
    values = np.where(alive, np.arange(1, one.rows + 1), 0).astype(np.float32)
    assert one.neighbour_sum(values)[alive].tolist() == two.neighbour_sum(values)[alive].tolist()
    for name in ("before", "after"):
        links = [np.where(getattr(seen, name) < seen.rows, getattr(seen, name), -1)[alive].tolist() for seen in (one, two)]
        assert links[0] == links[1], name


@given(texts(), st.lists(st.integers(1, 8), max_size=6), st.data(), st.sampled_from([1, 4096]))
def test_looking_in_between_changes_nothing(corpus: list[Text], sizes: list[int], data: st.DataObject, large: int) -> None:
    """In order or late, dropped or replaced, with means rounded or not: the same links, sums and norms."""
    gone = data.draw(st.lists(st.sampled_from([text.key for text in corpus]), max_size=2))
    chunks, rest = [], list(corpus)
    for size in sizes:
        chunks.append(rest[:size])
        rest = rest[size:]
    chunks.append(rest)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_MIN_ROUNDED", large)
        partition, often = grown(chunks, looking=True, dropping=gone)
        _, once = grown(chunks, looking=False, dropping=gone)
        same(often, once, partition.columns["alive"][: often.rows])


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 5)), min_size=2, max_size=30), st.sampled_from([1, 4096]))
def test_what_comes_in_order_is_carried_on_rightly(turns: list[tuple[int, int]], large: int) -> None:
    """Some sessions that take turns, each in order of time: what is searched after every message is as if never searched."""
    texts = [Text(key=n, session=session, at=float(n), words=("ash",) * words) for n, (session, words) in enumerate(turns)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_MIN_ROUNDED", large)
        partition, often = grown([[text] for text in texts], looking=True)
        _, once = grown([texts], looking=False)
        assert partition.relinked_version == 0
        same(often, once, np.ones(len(texts), np.bool_))


def test_turns_at_the_end_of_their_session_are_carried_on_from_what_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is worked out anew for the rows there were, but for the one before the new ones."""
    monkeypatch.setattr(module, "_MIN_ROUNDED", 1)
    partition, known = grown([spoken(3 * BLOCK)], looking=True)
    partition.extend([unit(text) for text in spoken(2, first=3 * BLOCK)])
    later = take_snapshot(partition, partition.columns.rows)
    assert np.shares_memory(known.own, later.own)
    assert later.rows == known.rows + 2


def test_a_search_that_runs_keeps_what_it_has() -> None:
    """New rows are no neighbours of its rows; a late message re-links others, but in other arrays."""
    partition, known = grown([spoken(5)], looking=True)
    values = np.arange(5, dtype=np.float32)
    around = known.neighbour_sum(values).tolist()
    partition.extend([unit(text) for text in spoken(2, first=5)])
    take_snapshot(partition, partition.columns.rows)
    assert known.neighbour_sum(values).tolist() == around
    assert known.after[4] >= known.rows
    partition.extend([unit(Text(key=99, session=1, at=2.5))])
    assert not np.shares_memory(take_snapshot(partition, partition.columns.rows).before, known.before)
    assert known.neighbour_sum(values).tolist() == around


def test_fewer_rows_than_are_known_are_seen_by_themselves() -> None:
    """A search that began before the last rows came finds its own links, and leaves the others what they share."""
    partition, known = grown([spoken(6)], looking=True)
    early = take_snapshot(partition, 4)
    assert early.rows == 4
    assert early.after[3] >= 4
    assert take_snapshot(partition, 6) is known


def test_large_partitions_norms_move_only_when_the_mean_has_moved_noticeably(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mean is rounded to a part in 256 of the next power of two, so one message more seldom changes what is known."""
    monkeypatch.setattr(module, "_MIN_ROUNDED", 1)
    partition, known = grown([spoken(1000)], looking=True)
    before = known.own.copy()
    partition.extend([unit(text) for text in spoken(1, first=1000)])
    assert take_snapshot(partition, 1001).own[:1000].tolist() == before.tolist()
