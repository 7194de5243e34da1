"""What every embedder that sums vectors of a table promises: unit vectors, quick and bounded, the same for many callers."""

from __future__ import annotations

import threading
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.models.embedders import tables as table_embedder
from germane.models.embedders.distilled import Distilled
from germane.models.embedders.static import Static
from germane_testing.time_warp import warped
from support.examples import examples

EITHER = Distilled | Static


@pytest.fixture(scope="module", params=[Distilled, Static])
def embedder(request: pytest.FixtureRequest) -> EITHER:
    made: EITHER = request.param()
    made.warm()
    return made


@examples(100)
@given(texts=st.lists(st.text(max_size=30), max_size=8))
def test_every_vector_has_unit_length_or_is_zero(embedder: EITHER, texts: list[str]) -> None:
    """Whatever is written in them, lone surrogates included."""
    vectors = embedder.embed_now(texts)
    assert vectors.shape == (len(texts), 256)
    assert vectors.dtype == np.float32
    lengths = np.linalg.norm(vectors, axis=1)
    assert np.all(np.isclose(lengths, 1, atol=1e-5) | (lengths == 0))


def test_a_texts_vector_does_not_depend_on_its_batch(embedder: EITHER) -> None:
    """Bit for bit: what a store holds and what a question is compared with are the same numbers."""
    texts = ["the dog is ill", "", "deploy failed with E1234", "собака 犬", "今日は天気がいい", "word " * 3_000]
    together = embedder.embed_now(texts)
    assert all(np.array_equal(row, embedder.embed_now([text])[0]) for row, text in zip(together, texts, strict=True))


def test_words_of_similar_meaning_are_nearer_than_others(embedder: EITHER) -> None:
    """What keywords alone can't know."""
    cat, kitten, revenue = embedder.embed_now(["my cat is ill", "the kitten got sick", "quarterly revenue forecast"])
    assert cat @ kitten > cat @ revenue + 0.2


def test_blank_texts_have_no_direction(embedder: EITHER) -> None:
    """Zero rows, not noise."""
    assert not embedder.embed_now(["", "  \n\t"]).any()


def test_of_a_huge_text_only_head_and_tail_are_read(embedder: EITHER) -> None:
    """The middle of a megabyte costs nothing and changes nothing."""
    head, tail = "alpha beta " * 800, " omega" * 400
    one, other = embedder.embed_now([head + "x " * 500_000 + tail, head + "y " * 500_000 + tail])
    assert np.array_equal(one, other)


def test_many_threads_get_what_one_gets(embedder: EITHER, monkeypatch: pytest.MonkeyPatch) -> None:
    """One table is loaded, and no thread sees it half loaded."""
    monkeypatch.setattr(table_embedder, "_tables", {})
    fresh, expected = type(embedder)(), embedder.embed_now(["shared text"])
    found: list[bool] = []
    threads = [
        threading.Thread(target=lambda: found.append(np.array_equal(fresh.embed_now(["shared text"]), expected)))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 8


@warped
async def test_the_async_face_answers_the_same() -> None:
    """First load in a thread, then inline, big batches in a thread again."""
    for embedder in (Distilled(), Static()):
        few, many = ["hello there"], ["a longer text " * 50] * 40
        first, inline, batch = await embedder.embed(few), await embedder.embed(few), await embedder.embed(many)
        assert np.array_equal(first, inline)
        assert np.array_equal(batch[0], embedder.embed_now(many[:1])[0])
        await embedder.close()


@pytest.mark.requirement("LIMITS-3")
@warped
async def test_in_the_background_it_pauses_after_each_text(embedder: EITHER) -> None:
    """In a thread, however short the texts are; the vectors are the same."""
    texts, threads = ["a dog"] * 3, list[int]()
    embedder.embed_now(texts)
    vectors = await embedder.embed_in_background(texts, lambda: threads.append(threading.get_ident()))
    assert len(threads) == 3
    assert threading.get_ident() not in threads
    assert np.array_equal(vectors, embedder.embed_now(texts))


@pytest.mark.requirement("LIMITS-3")
@pytest.mark.parametrize("kind", [Distilled, Static])
async def test_in_the_background_it_pauses_within_a_text_of_new_words(
    kind: type[EITHER], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Splitting words that aren't in the cache is what takes long."""
    monkeypatch.setattr(table_embedder, "_tables", WeakValueDictionary[type, Any]())  # whose cache holds no words yet
    embedder, pauses, text = kind(), list[None](), " ".join(f"w{number:x}" for number in range(500))
    await embedder.embed_in_background([text], lambda: pauses.append(None))
    assert len(pauses) == 501
    await embedder.close()


@pytest.mark.parametrize("kind", [Distilled, Static])
async def test_closing_releases_the_table_and_the_next_text_loads_it(
    kind: type[EITHER], monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = WeakValueDictionary[type, Any]()
    monkeypatch.setattr(table_embedder, "_tables", tables)
    embedder = kind()
    before = await embedder.embed(["a dog"])
    assert list(tables) == [kind]
    await embedder.close()
    assert not tables
    assert np.array_equal(await embedder.embed(["a dog"]), before)


async def test_the_embedders_of_a_process_share_one_table_until_the_last_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """To load it and to make the words' vectors would take a third of a second for each store that is opened."""
    tables, words = WeakValueDictionary[type, Any](), WeakValueDictionary[type, Any]()
    monkeypatch.setattr(table_embedder, "_tables", tables)
    monkeypatch.setattr(table_embedder, "_words", words)
    loads, load = list[type](), Distilled._load

    def counted(embedder: Distilled) -> Any:
        loads.append(type(embedder))
        return load(embedder)

    monkeypatch.setattr(Distilled, "_load", counted)
    first, second = Distilled(), Distilled()
    asked = np.array([1, 2, 3], np.uint32), ["dog"]
    expected = first.word_vectors().cosines(*asked)
    assert second.word_vectors() is first.word_vectors()
    await second.embed(["a dog"])
    await first.close()
    assert np.array_equal(second.word_vectors().cosines(*asked), expected, equal_nan=True)
    assert loads == [Distilled]
    await second.close()
    assert (list(tables), list(words)) == ([], [])
    await second.embed(["a dog"])
    assert loads == [Distilled] * 2


@pytest.mark.requirement("SEARCH-3")
@pytest.mark.parametrize(("kind", "identity"), [(Distilled, "distilled/minilm-1/256"), (Static, "static/l2_supercat/256")])
def test_it_names_its_space(kind: type[EITHER], identity: str) -> None:
    """Model, version and dimension in one identity: a store's vectors are compared with no others."""
    embedder = kind()
    assert (embedder.identity, embedder.dimension, embedder.quick) == (identity, 256, True)
