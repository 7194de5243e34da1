"""Phrases: what users and agents of generated conversations say, in seven languages, from TOML files."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from random import Random
from typing import Any, Literal, NamedTuple

__all__ = ["LANGUAGES", "Phrases", "SaidPhrase", "Split", "world"]

Split = Literal["development", "held_out"]
LANGUAGES = ("english", "german", "french", "spanish", "italian", "portuguese", "russian")
_KEY = re.compile(r"\*([^*]+)\*")


class SaidPhrase(NamedTuple):
    """A filled phrase, and the key words in it."""

    text: str
    words: tuple[str, ...]


class Phrases(NamedTuple):
    """The phrases of one language in one of the two sets, which have none in common."""

    split: Split
    language: str

    def say(self, kind: str, random: Random, **values: str) -> SaidPhrase:
        """Returns a phrase of this kind, chosen at random and filled. `thing` is chosen where it isn't given."""
        table = _table(self.split)[self.language]
        phrases: list[str] = table[kind]
        phrase = random.choice(phrases)
        filled = phrase.format_map(
            {"thing": random.choice(table["things"]), "number": str(random.randint(3, 60) * 10)} | values
        )
        return SaidPhrase(filled.replace("*", ""), tuple(_KEY.findall(filled)))


@cache
def world() -> Mapping[str, Any]:
    """Returns the words that conversations are made of besides phrases."""
    return _read("world")


@cache
def _table(split: Split) -> Mapping[str, Any]:
    return _read(split)


def _read(name: str) -> Mapping[str, Any]:
    return tomllib.loads(files(__package__).joinpath(f"{name}.toml").read_text("utf-8"))
