"""Keys: the names of extracted facts: names that mean the same are one, and the words by which people speak of a fact.

The table is `languages/keys.toml`. Keys that a caller gives stay as given; the rules and language models get the common one.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from itertools import islice, product
from types import MappingProxyType
from typing import NamedTuple

from germane.text.normal import fold

__all__ = ["canonical_key", "same_keys", "speaks_of"]

_MAX_SAME = 24
"""Keys that are looked up in place of one."""


class _Names(NamedTuple):
    canonical: Mapping[str, str]
    """The common name of each other name of a segment."""
    spelling: Mapping[str, str]
    """The common spelling of a word within a segment."""
    others: Mapping[str, tuple[str, ...]]
    """The other names of each common one, names and spellings."""
    about: Mapping[str, tuple[str, ...]]


def canonical_key(key: str) -> str:
    """Returns the common one of all keys that mean the same, in linear time. The first segment, whose fact it is, stays."""
    whose, *segments = key.split(".")
    return ".".join((whose, *map(_canonical, segments)))


def same_keys(key: str) -> tuple[str, ...]:
    """Returns the keys that mean the same as `key`, the common one first, `key` itself among them; at most 24."""
    whose, *segments = canonical_key(key).split(".")
    others = _names().others
    choices = [(segment, *others.get(segment, ())) for segment in segments]
    made = (".".join((whose, *chosen)) for chosen in product(*choices))
    return tuple(dict.fromkeys((canonical_key(key), key, *islice(made, _MAX_SAME - 2))))


def speaks_of(key: str, word: str) -> bool:
    """Whether people speak of a fact with this key by this folded word: it is in the key itself, or in the table."""
    segments = canonical_key(key).split(".")[1:]
    if any(
        len(part) > 2 and (part.startswith(word[:5]) or word.startswith(part)) for one in segments for part in one.split("-")
    ):
        return True
    about = _names().about
    return any(word.startswith(beginning) for segment in segments for beginning in about.get(segment, ()))


def _canonical(segment: str) -> str:
    names, folded = _names(), fold(segment)
    if folded in names.canonical:
        return names.canonical[folded]
    words = folded.split("-")
    return "-".join(names.spelling.get(word, word) for word in words) if _respelled(words) else segment


def _respelled(words: list[str]) -> bool:
    return not _names().spelling.keys().isdisjoint(words)


@cache
def _names() -> _Names:
    table = tomllib.loads(files("germane.memories.extraction").joinpath("languages/keys.toml").read_text("utf-8"))
    listed = {section: {name: tuple(words.split()) for name, words in table[section].items()} for section in table}
    others = {name: names for section in ("spelling", "same") for name, names in listed[section].items()}
    return _Names(
        canonical=MappingProxyType({other: name for name, names in listed["same"].items() for other in names}),
        spelling=MappingProxyType({other: name for name, names in listed["spelling"].items() for other in names}),
        others=MappingProxyType(others),
        about=MappingProxyType(listed["about"]),
    )
