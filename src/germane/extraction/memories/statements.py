"""Statements: what a sentence says to hold until it changes, and where a person corrects what was just said.

The rules stand in `languages/states.toml` and `languages/corrections.toml` and are tried in every language at once: a short
message doesn't tell its language. What is asked, wished, denied or reported isn't stated.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import islice, product
from types import MappingProxyType
from typing import NamedTuple

from germane.extraction.memories.language import ANY_DIGIT
from germane.text.clauses import sentences
from germane.text.normal import fold
from germane.text.own_words.own_words import own_words

_MAX_LEFT, _MAX_RIGHT = 80, 120
"""Characters before and behind a rule's word that are looked at."""
_WORD = re.compile(r"[^\W\d_]++(?:['’-][^\W\d_]++)*+")
_PARTS_DEPTH = 4
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


class _StateRules(NamedTuple):
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
    rules = _state_rules()
    return not (words.isdisjoint(rules.needed) and (ANY_DIGIT not in words or words.isdisjoint(rules.needed_by_digit)))


def find_states(text: str, start: int, end: int) -> Iterator[FoundState]:
    """Yields what the sentence from `start` to `end` of `text` states, in order. A question states nothing, unless it begins as
    one that tells something. Linear in the sentence."""
    rules = _state_rules()
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


def _is_stated(rules: _StateRules, before: str, left: str) -> bool:
    """Whether the words before a statement leave it to be one. `before` ends where its subject begins."""
    return not (rules.told.search(before) or rules.unreal.search(before) or rules.unreal.search(left))


@cache
def _state_rules() -> _StateRules:
    table = tomllib.loads(files("germane.extraction.memories").joinpath("languages/states.toml").read_text("utf-8"))
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
    return _StateRules(MappingProxyType(by_word), frozenset(needed), frozenset(needed_by_digit), **reading)


def _compiled(pattern: str, parts: Mapping[str, str]) -> re.Pattern[str]:
    for _ in range(_PARTS_DEPTH):
        for part, text in parts.items():
            pattern = pattern.replace(part, text)
    return re.compile(pattern, re.IGNORECASE)


# Corrections: "sorry, I meant Tuesday", "no, it's Anna, not Anne". Found are the right words and, where they are named,
# the wrong ones; `correct_found` decides which memory is corrected.


_MAX_READ, _MAX_SENTENCE = 2_000, 160
"""Characters of a message that are read, and of a sentence that may be a correction."""
_MAX_FOUND, _MAX_WORDS = 3, 5
_NO_VALUE = frozenset(
    ("i", "i'm", "we", "my", "ich", "wir", "mein", "je", "nous", "j'ai", "mon", "yo", "mi", "io", "eu", "ik", "that", "what")
)
"""Words with which a statement of its own begins: "I like tea, not coffee"."""
_ASKS, _BLANK = ("?", "？"), " \t\n\0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """The right words, and the wrong ones, empty where they aren't named. `start` is where it stands in the message: what was
    said before in the message may be corrected too."""

    new: str
    old: str
    start: int


def find_corrections(text: str) -> tuple[Correction, ...]:
    """Returns the corrections in the message `text`, in order, at most 3. Pure and linear."""
    text = text[:_MAX_READ].replace("’", "'")
    words = own_words(text)
    found: list[Correction] = []
    for start, end in sentences(words):
        said = words[start:end].strip(_BLANK)
        if not said or len(said) > _MAX_SENTENCE or said.endswith(_ASKS):
            continue
        match = next((match for form in _forms() if (match := form.fullmatch(said)) is not None), None)
        if match is not None:
            groups = match.groupdict()
            new, old = (groups[name].strip() if groups.get(name) else "" for name in ("new", "old"))
            if len(new.split()) <= _MAX_WORDS and new.split()[0].lower() not in _NO_VALUE:
                found.append(Correction(new=new, old=old, start=start))
    return tuple(found[:_MAX_FOUND])


@cache
def _forms() -> tuple[re.Pattern[str], ...]:
    table = tomllib.loads(files("germane.extraction.memories").joinpath("languages/corrections.toml").read_text("utf-8"))
    parts = table["parts"]
    lines = (line for forms in table["words"].values() for line in forms.strip().splitlines())
    filled = (line.replace("{new}", parts["new"]).replace("{old}", parts["old"]) for line in lines)
    return tuple(re.compile(f"(?:{form}){parts['end']}", re.IGNORECASE) for form in filled)


# Fact keys: the names of extracted facts: names that mean the same are one, and the words by which people speak of a
# fact. The table is `languages/keys.toml`. Keys that a caller gives stay as given; the rules and language models get
# the common one.


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
    table = tomllib.loads(files("germane.extraction.memories").joinpath("languages/keys.toml").read_text("utf-8"))
    listed = {section: {name: tuple(words.split()) for name, words in table[section].items()} for section in table}
    others = {name: names for section in ("spelling", "same") for name, names in listed[section].items()}
    return _Names(
        canonical=MappingProxyType({other: name for name, names in listed["same"].items() for other in names}),
        spelling=MappingProxyType({other: name for name, names in listed["spelling"].items() for other in names}),
        others=MappingProxyType(others),
        about=MappingProxyType(listed["about"]),
    )
