"""Find: which units a search returns, in which order, for any query."""

from __future__ import annotations

import threading
from dataclasses import replace
from math import isfinite
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.search.find import find
from germane.search.partition import Partition
from germane.search.relevance import matrix, shipped
from germane.search.unit import ASSISTANT, CAPITALS, QUESTION, TEMPORAL, USER, describe
from germane.text.terms import query_terms, term_hash
from germane.types.evidence import FEATURES
from germane.types.query import Days, Query
from germane_testing.builders import MOMENT
from support.examples import examples
from support.plain_units import DIMENSION, Text, asking, held, search, texts, unit

VECTOR = np.array([0.5, 0.5, 0.5, 0.5], np.float32)


@given(texts(), st.randoms(use_true_random=False), st.integers(1, 12))
def test_the_order_of_arrival_decides_nothing(corpus: list[Text], random: object, limit: int) -> None:
    """The same units give the same hits in the same order: equals go by key, at the cut as well."""
    shuffled = list(corpus)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one = [hit.key for hit in search([held([corpus])], asking("ash", "elm"), limit)]
    two = [hit.key for hit in search([held([shuffled[:5], shuffled[5:]])], asking("ash", "elm"), limit)]
    assert one == two


@given(texts(), st.integers(1, 12))
def test_without_texts_the_same_is_found_and_nothing_is_to_be_read(corpus: list[Text], limit: int) -> None:
    """Each result with its log-odds, whatever price there is."""
    partition, asked = held([corpus]), replace(asking("ash", "elm", vector=VECTOR), price=1e-4)
    how: dict[str, Any] = {"keywords": True, "vector": VECTOR, "speakers": {}, "at": 0.0, "stop": lambda: False}
    read = find([partition], replace(asked, price=0.0), limit, **how).found
    found, faint = find([partition], replace(asked, texts=False), limit, **how)
    assert found == []
    assert [one.key for one in faint] == [one.key for one in read]
    odds = shipped().log_odds(matrix([one.evidence for one in read]))
    assert [one.log_odds for one in faint] == pytest.approx(odds.tolist())


def test_equals_go_by_partition_then_by_key() -> None:
    def equal(*keys: int) -> Partition:
        return held([[Text(key=key, session=key, words=("ash",)) for key in keys]])

    found = search([equal(5, 2), equal(9, 1)], asking("ash"), 3)
    assert [(hit.partition, hit.key) for hit in found] == [(0, 2), (0, 5), (1, 1)]


@given(texts(), st.data())
def test_nothing_of_a_dropped_unit_is_found(corpus: list[Text], data: st.DataObject) -> None:
    """Neither it nor, through a word that only it held, its neighbours."""
    corpus = [*corpus, Text(key=999, session=1, at=6.0, words=("secret",), vector=(1.0, 1.0, 1.0, 1.0))]
    partition = held([corpus])
    partition.drop([999])
    assert search([partition], asking("secret")) == []
    rest = held([[text for text in corpus if text.key != 999]])
    asked = asking("ash", vector=VECTOR)
    found, wanted = search([partition], asked), search([rest], asked)
    assert [hit.key for hit in found] == [hit.key for hit in wanted]
    for one, two in zip(found, wanted, strict=True):
        for name in FEATURES:
            assert getattr(one.evidence, name) == pytest.approx(getattr(two.evidence, name), abs=1e-5), name


@pytest.mark.requirement("OPS-2", "MEM-3")
def test_of_a_dropped_unit_no_word_and_no_vector_is_left() -> None:
    """Nor of what it said before it was changed."""
    others = [Text(key=key, words=("ash", "elm"), at=float(key)) for key in (1, 3)]
    secret = [Text(key=2, words=words, at=2.0, vector=(0.5, 0.5, 0.5, 0.5)) for words in (("secret", "ash"), ("hidden", "ash"))]
    partition = held([[others[0], secret[0]], [others[1], secret[1]]])
    words = {term_hash(word) for word in ("secret", "hidden")}
    assert words <= set(partition.terms["term"].tolist())
    partition.drop([2])
    assert not words & set(partition.terms["term"].tolist())
    assert not words & {term for segment in partition.postings._segments for term in segment.terms.tolist()}
    gone = partition.columns["key"][: partition.columns.rows] == 2
    assert gone.sum() == 2
    assert not partition.columns["vector"][: partition.columns.rows][gone].any()
    assert {hit.key for hit in search([partition], asking("ash"))} == {1, 3}


