"""Lexicon: the words and names that the rules know, read once from the files in `lexicon/`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files

from germane.text.normal import fold

__all__ = ["all_of", "cue", "folded", "is_tool", "kin", "nicknames", "stemmed", "tools", "without_ending", "words"]

_ENDINGS = ("ами", "ями", "ого", "ему", "ом", "ем", "ой", "ей", "ах", "ях", "ов", "ью")
_VOWELS = "аяоеуюыиьйьё"


@cache
def _table(name: str) -> Mapping[str, Mapping[str, str]]:
    table: dict[str, dict[str, str]] = tomllib.loads(files(__package__).joinpath(f"lexicon/{name}.toml").read_text("utf-8"))
    return table


@cache
def words(file: str, table: str, *keys: str) -> frozenset[str]:
    """Returns the words of these lists (all lists of the table without `keys`) as they stand there, `_` read as a space.
    Raises `KeyError` for a list that isn't there."""
    lists = _table(file)[table]
    return frozenset(word.replace("_", " ") for key in keys or lists for word in lists[key].split())


@cache
def folded(file: str, table: str, *keys: str) -> frozenset[str]:
    """Returns the words of these lists without case and accents. Raises `KeyError` for a list that isn't there."""
    return frozenset(map(fold, words(file, table, *keys)))


@cache
def cue(name: str) -> frozenset[str]:
    """Returns the cue words of this list, folded. Raises `KeyError` where there is none."""
    return folded("cues", "cues", name)


@cache
def kin() -> Mapping[str, str]:
    """Returns what each word for a relative or companion says, such as `Schwester` → `sister`, by the folded word."""
    return {fold(word): name for name, text in _table("people")["kin"].items() for word in text.split()}


@cache
def stemmed(file: str, table: str, key: str) -> frozenset[str]:
    """Returns the Cyrillic words of a list without their endings."""
    return frozenset(stem for word in words(file, table, key) if len(stem := without_ending(word)) > 1)


def without_ending(word: str) -> str:
    """Returns a Cyrillic or Greek word, folded, without the ending of its case: Москве, Москвы → москв. Reads 40 characters."""
    word = fold(word[:40])
    for ending in _ENDINGS:
        if len(word) > len(ending) + 2 and word.endswith(ending):
            return word.removesuffix(ending)
    return word.rstrip(_VOWELS) if len(word) > 2 and word[-1] in _VOWELS else word


@cache
def tools() -> frozenset[str]:
    """Returns the names of tools that count in any case, folded."""
    return folded("tools", "tools", "names", "unambiguous_commands")


def is_tool(word: str) -> bool:
    """Returns whether this is the name of a tool, as it stands in prose."""
    return word.lower() in tools() or word in words("tools", "tools", "cased")


def all_of(names: Iterable[str]) -> frozenset[str]:
    """Returns the union of these cue lists."""
    return frozenset[str]().union(*map(cue, names))


@cache
def nicknames() -> Mapping[str, frozenset[str]]:
    """Returns the other forms of each first name, by the folded form: `bob` → {robert, bert, …}. Names that only share a short
    form aren't forms of each other. Cyrillic names stand without their endings."""
    forms: dict[str, set[str]] = {}
    for line in _table("people")["nicknames"]["lines"].strip().splitlines():
        full, *short = (_form(word) for word in line.split())
        for one in short:
            forms.setdefault(full, set()).add(one)
            forms.setdefault(one, set()).add(full)
    return {name: frozenset(others - {name}) for name, others in forms.items()}


def _form(word: str) -> str:
    return fold(word) if word.isascii() or word[0] < "\u0370" else without_ending(word)
