"""The embedder of wordllama: exact tokens, unit vectors, quick and bounded."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st

from germane.errors import EmbedderError, MissingExtra
from germane.models.embedders import static as module
from germane.models.embedders import tables
from germane.models.embedders.static import Static
from support.examples import examples

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


@examples(200)
@given(text=_TEXT)
def test_piece_by_piece_is_the_mean_of_the_whole_texts_tokens(static: Static, oracle: tokenizers.Tokenizer, text: str) -> None:
    """Splitting at spaces and remembering pieces changes no token."""
    vector = static.embed_now([text])[0]
    assert static._table is not None
    ids = oracle.encode(text, add_special_tokens=False).ids if text.strip() else []
    mean = static._table.weights[ids].mean(axis=0) if ids else np.zeros(256, np.float32)
    norm = np.linalg.norm(mean)
    np.testing.assert_allclose(vector, mean / norm if norm else mean, atol=1e-5)


def test_a_lone_surrogate_reads_as_a_replacement_character(static: Static) -> None:
    """No text can make it raise."""
    broken, replaced = static.embed_now(["half \ud83d pair", "half \ufffd pair"])
    assert np.array_equal(broken, replaced)


def test_the_words_remembered_are_bounded(static: Static, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long runs without a space aren't cached at all."""
    monkeypatch.setattr(module, "_CACHED_PIECES", 10)
    embedder = Static()
    embedder.embed_now([" ".join(f"word{n}" for n in range(100)), "一" * 500])
    assert len(embedder._pieces) <= 10
    assert all(len(piece) <= 24 for piece in embedder._pieces)


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
    monkeypatch.setattr(tables, "_tables", {})
    monkeypatch.setattr(module, "find_spec", lambda _: Spec)
    with pytest.raises(EmbedderError, match=tmp_path.name):
        Static().warm()
