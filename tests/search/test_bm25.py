"""BM25 of units, windows and blocks against the formula itself, however the units came."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.search import bm25 as scoring
from germane.search.bm25 import lexical_scores, weigh_terms
from germane.search.partition import BLOCK, Partition
from germane.search.snapshot import take_snapshot
from germane.text.terms import term_hash
from germane.types.query import Query, Term
from germane_testing.builders import MOMENT
from support.plain_units import Text, asking, bm25, held, texts, unit

ASKED = ("ash", "elm", "oak")


@pytest.fixture(autouse=True, params=["all terms at once", "one term after another"], scope="module")
def _either_way(request: pytest.FixtureRequest) -> Iterator[None]:
    """Every test of the formula holds for few rows, which are scored as one array, and for many."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "one term after another":
            patch.setattr(scoring, "_MAX_AT_ONCE", -1)
            patch.setattr(scoring, "_FREQUENT_SHARE", 0)
        yield


def scores(partition: Partition, words: Sequence[str]) -> dict[int, tuple[float, float, float]]:
    rows = partition.columns.rows
    found = lexical_scores(weigh_terms([partition], asking(*words)), take_snapshot(partition, rows))
    columns = partition.columns
    return {
        int(columns["key"][row]): (float(found.own[row]), float(found.window[row]), float(found.block[row]))
        for row in np.flatnonzero(columns["alive"][:rows])
    }


def same(found: dict[int, tuple[float, float, float]], wanted: dict[int, tuple[float, float, float]]) -> None:
    assert found.keys() == wanted.keys()
    for key, triple in wanted.items():
        assert found[key] == pytest.approx(triple, abs=1e-4), key


def chunked(corpus: list[Text], sizes: list[int]) -> list[list[Text]]:
    chunks, rest = [], list(corpus)
    for size in sizes:
        chunks.append(rest[:size])
        rest = rest[size:]
    return [*chunks, rest]


SIZES = st.lists(st.integers(1, 8), max_size=6)


@given(texts(), SIZES)
def test_own_window_and_block_are_what_the_formula_says_however_units_come(corpus: list[Text], sizes: list[int]) -> None:
    """Chunks of any size, in any order of time, over several segments: one answer."""
    same(scores(held(chunked(corpus, sizes)), ASKED), bm25(corpus, ASKED))


@given(texts(), SIZES, st.data())
def test_a_dropped_unit_leaves_no_trace_in_anybodys_score(corpus: list[Text], sizes: list[int], data: st.DataObject) -> None:
    """Neither in its neighbours' windows, nor in its block, nor in any mean or idf."""
    gone = data.draw(st.sets(st.sampled_from([text.key for text in corpus])))
    partition = held(chunked(corpus, sizes))
    partition.drop(gone)
    rest = [text for text in corpus if text.key not in gone]
    same(scores(partition, ASKED), bm25(rest, ASKED))
    assert len(partition) == len(rest)


@given(texts(), texts(max_texts=10), SIZES)
def test_a_replaced_unit_counts_as_it_is_now(corpus: list[Text], changed: list[Text], sizes: list[int]) -> None:
    """A unit with a known key replaces the earlier one, in text, session and time."""
    partition = held([*chunked(corpus, sizes), changed])
    now = {text.key: text for text in corpus} | {text.key: text for text in changed}
    same(scores(partition, ASKED), bm25(list(now.values()), ASKED))


def test_what_is_stored_again_with_its_vector_is_not_its_own_neighbour() -> None:
    """A slow embedder's units come twice; their windows must be as if they had come once."""
    line = [Text(key=key, at=float(key), words=("ash", "elm")[key % 2 : key % 2 + 1]) for key in range(1, 7)]
    same(scores(held([line, line]), ASKED), bm25(line, ASKED))


def test_of_one_key_given_twice_at_once_the_last_one_stands() -> None:
    partition = held([[Text(key=1, words=("ash",)), Text(key=1, words=("elm",))]])
    same(scores(partition, ("ash", "elm")), bm25([Text(key=1, words=("elm",))], ("ash", "elm")))


