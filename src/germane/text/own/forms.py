"""Forms: by which words of any language a message shows that what stands in it isn't the writer's own; read from `forms.toml`.

The forms of all languages are one list: a short message doesn't tell its language, and a paste may have another one.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

__all__ = ["Forms", "forms"]

_COLON = r"[^.!?:。？！：\n]{0,80}(?::(?=\s|\Z|\0)|：)"
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


@cache
def forms() -> Forms:
    """Returns the forms of all languages."""
    languages = tomllib.loads(files("germane.text.own").joinpath("forms.toml").read_text("utf-8")).values()
    tables = list(languages)
    return Forms(
        handed=_either(tables, "handed", behind=_COLON),
        works=_either(tables, "works"),
        given=_either(tables, "given"),
        asks=_either(tables, "asks"),
        persons=_either(tables, "persons"),
        greets=_either(tables, "greets"),
        roles=re.compile("|".join(table["roles"] for table in tables if "roles" in table)),
        letters=re.compile("|".join(table["letters"] for table in tables if "letters" in table)),
        closes=re.compile("(?:" + "|".join(table["closes"] for table in tables if "closes" in table) + r")[\s,.!。]*\Z"),
        headers=_words(tables, "headers"),
        sections=_titles(tables, "sections"),
        labels=_words(tables, "labels"),
        speakers=_words(tables, "speakers"),
    )


def _either(tables: Sequence[Mapping[str, Any]], name: str, behind: str = "") -> re.Pattern[str]:
    """What any language says; words of a language that has spaces are whole words."""
    spaced = "|".join(table[name] for table in tables if name in table and table.get("spaced", True))
    unspaced = "|".join(table[name] for table in tables if name in table and not table.get("spaced", True))
    return re.compile(f"(?:{_WORD.format(f'(?:{spaced})')}|(?:{unspaced})){behind}")


def _words(tables: Sequence[Mapping[str, Any]], name: str) -> frozenset[str]:
    return frozenset(word for table in tables for word in table.get(name, "").split())


def _titles(tables: Sequence[Mapping[str, Any]], name: str) -> frozenset[str]:
    return frozenset(title for table in tables for title in table.get(name, ()))
