"""JSONC: edits of JSON files with comments, trailing commas and a layout of their own: only what changes is written.

A document is read into nodes that know where in the text they stand; an edit is a splice of the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from germane.errors import InvalidInput

_SKIPPED = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"(?:[^"\\\r\n]++|\\.)*+"')
_SCALAR = re.compile(r"[-+.0-9A-Za-z]+")
_INDENTED = re.compile(r"^([ \t]+)\S", re.MULTILINE)
_MAX_DEPTH = 200
Path = Sequence[str]


@dataclass(slots=True)
class Node:
    """A value and where it stands: `text[start:end]`. `names` and `parts` are the members of an object, `parts` the items of an
    array; `begins` is where each member or item begins, `comma` where a trailing comma stands, or -1."""

    kind: Literal["object", "array", "scalar"]
    start: int
    end: int = 0
    value: Any = None
    names: list[str] = field(default_factory=list)
    parts: list[Node] = field(default_factory=list)
    begins: list[int] = field(default_factory=list)
    comma: int = -1

    def member(self, name: str) -> Node | None:
        """The last member of this name, which is the one that counts."""
        for own, part in zip(reversed(self.names), reversed(self.parts), strict=True):
            if own == name:
                return part
        return None

    def data(self) -> Any:
        """The value without its text."""
        if self.kind == "object":
            return {name: part.data() for name, part in zip(self.names, self.parts, strict=True)}
        return [part.data() for part in self.parts] if self.kind == "array" else self.value


def read(text: str) -> Node:
    """Returns the document; an empty text is an empty object. Raises `InvalidInput` with the line of what can't be read."""
    scanner = _Scanner(text)
    scanner.skip()
    if scanner.at == len(text):
        return Node("object", len(text), len(text))
    node = scanner.value(0)
    scanner.skip()
    if scanner.at != len(text):
        raise scanner.fault("something stands behind the document's end")
    return node


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def fault(self, problem: str) -> InvalidInput:
        return InvalidInput(f"line {self.text.count(chr(10), 0, self.at) + 1}: {problem}")

    def skip(self) -> None:
        """Goes on behind white space and comments."""
        while True:
            found = _SKIPPED.match(self.text, self.at)
            self.at = found.end() if found else self.at
            if self.text.startswith("//", self.at):
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            elif self.text.startswith("/*", self.at):
                end = self.text.find("*/", self.at + 2)
                if end < 0:
                    raise self.fault("a comment isn't closed")
                self.at = end + 2
            else:
                return

    def value(self, depth: int) -> Node:
        if depth > _MAX_DEPTH:
            raise self.fault(f"it is nested more than {_MAX_DEPTH} deep")
        match self.text[self.at : self.at + 1]:
            case "{" | "[" as opening:
                return self._container(opening, depth)
            case '"':
                start = self.at
                value = self._string()
                return Node("scalar", start, self.at, value)
        found, start = _SCALAR.match(self.text, self.at), self.at
        if found is None:
            raise self.fault("a value is missing")
        try:
            value = json.loads(found[0])
        except ValueError:
            raise self.fault("a value can't be read") from None
        self.at = found.end()
        return Node("scalar", start, self.at, value)

    def _string(self) -> str:
        found = _STRING.match(self.text, self.at)
        try:
            value = json.loads(found[0], strict=False) if found else None
        except ValueError:
            value = None
        if found is None or not isinstance(value, str):
            raise self.fault("a string can't be read")
        self.at = found.end()
        return value

    def _container(self, opening: str, depth: int) -> Node:
        closing = "}" if opening == "{" else "]"
        node = Node("object" if opening == "{" else "array", self.at)
        self.at += 1
        while True:
            self.skip()
            if self.text.startswith(closing, self.at):
                self.at += 1
                node.end = self.at
                return node
            if node.parts and node.comma < 0:
                raise self.fault("a comma is missing")
            node.begins.append(self.at)
            if opening == "{":
                if not self.text.startswith('"', self.at):
                    raise self.fault("a name in quotes is missing")
                node.names.append(self._string())
                self.skip()
                if not self.text.startswith(":", self.at):
                    raise self.fault("a colon is missing")
                self.at += 1
                self.skip()
            node.parts.append(self.value(depth + 1))
            self.skip()
            node.comma = self.at if self.text.startswith(",", self.at) else -1
            self.at += node.comma >= 0


def with_member(text: str, path: Path, value: Any) -> str:
    """Returns the text with the member at the path, made or replaced; objects on the way are made. Raises `InvalidInput`."""
    node, depth = read(text), 0
    if node.start == node.end:  # an empty file
        text = text + "{}\n" if not text or text.endswith("\n") else f"{text}\n{{}}\n"
        node = read(text)
    for name in path[:-1]:
        _check_object(node, path[:depth])
        inner = node.member(name)
        if inner is None:
            for missing in reversed(path[depth + 1 :]):
                value = {missing: value}
            return _with_part(text, node, value, depth, name)
        node, depth = inner, depth + 1
    _check_object(node, path[:depth])
    if (present := node.member(path[-1])) is not None:
        return text[: present.start] + _written(value, text, depth + 1) + text[present.end :]
    return _with_part(text, node, value, depth, path[-1])


