"""States: what a sentence says to hold of a person or a thing until it changes: a home, an employer, a price, a date.

The rules stand in `languages/states.toml` and are tried in every language at once, at the words that they begin with: a short
message doesn't tell its language. What is asked, wished, denied or reported isn't stated.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import NamedTuple

from germane.memories.extraction.language import ANY_DIGIT

__all__ = ["FoundState", "find_states", "may_state"]

_MAX_LEFT, _MAX_RIGHT = 80, 120
"""Characters before and behind a rule's word that are looked at."""
_WORD = re.compile(r"[^\W\d_]++(?:['’-][^\W\d_]++)*+")
_DEPTH = 4
_LETTERS = re.compile(r"[^\W\d_]+")
_DIGITS = re.compile(r"\{(?:measured|day)\}")
"""The parts of a rule that match nothing without a digit."""


class FoundState(NamedTuple):
    """One statement: characters `start` to `end`, the rule's key with its parts to be filled, and the groups that fill it.
    `who` and `of` are empty where the rule has none."""

    start: int
    end: int
    key: str
    value: str
    who: str
    of: str


@dataclass(frozen=True, slots=True)
class _State:
    key: str
    left: re.Pattern[str]
    right: re.Pattern[str]


class _Rules(NamedTuple):
    by_word: Mapping[str, tuple[_State, ...]]
    needed: Set[str]
    """Runs of letters, one of which stands in every sentence that states something."""
    needed_by_digit: Set[str]
    """The same for sentences with a digit."""
    unreal: re.Pattern[str]
    told: re.Pattern[str]
    telling: re.Pattern[str]


def may_state(words: Set[str]) -> bool:
    """Returns whether a text of these words (see `language.vocabulary`) may state anything. Quick."""
    rules = _rules()
    return not (words.isdisjoint(rules.needed) and (ANY_DIGIT not in words or words.isdisjoint(rules.needed_by_digit)))


def find_states(text: str, start: int, end: int) -> Iterator[FoundState]:
    """Yields what the sentence from `start` to `end` of `text` states, in order. A question states nothing, unless it begins as
    one that tells something. Linear in the sentence."""
    rules = _rules()
    sentence = text[start:end]
    if sentence.rstrip().endswith("?") and not rules.telling.search(sentence):
        return
    done = 0
    for word in _WORD.finditer(sentence):
        for rule in rules.by_word.get(word[0].lower(), ()):
            if word.start() < done:
                break
            right = rule.right.match(sentence, word.end(), word.end() + _MAX_RIGHT)
            if right is None:
                continue
            before = sentence[max(0, word.start() - _MAX_LEFT) : word.start()]
            left = rule.left.search(before)
            if left is None or not _is_stated(rules, before[: left.start()], left[0]):
                continue
            groups = left.groupdict() | {name: found for name, found in right.groupdict().items() if found}
            yield FoundState(
                start=start + word.start() - len(left[0]),
                end=start + right.end(),
                key=rule.key,
                value=(groups.get("value") or "").strip(" .,"),
                who=groups.get("who") or "",
                of=groups.get("of") or groups.get("thing") or "",
            )
            done = right.end()
            break


def _is_stated(rules: _Rules, before: str, left: str) -> bool:
    """Whether the words before a statement leave it to be one. `before` ends where its subject begins."""
    return not (rules.told.search(before) or rules.unreal.search(before) or rules.unreal.search(left))


@cache
def _rules() -> _Rules:
    table = tomllib.loads(files("germane.memories.extraction").joinpath("languages/states.toml").read_text("utf-8"))
    parts = {f"{{{part}}}": text for part, text in table["parts"].items()}
    by_word: dict[str, tuple[_State, ...]] = {}
    needed, needed_by_digit = set[str](), set[str]()
    for state in table["state"]:
        left = _compiled(f"(?:(?<!\\w)|(?=[,;:!]))(?:{state['left']})\\Z", parts)
        rule = _State(state["key"], left, _compiled(f"(?:{state['right']})(?!\\w)", parts))
        for word in state["words"].split():
            by_word[word] = (*by_word.get(word, ()), rule)
            letters = max(_LETTERS.findall(word), key=len)
            (needed_by_digit if _DIGITS.search(state["right"]) else needed).add(letters)
    reading = {name: _compiled(text, parts) for name, text in table["reading"].items()}
    return _Rules(MappingProxyType(by_word), frozenset(needed), frozenset(needed_by_digit), **reading)


def _compiled(pattern: str, parts: Mapping[str, str]) -> re.Pattern[str]:
    for _ in range(_DEPTH):
        for part, text in parts.items():
            pattern = pattern.replace(part, text)
    return re.compile(pattern, re.IGNORECASE)