def test_a_row_with_nothing_in_common_is_not_found() -> None:
    assert search([held([[Text(key=1, words=("ash",))]])], asking("oak")) == []


def test_a_neighbour_of_what_matches_is_found_with_less() -> None:
    """The answer often stands beside the words of the question."""
    line = [Text(key=1, words=("ash",)), Text(key=2, at=1.0, words=("elm",)), Text(key=3, session=2, words=("ash",))]
    found = {hit.key: hit.evidence for hit in search([held([line])], asking("ash"))}
    assert found[2].own == 0
    assert 0 < found[2].window < found[1].window + found[1].own


@pytest.mark.parametrize("limit", [0, -3])
def test_no_room_for_hits_is_no_hits(limit: int) -> None:
    assert search([held([[Text(key=1, words=("ash",))]])], asking("ash"), limit) == []


def test_a_search_nobody_waits_for_finds_nothing() -> None:
    partition = held([[Text(key=1, words=("ash",))]])
    found = find([partition], asking("ash"), 5, keywords=True, vector=None, speakers={}, at=0, stop=lambda: True).found
    assert found == []


def test_keywords_and_vectors_can_each_be_left_out() -> None:
    partition = held([[Text(key=1, words=("ash",)), Text(key=2, session=2, vector=(1.0, 0.0, 0.0, 0.0))]])
    query = asking("ash", vector=VECTOR)

    def keys(*, keywords: bool, vectors: bool) -> list[int]:
        finding = find(
            [partition],
            query,
            5,
            keywords=keywords,
            vector=query.vector if vectors else None,
            speakers={},
            at=0,
            stop=lambda: False,
        )
        return [hit.key for hit in finding.found]

    assert sorted(keys(keywords=True, vectors=True)) == [1, 2]
    assert keys(keywords=True, vectors=False) == [1]
    assert keys(keywords=False, vectors=True) == [2]
    assert keys(keywords=False, vectors=False) == []


def named(text: str, *, speakers: tuple[str, ...] = ("Ann Lee", "Bo")) -> dict[int, float]:
    codes = {term_hash(name.lower()): name for name in speakers}
    partition = Partition(0)
    units = [unit(Text(key=key, session=key, words=("ash",)), speaker=code) for key, code in enumerate(codes, 1)]
    partition.extend(units)
    query = asking("ash", text=text)
    found = find([partition], query, 5, keywords=True, vector=query.vector, speakers=codes, at=0, stop=lambda: False).found
    return {hit.key: hit.evidence.speaker for hit in found}


def test_exactly_one_participant_named_speaks_for_what_they_said() -> None:
    """By the whole name or a word of it, possessive and marks aside; two named participants are none."""
    assert named("Where is Ann's ash?") == {1: 1, 2: 0}
    assert named("does LEE like ash") == {1: 1, 2: 0}
    assert named("Did Ann and Bo plant it?") == {1: 0, 2: 0}
    assert named("who planned Annapolis") == {1: 0, 2: 0}


def test_what_a_unit_is_comes_with_it() -> None:
    """Flags become evidence; temporal words and capitals only where the question asks for them."""
    line = [
        unit(Text(key=1, at=1.0, words=("ash",)), flags=QUESTION | USER),
        unit(Text(key=2, at=2.0, words=("ash",)), flags=TEMPORAL | ASSISTANT | 3 << CAPITALS, words=10),
    ]
    partition = Partition(0)
    partition.extend(line)
    plain = {hit.key: hit.evidence for hit in search([partition], asking("ash"))}
    assert (plain[1].question, plain[1].user, plain[1].assistant) == (1, 1, 1)
    assert (plain[2].answers, plain[2].temporal, plain[2].capitals) == (1, 0, 0)
    assert plain[2].length == pytest.approx(np.log(11) - 2.5)
    asks = Query(text="", at=MOMENT, terms=query_terms("ash"), asks_when=True, asks_name=True)
    (second,) = (hit.evidence for hit in search([partition], asks) if hit.key == 2)
    assert (second.temporal, second.capitals) == (1, 1)


def test_a_conversation_that_lost_its_assistant_is_one_between_people() -> None:
    """As it would be, had the file been opened anew."""
    partition = Partition(0)
    partition.extend([unit(Text(key=1, words=("ash",))), unit(Text(key=2, at=1.0, words=("ash",)), flags=ASSISTANT)])
    partition.drop([2])
    (hit,) = search([partition], asking("ash"))
    assert hit.evidence.assistant == 0


