"""Language: the rules of one language, read from its TOML file in `languages/`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import NamedTuple

from germane.memories.memory import KINDS

__all__ = ["LANGUAGES", "ReadingRules", "Rule", "RulesByWord", "language"]

LANGUAGES = ("english", "german", "french", "spanish")
"""Languages that have rules, by the names of `text.language`."""
_PARTS_DEPTH = 6
_WORD = re.compile(r"[^\W\d_]{1,30}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """`pattern` is matched at the beginning of a clause or, with `anywhere`, searched in a sentence. Its groups `value`, `of`
    and `name` fill a fact's value and its `key`. With `unreal`, a condition before the clause makes it unreal."""

    name: str
    kind: str
    pattern: re.Pattern[str]
    confidence: float
    key: str = ""
    first: frozenset[str] = frozenset()
    """The words that the pattern may begin with; empty for any word."""
    anywhere: bool = False
    unreal: bool = True


class RulesByWord(NamedTuple):
    """Rules by the words that they may begin with, and those that begin with any word."""

    by_word: Mapping[str, tuple[Rule, ...]]
    any_word: tuple[Rule, ...]

    @classmethod
    def of(cls, rules: Sequence[Rule]) -> RulesByWord:
        words = frozenset[str]().union(*(rule.first for rule in rules))
        found = {word: tuple(rule for rule in rules if not rule.first or word in rule.first) for word in words}
        return cls(MappingProxyType(found), tuple(rule for rule in rules if not rule.first))


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
    handed: re.Pattern[str]
    pasted: re.Pattern[str]
    unfinished: re.Pattern[str]
    vague: re.Pattern[str]
    elsewhere: re.Pattern[str]
    relative: re.Pattern[str]
    condition: re.Pattern[str]
    persons: re.Pattern[str]
    case: re.Pattern[str]
    general: frozenset[str]
    """Names of things of which there are many, so that a date of one isn't a new date of another."""
    clauses: RulesByWord
    statements: RulesByWord
    """Those of `clauses` that aren't instructions."""
    anywhere: tuple[Rule, ...]

    def beginning(self, text: str, place: int, *, instructions: bool) -> tuple[Rule, ...]:
        """The rules that the word at `place` may begin, with those of instructions or without."""
        word = _WORD.match(text, place)
        rules = self.clauses if instructions else self.statements
        return rules.any_word if word is None else rules.by_word.get(word[0].lower(), rules.any_word)


@cache
def language(name: str) -> ReadingRules:
    """Returns the rules of this language. Raises `KeyError` where the file lacks a part."""
    table = tomllib.loads(files("germane.memories.extraction").joinpath(f"languages/{name}.toml").read_text("utf-8"))
    parts = {f"{{{part}}}": text for part, text in table["parts"].items()}
    rules = tuple(
        Rule(
            name=rule["name"],
            kind=rule["kind"],
            pattern=_compiled(rule["pattern"], parts),
            confidence=rule["confidence"],
            key=rule.get("key", ""),
            first=frozenset(rule.get("first", "").split()),
            anywhere=rule.get("anywhere", False),
            unreal=rule.get("unreal", rule["kind"] != "behavior"),
        )
        for rule in table["rule"]
        if rule["kind"] in KINDS
    )
    clauses = [rule for rule in rules if not rule.anywhere]
    return ReadingRules(
        clauses=RulesByWord.of(clauses),
        statements=RulesByWord.of([rule for rule in clauses if rule.kind != "behavior"]),
        anywhere=tuple(rule for rule in rules if rule.anywhere),
        general=frozenset(table["general"]["words"].split()),
        **{name: _compiled(text, parts) for name, text in table["reading"].items()},
    )


def _compiled(pattern: str, parts: Mapping[str, str]) -> re.Pattern[str]:
    for _ in range(_PARTS_DEPTH):
        for part, text in parts.items():
            pattern = pattern.replace(part, text)
    return re.compile(pattern, re.IGNORECASE)
