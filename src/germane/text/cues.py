"""Cues: which kinds of words a clause has: of the speaker, of demands, of what lasts. The words stand in `cues.toml`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple

__all__ = ["KINDS", "Cues", "lower_words", "only_always", "read_cues"]

KINDS = (
    *("i", "mine", "you", "always", "never", "please", "answering", "shape", "limit", "case", "change", "taste", "body"),
    *("people", "life", "repeating", "asking", "empty"),
)
"""The tables of `cues.toml`, in the order of `Cues.counts`."""
_WORD = re.compile(r"[^\W\d_]++(?:['-][^\W\d_]++){0,8}+|\d[\d.,:]*+")
_APOSTROPHES = str.maketrans("’‘ʼ＇", "''''")
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_MAX_WORD = 40


class Cues(NamedTuple):
    """How often each kind occurs, the kinds of the first word, and the number of words: in scripts without spaces two
    characters count as one."""

    counts: tuple[int, ...]
    first: frozenset[int]
    words: int


class _Lexicon(NamedTuple):
    exact: Mapping[str, frozenset[int]]
    beginnings: Mapping[str, frozenset[int]]
    lengths: tuple[int, ...]
    """Lengths of the beginnings."""
    runs: Mapping[str, tuple[tuple[tuple[str, ...], int], ...]]
    """By first word: the words that follow in a run of words, and the run's kind."""
    unspaced: re.Pattern[str]
    unspaced_kinds: Mapping[str, frozenset[int]]
    always: frozenset[str]
    """The words of the kind `always`, and those of which its runs are made."""


def read_cues(text: str) -> Cues:
    """Reads the cues of a clause. Linear."""
    lexicon, counts = _lexicon(), [0] * len(KINDS)
    low = _lower(text)
    words = _WORD.findall(low)
    first = frozenset[int]()
    for place, word in enumerate(words):
        kinds = _kinds(word[:_MAX_WORD])
        for kind in kinds:
            counts[kind] += 1
        for rest, kind in lexicon.runs.get(word, ()):
            if tuple(words[place + 1 : place + 1 + len(rest)]) == rest:
                counts[kind] += 1
                kinds |= {kind}
        if not place:
            first = kinds
    size = len(words)
    if not text.isascii() and (wide := len(_WIDE.findall(low))):
        for found in lexicon.unspaced.finditer(low):
            for kind in lexicon.unspaced_kinds[found[0]]:
                counts[kind] += 1
        size = max(1, wide // 2 + sum(_WIDE.search(word) is None for word in words))
    return Cues(tuple(counts), first, size)


def lower_words(text: str) -> list[str]:
    """Returns the words and numbers of the text in lower case, with straight apostrophes, each cut to 40 characters. Linear."""
    return [word[:_MAX_WORD] for word in _WORD.findall(_lower(text))]


def only_always(text: str) -> bool:
    """Returns whether the text says nothing but that something always holds: "every single time"."""
    words, lexicon = lower_words(text), _lexicon()
    if _WIDE.search(text):
        always = KINDS.index("always")
        rest = lexicon.unspaced.sub(lambda found: "" if always in lexicon.unspaced_kinds[found[0]] else found[0], text)
        return _WIDE.search(rest) is None and not words[1:]
    return bool(words) and lexicon.always.issuperset(words)


def _lower(text: str) -> str:
    return text.translate(_APOSTROPHES).lower()


@lru_cache(maxsize=1 << 14)
def _kinds(word: str) -> frozenset[int]:
    lexicon = _lexicon()
    found = lexicon.exact.get(word, frozenset())
    for length in lexicon.lengths:
        if length > len(word):
            break
        found |= lexicon.beginnings.get(word[:length], frozenset())
    return found


@cache
def _lexicon() -> _Lexicon:
    tables = tomllib.loads(files("germane.text").joinpath("cues.toml").read_text("utf-8"))
    exact, beginnings, unspaced = dict[str, frozenset[int]](), dict[str, frozenset[int]](), dict[str, frozenset[int]]()
    runs: dict[str, tuple[tuple[tuple[str, ...], int], ...]] = {}
    for kind, name in enumerate(KINDS):
        for language, listed in tables[name].items():
            for word in listed.split():
                if language == "unspaced":
                    _add(unspaced, word, kind)
                elif "_" in word:
                    begin, *rest = word.rstrip("*").split("_")
                    runs[begin] = (*runs.get(begin, ()), (tuple(rest), kind))
                elif word.endswith("*"):
                    _add(beginnings, word[:-1], kind)
                else:
                    _add(exact, word, kind)
    longest_first = sorted(unspaced, key=lambda word: (-len(word), word))
    lengths = tuple(sorted({len(word) for word in beginnings}))
    listed_always = " ".join(tables["always"].values()).replace("_", " ").split()
    always = frozenset(word.rstrip("*") for word in listed_always)
    return _Lexicon(exact, beginnings, lengths, runs, re.compile("|".join(map(re.escape, longest_first))), unspaced, always)


def _add(table: dict[str, frozenset[int]], word: str, kind: int) -> None:
    table[word] = table.get(word, frozenset()) | {kind}