def test_the_words_around_are_evidence_of_their_own() -> None:
    """Two before, and the next one."""
    line = [Text(key=key, at=float(key), words=("ash",) if key in (1, 4) else ("elm",)) for key in range(1, 7)]
    found = {hit.key: hit.evidence for hit in search([held([line])], asking("ash"))}
    assert found[3].before > 0
    assert found[3].after > 0
    assert found[5].before == found[5].after == 0


@pytest.mark.requirement("SEARCH-1")
@examples(150)
@given(st.text(max_size=60) | st.text(alphabet='"*^:()-+AND OR NEAR\x00\ud800ßİ', max_size=40), st.text(max_size=60))
def test_any_question_may_be_asked_of_any_text(question: str, stored: str) -> None:
    """No syntax, no errors, and every piece of evidence a finite number."""
    partition = Partition(DIMENSION)
    made = describe(
        key=1, session=1, created_at=0.0, text=stored, role="user", name=stored[:5], sensitivity="private", kind="message"
    )
    partition.extend([made])
    days = (Days(first=MOMENT.date(), last=MOMENT.date()),)
    query = Query(text=question, at=MOMENT, terms=query_terms(question), days=days, vector=VECTOR)
    speakers = {made.speaker: stored[:5]} if stored else {}
    found = find([partition], query, 5, keywords=True, vector=query.vector, speakers=speakers, at=0.0, stop=lambda: False).found
    values = [getattr(hit.evidence, name) for hit in found for name in FEATURES]
    assert all(isfinite(value) for value in values if value is not None)


@pytest.mark.requirement("SEARCH-2")
@examples(60)
@given(st.text(min_size=1, max_size=40))
def test_a_text_with_a_word_in_it_finds_itself(text: str) -> None:
    """Texts and questions go through one analyser."""
    partition = Partition(0)
    partition.extend(
        [describe(key=1, session=1, created_at=0.0, text=text, role="user", name="", sensitivity="private", kind="note")]
    )
    query = Query(text=text, at=MOMENT, terms=query_terms(text))
    assert [hit.key for hit in search([partition], query)] == ([1] if query.terms else [])


def test_searching_goes_on_while_units_come_and_go() -> None:
    """One thread adds, replaces and drops, the other searches: whatever is found is whole and was there."""
    partition = Partition(DIMENSION)
    partition.extend([unit(Text(key=0, words=("ash",), vector=(1.0, 0.0, 0.0, 0.0)))])
    failures: list[BaseException] = []
    done = threading.Event()

    def write() -> None:
        try:
            for turn in range(1, 150):
                at = float(turn if turn % 3 else -turn)
                fresh = [Text(key=turn * 10 + place, at=at, words=("ash", "elm"), vector=(0.5,) * 4) for place in range(4)]
                partition.extend([unit(text, flags=ASSISTANT) for text in fresh])
                partition.drop([turn * 10])
                partition.extend([unit(fresh[1])])
        except BaseException as error:
            failures.append(error)
        finally:
            done.set()

    writer = threading.Thread(target=write)
    writer.start()
    searches = 0
    while not done.is_set() or searches < 5:
        for hit in search([partition], asking("ash", "elm", vector=VECTOR), 50):
            assert 0 <= hit.key < 1500
            assert isfinite(hit.evidence.window)
        searches += 1
    writer.join()
    assert not failures
    assert len(search([partition], asking("ash"), 1000)) == len(partition) == 1 + 149 * 3


def test_of_what_is_too_unlikely_only_the_best_few_are_brought() -> None:
    """The best eight are returned even when they are too unlikely, for explanations; otherwise all that are likely enough."""
    words = {"ash": 2, "elm": 3, "fir": 5}
    texts = [Text(key=key, session=key, words=tuple(word for word, n in words.items() if key % n == 0)) for key in range(60)]
    partition = held([texts])
    asked = asking("ash", "elm", "fir")
    every = search([partition], asked)
    likely = 1 / (1 + np.exp(-shipped().log_odds(matrix([hit.evidence for hit in every]))))
    assert len({round(float(p), 9) for p in likely[likely > 0.0005]}) > 1
    best = [(hit.key, hit.evidence) for hit in every]
    for min_relevance, many in [(0.9, 8), *((float(p) - 1e-9, max(8, sum(likely >= p))) for p in likely[likely > 0.0005])]:
        found = search([partition], replace(asked, min_relevance=min_relevance))
        assert [(hit.key, hit.evidence) for hit in found] == best[:many]
