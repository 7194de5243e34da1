"""Forms: by which words of any language a message shows that what stands in it isn't the writer's own; read from `forms.toml`.

The forms of all languages are one list: a short message doesn't tell its language, and a paste may have another one.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from germane.text.language import STOP

_COLON = r"[^.!?:。？！：\n]{0,80}(?::(?=\s|\Z|\0)|：)"
_WORD_LISTS = (
    "assistants", "small_headers", "openers", "joints", "bylines", "controls", "controls_too", "parts", "own_heads",
)  # fmt: skip
_EXPRESSIONS = (
    "praises", "bots", "thanks", "sources", "alone", "orders_text", "diaries", "formal", "printed", "acronyms",
)  # fmt: skip
"""What is told by words in all languages together."""
_WORD = r"(?<!\w){}(?!\w)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Forms:
    """Expressions are searched or matched in lower case; the sets hold titles and names in it."""

    handed: re.Pattern[str]
    """What hands a text over, to its colon."""
    works: re.Pattern[str]
    given: re.Pattern[str]
    asks: re.Pattern[str]
    letters: re.Pattern[str]
    greets: re.Pattern[str]
    closes: re.Pattern[str]
    roles: re.Pattern[str]
    persons: re.Pattern[str]
    headers: frozenset[str]
    sections: frozenset[str]
    labels: frozenset[str]
    speakers: frozenset[str]
    praises: re.Pattern[str]
    bots: re.Pattern[str]
    thanks: re.Pattern[str]
    feet: tuple[str, ...]
    assistants: frozenset[str]
    small_headers: frozenset[str]
    openers: frozenset[str]
    joints: frozenset[str]
    bylines: frozenset[str]
    controls: frozenset[str]
    controls_too: frozenset[str]
    sources: re.Pattern[str]
    alone: re.Pattern[str]
    texts: re.Pattern[str]
    pointed: re.Pattern[str]
    sent: re.Pattern[str]
    reworks: re.Pattern[str]
    others: re.Pattern[str]
    shows: re.Pattern[str]
    states: re.Pattern[str]
    firsts: re.Pattern[str]
    orders_text: re.Pattern[str]
    diaries: re.Pattern[str]
    formal: re.Pattern[str]
    printed: re.Pattern[str]
    acronyms: re.Pattern[str]
    parts: frozenset[str]
    own_heads: frozenset[str]


@cache
def forms() -> Forms:
    """Returns the forms of all languages."""
    languages = tomllib.loads(files("germane.text.own_words").joinpath("forms.toml").read_text("utf-8"))
    common = languages.pop("any")
    tables = list(languages.values())
    whole: dict[str, Any] = {name: re.compile(common[name]) for name in _EXPRESSIONS}
    whole |= {name: frozenset(common[name].split()) for name in _WORD_LISTS}
    return Forms(
        handed=_either(tables, "handed", behind=_COLON),
        works=_either(tables, "works"),
        given=_either(tables, "given"),
        asks=_either(tables, "asks"),
        pointed=_either(tables, "pointed"),
        sent=_either(tables, "sent"),
        reworks=_either(tables, "reworks"),
        others=_either(tables, "others"),
        shows=_either(tables, "shows"),
        states=_either(tables, "states"),
        firsts=_either(tables, "firsts"),
        persons=_either(tables, "persons"),
        greets=_either(tables, "greets"),
        roles=re.compile("|".join(table["roles"] for table in tables if "roles" in table)),
        texts=re.compile(
            f"(?!{common['makes']})(?:" + "|".join(table["texts"] for table in tables if "texts" in table) + r")(?: ?[-:：–]+)?"
        ),
        letters=re.compile("|".join(table["letters"] for table in tables if "letters" in table)),
        closes=re.compile("(?:" + "|".join(table["closes"] for table in tables if "closes" in table) + r")[\s,.!。]*\Z"),
        headers=_words(tables, "headers"),
        sections=_titles(tables, "sections"),
        labels=_words(tables, "labels") - {word for words in STOP.values() for word in words},
        speakers=_words(tables, "speakers"),
        feet=tuple(common["feet"]),
        **whole,
    )


def _either(tables: Sequence[Mapping[str, Any]], name: str, behind: str = "") -> re.Pattern[str]:
    """What any language says; words of a language that has spaces are whole words."""
    spaced, unspaced = (
        "|".join(table[name] for table in tables if name in table and table.get("spaced", True) is wanted)
        for wanted in (True, False)
    )
    return re.compile(f"(?:{_WORD.format(_by_letter(spaced))}|{_by_letter(unspaced)}){behind}")


def _by_letter(pattern: str) -> str:
    """The alternatives of a pattern, those that begin with the same letter under it: a search then tries one of thirty at each
    place, not all of them."""
    groups: dict[str, list[str]] = {}
    others = list[str]()
    for one in _alternatives(pattern):
        if one[0].isalpha() and one[1:2] not in ("?", "*", "+", "{"):
            groups.setdefault(one[0], []).append(one[1:])
        else:
            others.append(one)
    return "(?:" + "|".join([*(f"{letter}(?:{'|'.join(rest)})" for letter, rest in groups.items()), *others]) + ")"


def _alternatives(pattern: str) -> Iterator[str]:
    """The alternatives at the top of a pattern."""
    start = depth = place = 0
    while place < len(pattern):
        char = pattern[place]
        if char == "\\":
            place += 1
        elif char == "[":
            place = pattern.index("]", place + 2)
        elif char in "()":
            depth += 1 if char == "(" else -1
        elif char == "|" and depth == 0:
            yield pattern[start:place]
            start = place + 1
        place += 1
    yield pattern[start:]


def _words(tables: Sequence[Mapping[str, Any]], name: str) -> frozenset[str]:
    return frozenset(word for table in tables for word in table.get(name, "").split())


def _titles(tables: Sequence[Mapping[str, Any]], name: str) -> frozenset[str]:
    return frozenset(title for table in tables for title in table.get(name, ()))
