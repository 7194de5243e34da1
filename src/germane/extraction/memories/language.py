"""Language: the rules of one language, read from its TOML file in `languages/`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Set
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from germane.kinds.memories.value import KINDS
from germane.text.specifics import letter_words

LANGUAGES = ("english", "german", "french", "spanish")
"""Languages that have rules, by the names of `text.language`."""
_PARTS_DEPTH = 6
_DIGIT = re.compile(r"\d")
ANY_DIGIT = "0"
"""The word that stands for every digit."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rule:
    """`pattern` is matched at the beginning of a clause or, with `anywhere`, searched in a sentence. Its groups `value`, `of`
    and `name` fill a fact's value and its `key`. With `unreal`, a condition before the clause makes it unreal."""

    name: str
    kind: str
    pattern: re.Pattern[str]
    confidence: float
    needs: frozenset[str]
    """Every text that the pattern matches holds one of these words."""
    key: str = ""
    first: frozenset[str] = frozenset()
    """The words that the pattern may begin with; empty for any word."""
    anywhere: bool = False
    unreal: bool = True

    def may_begin_with(self, word: str) -> bool:
        return not self.first or word in self.first


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingRules:
    """How one language is read: where clauses begin and end, which words are somebody else's, and the rules."""

    starts: re.Pattern[str]
    leads: re.Pattern[str]
    ends: re.Pattern[str]
    told: re.Pattern[str]
    own: re.Pattern[str]
    unreal: re.Pattern[str]
    joking: re.Pattern[str]
    playing: re.Pattern[str]
    override: re.Pattern[str]
    unfinished: re.Pattern[str]
    vague: re.Pattern[str]
    elsewhere: re.Pattern[str]
    relative: re.Pattern[str]
    condition: re.Pattern[str]
    persons: re.Pattern[str]
    case: re.Pattern[str]
    general: frozenset[str]
    """Names of things of which there are many, so that a date of one isn't a new date of another."""
    leading: frozenset[str]
    """The words that `leads` may begin with."""
    rules: tuple[Rule, ...]
    needed: Mapping[str, tuple[int, ...]]
    """The words that rules need, each with the places of those rules in `rules`."""

    def possible(self, words: Set[str]) -> list[Rule]:
        """Returns the rules that may match in a text of these `words` (see `vocabulary`), in their order."""
        places = {place for word in words & self.needed.keys() for place in self.needed[word]}
        rules = map(self.rules.__getitem__, sorted(places))
        return [rule for rule in rules if not rule.first or not rule.first.isdisjoint(words)]


def vocabulary(text: str) -> set[str]:
    """Returns the runs of letters of the text in lower case, with `0` where it holds a digit: the words that rules need."""
    words = letter_words(text)
    if _DIGIT.search(text):
        words.add(ANY_DIGIT)
    return words


@cache
def language(name: str) -> ReadingRules:
    """Returns the rules of this language. Raises `KeyError` where the file lacks a part."""
    table = tomllib.loads(files("germane.extraction.memories").joinpath(f"languages/{name}.toml").read_text("utf-8"))
    parts = {f"{{{part}}}": text for part, text in table["parts"].items()}
    rules = tuple(
        Rule(
            name=rule["name"],
            kind=rule["kind"],
            pattern=_compiled(rule["pattern"], parts),
            confidence=rule["confidence"],
            needs=frozenset(_filled(rule["needs"], parts).replace("|", " ").split()),
            key=rule.get("key", ""),
            first=frozenset(rule.get("first", "").split()),
            anywhere=rule.get("anywhere", False),
            unreal=rule.get("unreal", rule["kind"] != "behavior"),
        )
        for rule in table["rule"]
        if rule["kind"] in KINDS
    )
    needed: dict[str, tuple[int, ...]] = {}
    for place, rule in enumerate(rules):
        needed |= {word: (*needed.get(word, ()), place) for word in rule.needs}
    return ReadingRules(
        rules=rules,
        needed=MappingProxyType(needed),
        general=frozenset(table["general"]["words"].split()),
        leading=frozenset(table["general"]["leading"].split()),
        **{name: _compiled(text, parts) for name, text in table["reading"].items()},
    )


def _compiled(pattern: str, parts: Mapping[str, str]) -> re.Pattern[str]:
    return re.compile(_filled(pattern, parts), re.IGNORECASE)


def _filled(text: str, parts: Mapping[str, str]) -> str:
    for _ in range(_PARTS_DEPTH):
        for part, filling in parts.items():
            text = text.replace(part, filling)
    return text
