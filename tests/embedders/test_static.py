"""The embedder of wordllama: exact tokens, unit vectors, quick and bounded."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from germane.embedders import static as module
from germane.embedders.static import Static
from germane.errors import EmbedderError, MissingExtra
from germane.testing.time_warp import warped

_TEXT = st.text(st.sampled_from(" \n\t▁abcXYZ019.,हि𝒳ⅷ\ue000!'\"-<s>/éñ中国ไทย😀"), max_size=60) | st.text(max_size=40)


@pytest.fixture(scope="module")
def static() -> Static:
    embedder = Static()
    embedder.warm()
    return embedder


@pytest.fixture(scope="module")
def oracle() -> tokenizers.Tokenizer:
    from importlib.util import find_spec

    spec = find_spec("wordllama")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    path = Path(spec.submodule_search_locations[0], "tokenizers", "l2_supercat_tokenizer_config.json")
    tokenizer = tokenizers.Tokenizer.from_file(str(path))
    tokenizer.encode_special_tokens = True
    return tokenizer


@settings(max_examples=200, deadline=None)
@given(text=_TEXT)
def test_piece_by_piece_is_the_mean_of_the_whole_texts_tokens(static: Static, oracle: tokenizers.Tokenizer, text: str) -> None:
    """Splitting at spaces and remembering pieces changes no token."""
    vector = static.embed_now([text])[0]
    assert static._table is not None
    ids = oracle.encode(text, add_special_tokens=False).ids if text.strip() else []
    mean = static._table.weights[ids].mean(axis=0) if ids else np.zeros(256, np.float32)
    norm = np.linalg.norm(mean)
    np.testing.assert_allclose(vector, mean / norm if norm else mean, atol=1e-5)


@settings(max_examples=100, deadline=None)
@given(texts=st.lists(st.text(max_size=30), max_size=8))
def test_every_vector_has_unit_length_or_is_zero(static: Static, texts: list[str]) -> None:
    """Whatever is written in them, lone surrogates included."""
    vectors = static.embed_now(texts)
    assert vectors.shape == (len(texts), 256)
    assert vectors.dtype == np.float32
    lengths = np.linalg.norm(vectors, axis=1)
    assert all(
        abs(length - 1) < 1e-5 or (length == 0 and not text.strip()) for length, text in zip(lengths, texts, strict=True)
    )


def test_a_texts_vector_does_not_depend_on_its_batch(static: Static) -> None:
    """Bit for bit, so that equal requests give equal contexts."""
    texts = ["I adopted a cat named Miso", "", "deploy failed with E1234", "今日は天気がいい"]
    together = static.embed_now(texts)
    assert all(np.array_equal(row, static.embed_now([text])[0]) for row, text in zip(together, texts, strict=True))


def test_likeness_of_meaning_shows() -> None:
    """A paraphrase is nearer than something else."""
    cat, kitten, revenue = Static().embed_now(["my cat is ill", "the kitten got sick", "quarterly revenue forecast"])
    assert cat @ kitten > cat @ revenue + 0.2


def test_blank_texts_have_no_direction(static: Static) -> None:
    """Zero rows, not noise."""
    assert not static.embed_now(["", "  \n\t"]).any()


def test_a_lone_surrogate_reads_as_a_replacement_character(static: Static) -> None:
    """No text can make it raise."""
    broken, replaced = static.embed_now(["half \ud83d pair", "half \ufffd pair"])
    assert np.array_equal(broken, replaced)


def test_of_a_huge_text_only_head_and_tail_are_read(static: Static) -> None:
    """The middle of a megabyte costs nothing and changes nothing."""
    head, tail = "alpha beta " * 800, " omega" * 400
    one, other = static.embed_now([head + "x " * 500_000 + tail, head + "y " * 500_000 + tail])
    assert np.array_equal(one, other)


def test_the_words_remembered_are_bounded(static: Static, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long runs without a space aren't cached at all."""
    monkeypatch.setattr(module, "_CACHED_PIECES", 10)
    embedder = Static()
    embedder.embed_now([" ".join(f"word{n}" for n in range(100)), "一" * 500])
    assert len(embedder._pieces) <= 10
    assert all(len(piece) <= 24 for piece in embedder._pieces)


def test_many_threads_get_what_one_gets() -> None:
    """One table is loaded, and no thread sees it half loaded."""
    embedder, expected = Static(), Static().embed_now(["shared text"])
    found: list[bool] = []
    threads = [
        threading.Thread(target=lambda: found.append(np.array_equal(embedder.embed_now(["shared text"]), expected)))
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
    embedder = Static()
    few, many = ["hello there"], ["a longer text " * 50] * 40
    first, inline, batch = await embedder.embed(few), await embedder.embed(few), await embedder.embed(many)
    assert np.array_equal(first, inline)
    assert np.array_equal(batch[0], embedder.embed_now(many[:1])[0])
    await embedder.close()


@pytest.mark.requirement("SEARCH-3")
def test_it_names_its_space(static: Static) -> None:
    """Model, version and dimension in one identity."""
    assert (static.identity, static.dimension, static.quick) == ("static/l2_supercat/256", 256, True)


def test_the_package_of_the_table_is_never_imported(static: Static) -> None:
    """Importing it would look for a hub."""
    assert "wordllama" not in sys.modules


def test_a_missing_table_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of the tree, not the importer's, and before a store is opened."""
    monkeypatch.setattr(module, "find_spec", lambda _: None)
    with pytest.raises(MissingExtra, match=r"germane\[wordllama\]"):
        Static()


def test_a_damaged_table_says_where_it_lies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whatever the reading libraries raise."""

    class Spec:
        submodule_search_locations = (str(tmp_path),)

    (tmp_path / "weights").mkdir()
    (tmp_path / "weights" / "l2_supercat_256.safetensors").write_bytes(b"\0" * 20)
    monkeypatch.setattr(module, "find_spec", lambda _: Spec)
    with pytest.raises(EmbedderError, match=tmp_path.name):
        Static().warm()
