"""Item text: how events, graph items, patterns, blocks and times read in a prompt (FORMAT-5, BUILD-2, SCOPE-4).

    [2026-11-22T12:03Z] Read: src/app.py [success]
    **person**: Caroline (city: Vienna)
    Caroline --[works_at]--> Acme (until 2025-03-01)
    success rate 75 % (3 of 4): run the tests again

Every part that is stored is one line, cleaned and escaped, and can't imitate the signs around it: brackets in a name become
round ones, a name or value that holds a sign of the line stands in quotes, and content has no `>`, so that it holds no arrow.

A memory block stands between tags of its own:

    <block:label permission="ReadWrite" shared_from="owner">
    description

    content
    </block:label>

A label stands in its tags as it is, except for characters that could be taken for something else: those are written as in a
URL (`my%20notes`), so that different labels look different. Content and description are escaped like all stored text, so that
no content closes its tag or opens another.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import UTC, date, datetime, tzinfo

from germane.stages.write.escape import clean, clip, escape_attribute, escape_text
from germane.text.normal import normalised, visible
from germane.text.templates import neutralise
from germane.types.candidate import BlockText, EntityText, PatternText, RelationText

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


# Memory blocks (BUILD-2).


_LABEL_SIGNS = frozenset("_-./")
_PLAIN_LABEL = re.compile(r"[A-Za-z0-9_./-]*+")
"""Labels that stand as they are: the commonest."""


def write_block(
    block: BlockText, nonce: str, *, description: bool = True, schema: bool = False, text: str | None = None
) -> str:
    """Returns the block with its tags. `description` says whether its description is shown, `schema` whether its schema is;
    `text` replaces its content, for an excerpt."""
    tag = block_tag(block.label, nonce)
    owner = "" if block.shared_from is None else f' shared_from="{escape_attribute(clean(block.shared_from, nonce))}"'
    head = [_paragraph(block.description, nonce)] if description and block.description else []
    head += [f"Schema: {_paragraph(block.schema, nonce)}"] if schema and block.schema.strip() else []
    lines = [f'<block:{tag} permission="{escape_attribute(clean(block.permission, nonce))}"{owner}>']
    lines += [*shown, ""] if (shown := list(filter(None, head))) else []
    lines += [escape_text(clean(block.text if text is None else text, nonce)), f"</block:{tag}>"]
    return neutralise("\n".join(lines))


def block_tag(block_label: str, nonce: str) -> str:
    """Returns the label as it stands in a tag: letters, digits, marks and `_-./` that have no other compatible form; every
    other character as the `%XX` of its UTF-8 bytes. Different labels have different tags."""
    if _PLAIN_LABEL.fullmatch(block_label) and nonce not in block_label.lower():
        return block_label
    text = normalised(block_label)
    broken = _occurrences(text, nonce)
    pieces = (char if _stands_plain(char, place) and place not in broken else _percent(char) for place, char in enumerate(text))
    return "".join(pieces)


def _stands_plain(char: str, place: int) -> bool:
    if char.isascii():
        return char.isalnum() or char in _LABEL_SIGNS
    kind = unicodedata.category(char)[0]
    return kind in ("LMN" if place else "LN") and normalised(char, "NFKC") == char and visible(char) == char


def _percent(char: str) -> str:
    return "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "surrogatepass"))


def _occurrences(text: str, nonce: str) -> set[int]:
    """Where the nonce begins in the text, in any case and with any accents."""
    lowered = "".join(normalised(char, "NFKD")[:1].lower()[:1] or " " for char in text)
    found, place = set[int](), lowered.find(nonce)
    while place >= 0:
        found.add(place)
        place = lowered.find(nonce, place + 1)
    return found


def _paragraph(text: str, nonce: str) -> str:
    """The text without empty lines: an empty line ends the description."""
    lines = escape_text(clean(text, nonce)).split("\n")
    return "\n".join(line for line in lines if line.strip())


# Times, in the scope's zone (SCOPE-4).


def day(moment: datetime, zone: tzinfo) -> date:
    """The date in that zone; its text is such as `2023-05-08`."""
    return _local(moment, zone).date()


def minute(moment: datetime, zone: tzinfo) -> str:
    """The time to the minute, such as `2023-05-08T13:56Z`, or with the zone's offset."""
    written = _local(moment, zone).isoformat(timespec="minutes")
    return f"{written[:-6]}Z" if written.endswith("+00:00") else written


def clock_time(moment: datetime, zone: tzinfo) -> str:
    """The time of day in that zone, such as `13:56`."""
    return f"{_local(moment, zone):%H:%M}"


def _local(moment: datetime, zone: tzinfo) -> datetime:
    """The moment in the zone; in UTC at the ends of the calendar, where the zone would leave it."""
    if moment.tzinfo is zone:
        return moment
    try:
        return moment.astimezone(zone)
    except (OverflowError, ValueError):
        return moment.astimezone(UTC)
