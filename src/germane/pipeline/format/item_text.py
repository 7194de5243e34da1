"""Item text: how events, entities, relations and patterns read in a prompt (FORMAT-5).

    [2026-11-22T12:03Z] Read: src/app.py [success]
    **person**: Caroline (city: Vienna)
    Caroline --[works_at]--> Acme (until 2025-03-01)
    success rate 75 % (3 of 4): run the tests again

Every part that is stored is one line, cleaned and escaped, and can't imitate the signs around it: brackets in a name become
round ones, a name or value that holds a sign of the line stands in quotes, and content has no `>`, so that it holds no arrow.
"""

from __future__ import annotations

import re
from datetime import tzinfo

from germane.pipeline.format.escape import clean, escape_text
from germane.pipeline.format.graphemes import clip
from germane.pipeline.format.moment import day
from germane.text.normal import normalised
from germane.text.templates import neutralise
from germane.types.graph_item import EntityText, PatternText, RelationText

__all__ = [
    "entity_properties",
    "event_lines",
    "one_line",
    "success_rate",
    "written_entity",
    "written_pattern",
    "written_relation",
]

_MAX_NAME, _MAX_TYPE, _MAX_VALUE, _MAX_ACTION = 160, 48, 120, 400
"""Graphemes."""
_MAX_READ = 4_096
"""Characters of a part that are looked at."""
_ROUND = str.maketrans("[［﹇]］﹈", "((()))")
_NO_WORD = re.compile(r"[^\w./-]++")
"""What a type can't hold, once it is in NFKC."""
_DOUBLE = str.maketrans({'"': "'", "＂": "'"})
_IN_NAME = re.compile(r'[()"]')
_IN_VALUE = re.compile(r'[(),:"]')
_OPENS = re.compile(r"[\[［﹇]")
_CLOSES = frozenset("]］﹈")


def one_line(text: str, nonce: str, most: int = _MAX_NAME) -> str:
    """The text on one line of at most `most` graphemes, fit for any prompt but not escaped."""
    line = " ".join(clean(text[:_MAX_READ], nonce).split())
    return clip(neutralise(clean(line, nonce)), most)  # joining two lines can make a token, or begin with a mark


def written_entity(entity: EntityText, nonce: str, mark: str = "") -> str:
    """`type: name (key: value, key: value)`, with `mark` on both sides of the type."""
    properties = entity_properties(entity, nonce)
    about = f" ({properties})" if properties else ""
    return f"{mark}{_type(entity.type, nonce)}{mark}: {_name(entity.name, nonce)}{about}"


def entity_properties(entity: EntityText, nonce: str) -> str:
    """`key: value, key: value`; empty where there are none."""
    pairs = ((_value(key, nonce, _MAX_TYPE), _value(value, nonce, _MAX_VALUE)) for key, value in entity.properties)
    return ", ".join(f"{key}: {value}" for key, value in pairs if key and value)


def written_relation(relation: RelationText, nonce: str, zone: tzinfo) -> str:
    """`source --[type]--> target`, with the days from which and until which it held, where it has an end."""
    ends = (_name(relation.source, nonce), _name(relation.target, nonce))
    line = f"{ends[0]} --[{_type(relation.type, nonce)}]--> {ends[1]}"
    if relation.valid_to is None:
        return line
    since = "" if relation.valid_from is None else f"{day(relation.valid_from, zone)} "
    return f"{line} ({since}until {day(relation.valid_to, zone)})"


def written_pattern(pattern: PatternText, nonce: str) -> str:
    """The success rate, then the action, so that no action can imitate a rate."""
    return f"{success_rate(pattern)}: {escape_text(one_line(pattern.action, nonce, _MAX_ACTION))}"


def success_rate(pattern: PatternText) -> str:
    """`success rate 75 % (3 of 4)`; `not tried yet` where it wasn't."""
    if not pattern.applications:
        return "not tried yet"
    rate = round(100 * pattern.successes / pattern.applications)
    return f"success rate {rate} % ({pattern.successes} of {pattern.applications})"


def event_lines(text: str, outcome: str, nonce: str) -> list[str]:
    """The lines of an event's text, cleaned and escaped, with its outcome in brackets at the end of the first one. A first line
    that ends in brackets of its own ends in round ones."""
    first, *others = escape_text(clean(text, nonce)).strip().split("\n")
    first = first.rstrip()
    if first[-1:] in _CLOSES or (not first.isascii() and normalised(first[-4:], "NFKC").rstrip()[-1:] == "]"):
        first = _rounded(first)
    ended = _words(outcome, nonce)
    return [f"{first} [{ended}]" if ended else first, *others]


def _rounded(line: str) -> str:
    """The line with its last brackets as round ones."""
    opened = [found.start() for found in _OPENS.finditer(line)]
    end = len(line) - 1
    if not opened:
        return f"{line[:end]})"
    return f"{line[: opened[-1]]}({line[opened[-1] + 1 : end]})"


def _type(text: str, nonce: str) -> str:
    return _words(text, nonce) or "thing"


def _words(text: str, nonce: str) -> str:
    """The words of a type or an outcome, without any sign."""
    return _NO_WORD.sub(" ", normalised(one_line(text, nonce, _MAX_TYPE), "NFKC")).strip()


def _name(text: str, nonce: str) -> str:
    line = one_line(text, nonce).translate(_ROUND)
    return escape_text(_quoted(line) if not line or _IN_NAME.search(normalised(line, "NFKC")) else line)


def _value(text: str, nonce: str, most: int) -> str:
    line = one_line(text, nonce, most).translate(_ROUND)
    return escape_text(_quoted(line) if _IN_VALUE.search(normalised(line, "NFKC")) else line)


def _quoted(line: str) -> str:
    return f'"{line.translate(_DOUBLE)}"'
