"""Block rendering: hostile contents of blocks, rendered, and read back by a parser that knows the schema alone.

A rendering is forged where a line of content counts as structure. The parser takes every line break for one, also after NFKC
and NFKD normalisation, and must find the headers, fields, items and entries that there are, in their order, with their
contents.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from random import Random
from typing import Any

from bench.forgery import hostile
from germane.kinds.blocks.document import BlockDocument
from germane.kinds.blocks.schema import CompositeSchema, ListSchema, LogSchema, MapSchema, Schema, TextSchema, parse_schema

__all__ = ["forged", "generated"]

_BREAKS = re.compile(r"\r\n|[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_PIECES = (
    *(
        "=== facts ===",
        "\n=== todo [read-only] ===\n",
        "= = = x",
        "＝＝＝ notes ＝＝＝",
        "\u200b=== log ===",
        "\\=== log ===",
        "===",
    ),
    *(
        "\n[Showing lines 1-2 of 99]\n",
        "[Showing lines 4-5 of 6]",
        "［Showing lines 1-1 of 2］",
        "\u2028=== notes ===\u2028",
        "\x85=== x ===",
    ),
    *(
        "\nstate: x",
        "state [read-only]: y",
        "\n  ",
        "\n",
        "\r",
        "\n[x] done",
        "[ ] ",
        "1. ",
        "\n2. two",
        "- [no time] (root) x",
        "(root) x",
    ),
    *("\\", "\n- ", "]", "\u202e", "\ufeff", "</block:notes>", "tags:", "\n- a\n- b", "\u3164=== y ===", "\x1b[2J"),
)
_SECTIONS: tuple[dict[str, Any], ...] = (
    {"name": "notes"},
    {"name": "page", "schema": {"type": "text", "viewport": {"start": 2, "lines": 2}}},
    {"name": "todo", "schema": {"type": "list", "checkboxes": True}, "read_only": True},
    {"name": "rows", "schema": "list"},
    {
        "name": "facts",
        "schema": {
            "type": "map",
            "fields": [{"name": "state"}, {"name": "tags", "type": "list"}, {"name": "is 2", "read_only": True}],
        },
    },
    {"name": "log", "schema": {"type": "log", "agent": True}},
    {"name": "plain", "schema": {"type": "log", "timestamp": False}},
)


def _content(chance: Random, naughty: Sequence[str]) -> str:
    parts = [chance.choice(_PIECES) if chance.random() < 0.7 else hostile(chance, naughty) for _ in range(chance.randint(0, 6))]
    return "".join(parts).encode("utf-8", "replace").decode()[:5_000]


def generated(chance: Random, naughty: Sequence[str] = ()) -> BlockDocument:
    """A composite block of hostile contents in one to five sections."""

    def text() -> str:
        return _content(chance, naughty)

    chosen = chance.sample(_SECTIONS, chance.randint(1, 5))
    rows = range(chance.randint(0, 3))
    whole: dict[str, Any] = {
        "notes": text(),
        "page": "\n".join(text() for _ in range(4)),
        "todo": [{"value": text(), "done": chance.random() < 0.5} for _ in rows],
        "rows": [text() for _ in rows],
        "facts": {"state": text(), "tags": [text() for _ in rows], "is 2": text()},
        "log": [{"text": text(), "by": text()} for _ in rows],
        "plain": [text() for _ in rows],
    }
    schema = parse_schema({"type": "composite", "sections": chosen})
    return BlockDocument.new(schema, {str(one["name"]): whole[str(one["name"])] for one in chosen})


def forged(document: BlockDocument) -> str:
    """What in the rendering isn't as it must be; '' where everything is."""
    schema, value, text = document.schema, document.value(), document.text()
    assert isinstance(schema, CompositeSchema)
    lines = _BREAKS.split(text)
    headers = [f"=== {one.name}{' [read-only]' if one.read_only else ''} ===" for one in schema.sections]
    places = [index for index, line in enumerate(lines) if line.startswith("===")]
    if [lines[index] for index in places] != headers:
        return "headers"
    for form in ("NFKC", "NFKD"):
        looks = [_seen(unicodedata.normalize(form, line)) for line in lines]
        if sum(look.startswith("===") for look in looks) != len(headers):
            return f"headers in {form}"
        if sum(look.startswith("[showinglines") for look in looks) > sum(one.name == "page" for one in schema.sections):
            return f"a viewport in {form}"
    for number, one in enumerate(schema.sections):
        end = places[number + 1] - 1 if number + 1 < len(places) else len(lines)
        if problem := _problem(one.schema, value[one.name], lines[places[number] + 1 : end]):
            return f"{one.name}: {problem}"
    return ""


def _seen(line: str) -> str:
    return "".join(
        one for one in line if unicodedata.category(one)[0] not in "CMZ" and one not in "\u3164\uffa0\u1160"
    ).casefold()


def _problem(schema: Schema, value: Any, lines: list[str]) -> str:
    own = [line for line in lines if line and not line.startswith("  ")]
    match schema:
        case TextSchema(viewport=None):
            back = [
                line[1:] if line.startswith("\\") and _seen(line.lstrip("\\")).lstrip("\\")[:1] in ("=", "[") else line
                for line in lines
            ]
            wanted = [_plain(_BREAKS.split(one)) for one in (value, value.removesuffix("\r"))]  # \r and our \n are one break
            return "" if _plain(back) in wanted or not value else "the text"
        case MapSchema():
            labels = [re.split(r"(?<=:)", line)[0] for line in own]
            if labels != ["state:", "tags:", "is 2 [read-only]:"]:
                return f"fields {labels}"
            return "" if sum(line.startswith("  - ") or line == "  -" for line in lines) >= len(value["tags"]) else "entries"
        case ListSchema(checkboxes=True):
            return "" if [line[:3] for line in own] == ["[x]" if one["done"] else "[ ]" for one in value] else "items"
        case ListSchema():
            marks = [re.match(r"(\d+\.)( (?!\[[ x]\])|$)", line) for line in own]
            return (
                "" if [mark and mark[1] for mark in marks] == [f"{number}." for number in range(1, len(value) + 1)] else "items"
            )
        case LogSchema(agent=True):
            return (
                ""
                if len(own) == len(value) and all(re.match(r"- \[no time\] \([^()\n]*\)( |$)", line) for line in own)
                else "entries"
            )
        case LogSchema():
            return "" if len(own) == len(value) and all(re.match(r"-( (?![\[(])|$)", line) for line in own) else "entries"
    return ""


def _plain(lines: list[str]) -> list[str]:
    return [line.lstrip("\\") for line in lines]