def with_item(text: str, path: Path, value: Any) -> str:
    """Returns the text with one more item in the array at the path, which is made if it is missing. Raises `InvalidInput`."""
    node = found(read(text), path)
    if node is None:
        return with_member(text, path, [value])
    if node.kind != "array":
        raise InvalidInput(f"{'.'.join(path)} must be a list")
    return _with_part(text, node, value, len(path))


def found(node: Node, path: Path) -> Node | None:
    """Returns the node at the path; None where there is none."""
    for name in path:
        if node.kind != "object" or (inner := node.member(name)) is None:
            return None
        node = inner
    return node


def without_part(text: str, container: Node, number: int) -> str:
    """Returns the text without one member or item of the container, and without its line where it is alone there."""
    last = number == len(container.parts) - 1
    start, end = container.begins[number], container.parts[number].end
    if not last:
        comma = _comma_behind(text, end)
        start, end = _line_of(text, start, comma + 1)
        return text[:start] + text[end:]
    if container.comma >= 0:
        end = container.comma + 1
    elif number:
        comma = _comma_behind(text, container.parts[number - 1].end)
        start, end = _line_of(text, start, end)
        return text[:comma] + text[comma + 1 : start] + text[end:]
    start, end = _line_of(text, start, end)
    return text[:start] + text[end:]


def _check_object(node: Node, path: Path) -> None:
    if node.kind != "object":
        raise InvalidInput(f"{'.'.join(path) or 'the document'} must be an object")


def _with_part(text: str, container: Node, value: Any, depth: int, name: str | None = None) -> str:
    """The text with one more member or item behind the others of the container, in its layout."""
    newline = "\r\n" if "\r\n" in text else "\n"
    inner = text[container.start + 1 : container.end - 1]
    many_lines = "\n" in inner or not container.parts
    written = _written(value, text, depth + 1) if many_lines else json.dumps(value, ensure_ascii=False)
    part = written if name is None else f"{json.dumps(name, ensure_ascii=False)}: {written}"
    if not container.parts:
        outer = _indent_at(text, container.start)
        at = container.start + 1
        if inner.strip():  # comments alone
            at = container.end - 1
            return text[:at].rstrip(" \t") + outer + _unit(text) + part + newline + outer + text[at:]
        return text[:at] + newline + outer + _unit(text) + part + newline + outer + text[container.end - 1 :]
    end = container.parts[-1].end
    if not many_lines:
        at = container.comma if container.comma >= 0 else end
        return f"{text[:at]}, {part}{text[at:]}"
    indent = _indent_at(text, container.begins[-1])
    behind = container.comma + 1 if container.comma >= 0 else end
    at = _end_of_line(text, behind, container.end - 1)
    head = text[:end] + ("" if container.comma >= 0 else ",") + text[end:at]
    closing = "" if "\n" in text[at : container.end] else newline + _indent_at(text, container.start)
    return head + newline + indent + part + ("," if container.comma >= 0 else "") + closing + text[at:]


def _end_of_line(text: str, at: int, limit: int) -> int:
    """The end of the line at `at`, behind a comment on it; `at` where the line goes on with something else."""
    scanner = _Scanner(text)
    scanner.at = at
    while scanner.at < limit:
        if text[scanner.at] in "\r\n":
            return scanner.at
        if text[scanner.at] in " \t":
            scanner.at += 1
        elif text.startswith("//", scanner.at):
            end = text.find("\n", scanner.at)
            return end - (text[end - 1] == "\r")
        elif text.startswith("/*", scanner.at):
            scanner.at = text.find("*/", scanner.at) + 2
        else:
            return at
    return at


def _comma_behind(text: str, at: int) -> int:
    scanner = _Scanner(text)
    scanner.at = at
    scanner.skip()
    return scanner.at


def _line_of(text: str, start: int, end: int) -> tuple[int, int]:
    """The span, and its lines where nothing else stands on them."""
    begin = text.rfind("\n", 0, start) + 1
    if text[begin:start].strip():
        return start, end
    close = text.find("\n", end)
    if close < 0 or text[end:close].strip():
        return start, end
    return begin, close + 1


def _written(value: Any, text: str, depth: int) -> str:
    """The value as JSON in the layout of the text, at this depth."""
    unit, newline = _unit(text), "\r\n" if "\r\n" in text else "\n"
    return json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", newline + unit * depth)


def _unit(text: str) -> str:
    first = _INDENTED.search(text)
    return first[1] if first else "  "


def _indent_at(text: str, at: int) -> str:
    """The white space that the line at `at` begins with."""
    begin = text.rfind("\n", 0, at) + 1
    line = text[begin:at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def entries(node: Node | None) -> Iterator[tuple[int, Any]]:
    """Yields the items of an array with their numbers; nothing for what is no array."""
    if node is not None and node.kind == "array":
        yield from ((number, part.data()) for number, part in enumerate(node.parts))