def test_messages_that_come_newest_first_still_fall_into_blocks() -> None:
    """No stretch that counts as one document is longer than a block, whatever the order of arrival."""
    line = [Text(key=key, at=float(key), words=("ash",)) for key in range(3 * BLOCK)]
    partition = held([line[start : start + 7] for start in range(0, len(line), 7)][::-1])
    sizes = np.bincount(partition.columns["block"][: partition.columns.rows])
    assert sizes.max() == BLOCK
    same(scores(partition, ASKED), bm25(line, ASKED))


def test_a_long_session_is_several_documents() -> None:
    line = [Text(key=key, at=float(key), words=("ash" if key == 0 else "elm",)) for key in range(BLOCK + 5)]
    found = scores(held([line]), ("ash",))
    assert found[BLOCK - 1][2] > 0
    assert found[BLOCK][2] == 0


def test_of_the_terms_that_occur_only_the_rarest_ten_count() -> None:
    """Also where several are equally rare or stand for the same stem; what occurs nowhere crowds nothing out."""
    partition = held([[Text(key=1, words=("ash",))]])
    occurring = tuple(Term(f"w{number}", ("ash",)) for number in range(14))
    absent = tuple(Term(f"x{number}", ("yew",)) for number in range(14))
    terms = weigh_terms([partition], Query(text="", at=MOMENT, terms=absent + occurring))
    assert sum(term.hashes == (term_hash("ash"),) for term in terms) == 10
    assert 0 < sum(term.share for term in terms) < 1


def test_a_term_found_under_any_of_its_stems_is_one_term() -> None:
    """Counts of alternatives add up; a unit that holds two of them is one unit."""
    partition = held([[Text(key=1, words=("walk", "gang")), Text(key=2, session=2, words=("fir", "fir"))]])
    query = Query(text="", at=MOMENT, terms=(Term("walk", ("walk", "gang")),))
    found = lexical_scores(weigh_terms([partition], query), take_snapshot(partition, 2))
    merged = bm25([Text(key=1, words=("walk", "walk")), Text(key=2, session=2, words=("fir", "fir"))], ("walk",))
    assert float(found.own[0]) == pytest.approx(merged[1][0], abs=1e-5)


def test_the_weight_of_a_term_is_taken_over_all_partitions_together() -> None:
    """What is rare here and common there is common."""
    here, there = held([[Text(key=1, words=("ash", "elm"))]]), held([[Text(key=key, words=("ash",)) for key in range(2, 30)]])
    ash, elm = weigh_terms([here, there], asking("ash", "elm"))
    assert elm.share > 5 * ash.share


def test_no_units_and_no_terms_are_no_trouble() -> None:
    empty = Partition(0)
    empty.extend([])
    empty.drop([7])
    assert weigh_terms([empty], asking()) == ()
    assert len(lexical_scores(weigh_terms([empty], asking("ash")), take_snapshot(empty, 0)).own) == 0
    wordless = held([[Text(key=1), Text(key=2)]])
    assert scores(wordless, ("ash",)) == {1: (0, 0, 0), 2: (0, 0, 0)}


def test_searching_the_first_rows_sees_nothing_of_the_later_ones() -> None:
    """A search that began before units came answers from what there was, links to newer rows included."""
    line = [Text(key=key, at=float(key), words=("ash",)) for key in range(6)]
    partition = held([line])
    part = lexical_scores(weigh_terms([partition], asking("ash")), take_snapshot(partition, 3))
    assert len(part.own) == len(part.window) == len(part.block) == 3
    assert np.isfinite(part.window).all()


def test_memories_each_in_a_session_of_their_own_have_no_neighbours() -> None:
    partition = Partition(0)
    partition.extend([unit(Text(key=key, session=key, at=0.0, words=(word,))) for key, word in ((1, "ash"), (2, "elm"))])
    assert scores(partition, ("ash",))[2] == (0, 0, 0)
