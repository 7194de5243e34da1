"""Render: the text of a block's content, as a prompt shows it.

Structure stands at the beginning of a line: `name: value`, `1. item`, `[x] item`, `- [time] (agent) entry`,
`=== section ===`, `[Showing lines A-B of N]`. What follows a line break inside a value is indented by two spaces. A line of
content that looks like a header or like the line of a viewport gets a backslash in front, whether or not it has one already. So
content can't be taken for structure, and taking one backslash away gives it back. Plain text is shown as it is otherwise.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from germane.kinds.blocks.field import Field
from germane.kinds.blocks.schema import (
    CompositeSchema,
    ListSchema,
    LogSchema,
    MapSchema,
    Schema,
    SimpleSchema,
    TextSchema,
    Viewport,
)
from germane.text.normal import normalised

READ_ONLY = " [read-only]"
"""What follows the name of a field or a section that agents can't write."""
_INDENT = "  "
_BREAK = re.compile(r"(\r\n|[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029])")
_ALIKE = str.maketrans(dict.fromkeys("゠═꞊⹀᐀≡⩵⩶", "="))
"""Characters that look like the signs of a header."""
_BLANK = frozenset("\\\u115f\u1160\u3164\uffa0\u2800")
"""Letters that nobody sees, and the backslash, which tells a line apart already."""
_ONE_LINE = {code: f"\\u{code:04x}" for code in (0x7F, *range(0x80, 0xA0), 0x2028, 0x2029)}


def render(schema: Schema, value: Any) -> str:
    """Returns the text of a plain value of this schema, in time linear in its length."""
    if not isinstance(schema, CompositeSchema):
        return _simple(schema, value, headers=False)
    parts = []
    for section in schema.sections:
        header = f"=== {section.name}{READ_ONLY if section.read_only else ''} ==="
        content = _simple(section.schema, value[section.name], headers=True)
        parts.append(f"{header}\n{content}" if content else header)
    return "\n\n".join(parts)


def unmarked(text: str) -> str:
    """Returns the content of plain text without a viewport from its rendered text."""
    if "\\" not in text:
        return text
    parts = _BREAK.split(text)
    parts[::2] = [
        line[1:] if line.startswith("\\") and _told_apart(line, headers=False) != line else line for line in parts[::2]
    ]
    return "".join(parts)


def shown_lines(viewport: Viewport, count: int) -> tuple[int, int]:
    """Returns the first and the last line, counted from 1, that a viewport shows of so many lines."""
    first = max(1, min(viewport.start, count - viewport.lines + 1))
    return first, min(count, first + viewport.lines - 1)


def _simple(schema: SimpleSchema, value: Any, *, headers: bool) -> str:
    match schema:
        case TextSchema():
            return _text(schema, value, headers=headers)
        case MapSchema():
            return "\n".join(_field(field, value.get(field.name)) for field in schema.fields)
        case ListSchema():
            return "\n".join(_item(schema, number, one) for number, one in enumerate(value, 1))
        case LogSchema():
            return "\n".join(_entry(schema, one) for one in reversed(value[-schema.display_limit :]))


def _text(schema: TextSchema, text: str, *, headers: bool) -> str:
    marker = ""
    if schema.viewport is not None:
        lines = text.removesuffix("\n").split("\n")
        first, last = shown_lines(schema.viewport, len(lines))
        if last - first + 1 < len(lines):
            marker = f"[Showing lines {first}-{last} of {len(lines)}]\n"
            text = "\n".join(lines[first - 1 : last])
    if text.isascii() and "=" not in text and "[" not in text:
        return marker + text
    parts = _BREAK.split(text)
    parts[::2] = [_told_apart(line, headers=headers) for line in parts[::2]]
    return marker + "".join(parts)


def _field(field: Field, value: Any) -> str:
    name = field.name + (READ_ONLY if field.read_only else "")
    if field.type == "list":
        return "\n".join((f"{name}:", *(_indented(_labelled("-", _lines(_plain(one)))) for one in value or ())))
    return _labelled(f"{name}:", _lines(_plain(value)))


def _item(schema: ListSchema, number: int, value: Any) -> str:
    label = f"{number}."
    if schema.checkboxes:
        value, label = value["value"], "[x]" if value["done"] else "[ ]"
    lines = [_object(value)] if schema.item == "object" else _lines(value)
    return _labelled(label, lines, brackets=not schema.checkboxes)


def _entry(schema: LogSchema, value: Mapping[str, Any]) -> str:
    label = "-"
    if schema.timestamp:
        label += f" [{value['at'] or 'no time'}]"
    if schema.agent:
        by = _BREAK.sub(" ", value["by"]).replace("(", "[").replace(")", "]")
        label += f" ({by or 'unknown'})"
    return _labelled(label, _lines(value["text"]), brackets=True)


def _labelled(label: str, lines: Sequence[str], *, brackets: bool = False) -> str:
    """Returns lines after a label, the second and later ones indented. `brackets` says that a bracket at the beginning could
    be taken for a part of the label."""
    first = lines[0]
    if brackets and _look(first)[:1] in ("[", "("):
        first = "\\" + first
    head = f"{label} {first}" if first else label
    return "\n".join((head, *(_INDENT + _told_apart(line, headers=True) for line in lines[1:])))


def _indented(text: str) -> str:
    return "\n".join(_INDENT + line for line in text.split("\n"))


def _lines(text: str) -> list[str]:
    return _BREAK.split(text)[::2]


def _plain(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def _object(value: Any) -> str:
    """Returns an object as JSON on one line."""
    return json.dumps(value, ensure_ascii=False).translate(_ONE_LINE)


def _told_apart(line: str, *, headers: bool) -> str:
    """Returns a line of content with a backslash in front where it looks like the line of a viewport, or like a header."""
    if line[:1].isalnum() and line[0].isascii():
        return line
    look = _look(line)
    forged = look.startswith("[showinglines") or (headers and look.startswith("==="))
    return "\\" + line if forged else line


def _look(line: str) -> str:
    """Returns the beginning of a line as a reader sees it: folded, without white space, marks and backslashes."""
    if line.isascii():
        return "".join(line.split()).lstrip("\\").lower() if line.isprintable() else _seen(line)
    return _seen(normalised(line, "NFKD"))


def _seen(line: str) -> str:
    kept: list[str] = []
    for character in line.translate(_ALIKE):
        if unicodedata.category(character)[0] in "CMZ" or character in _BLANK:
            continue
        kept.append("[" if unicodedata.category(character) == "Ps" and character != "(" else character)
        if len(kept) == 40:
            break
    return "".join(kept).casefold()
