"""Files: a block as a file of lines, its path under `/memories`, and what `view` shows of it.

No path is looked up in a file system, and still no path can mean something outside `/memories`: neither as it stands nor after
percent signs are decoded, backslashes turned, look-alikes of `/` and `.` folded, or an export has written it as a file. The
words of a listing are those that models know from Anthropic's own tool.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from germane.errors import InvalidInput, NotFound, quoted
from germane.kinds.blocks.field import checked_label, folded_segment
from germane.kinds.blocks.mutation import Mutation
from germane.kinds.blocks.render import unmarked
from germane.kinds.blocks.schema import TextSchema
from germane.kinds.blocks.value import Block

_MAX_PLACES = 100
"""Places of a text that are looked for."""


class BlockCalls(Protocol):
    """What the memory tool calls: `agent.blocks`."""

    async def get(self, label: str) -> Block: ...

    async def value(self, label: str) -> Any: ...

    async def show_version(self, label: str, version: int) -> str: ...

    async def list(self, type: str | None = None, *, folder: str | None = None, deleted: bool = False) -> tuple[Block, ...]: ...

    async def create(
        self, label: str, *, type: str, text: str | None, permission: str, limit: int, by: str, reason: str
    ) -> Block: ...

    async def edit(
        self,
        label: str,
        *mutations: Mutation | Mapping[str, Any],
        base: int | None = None,
        if_hash: str | None = None,
        by: str = "",
        reason: str = "",
    ) -> Block: ...

    async def change(
        self, label: str, *, new_label: str | None, type: str | None, if_hash: str | None, by: str, reason: str
    ) -> Block: ...

    async def delete(self, label: str, *, if_hash: str | None, by: str, reason: str) -> Block: ...

    async def rename_folder(
        self, folder: str, new_folder: str, *, type: str | None, by: str, reason: str
    ) -> tuple[Block, ...]: ...

    async def delete_folder(self, folder: str, *, by: str, reason: str) -> tuple[Block, ...]: ...


@dataclass(frozen=True, slots=True)
class File:
    """A block with its whole text. `plain` says that the text is its content, and not rendered from another schema."""

    block: Block
    text: str
    plain: bool


async def open_file(blocks: BlockCalls, path: MemoryPath) -> File | None:
    """Returns the file at a path; None where there is none. A block is found by its label only, and not by its id."""
    if path.root or path.folder:
        return None
    try:
        block = await blocks.get(path.label)
    except NotFound:
        return None
    if block.label != path.label:
        return None
    if not isinstance(block.schema, TextSchema):
        return File(block, block.text, plain=False)
    if block.schema.viewport is None:
        return File(block, unmarked(block.text), plain=True)
    return File(block, str(await blocks.value(path.label)), plain=True)


async def text_at(blocks: BlockCalls, file: File, version: int) -> str | None:
    """Returns the text of a plain file as it was at a version; None where that isn't kept."""
    if isinstance(file.block.schema, TextSchema) and file.block.schema.viewport is not None:
        return None
    try:
        return unmarked(await blocks.show_version(file.block.label, version))
    except NotFound:
        return None


def places(text: str, part: str) -> list[int]:
    """Returns the lines, counted from 1, on which `part` begins: at most 100 places, overlapping ones included."""
    found, line, last = list[int](), 1, 0
    place = text.find(part)
    while place >= 0 and len(found) < _MAX_PLACES:
        line += text.count("\n", last, place)
        found.append(line)
        last, place = place, text.find(part, place + 1)
    return found


def lines_of(text: str) -> list[str]:
    """Returns the lines of a text; a line break at its end begins no further line."""
    return text.removesuffix("\n").split("\n") if text else []


def insert_lines(text: str, line: int, more: str) -> str:
    """Returns a text with `more` after line `line` (0: at the beginning), ended by a line break. Raises `InvalidInput`."""
    lines = lines_of(text)
    if not 0 <= line <= len(lines):
        raise InvalidInput(f"Invalid `insert_line` parameter: {line}. It should be within the range [0, {len(lines)}].")
    lines.insert(line, more.rstrip("\n"))
    return "\n".join(lines) + "\n"


# What `view` shows of a directory and of a file.


_MAX_ENTRIES = 1_000
"""Lines of one directory; a larger one is viewed folder by folder."""
_NUMBER_WIDTH = 6
"""Characters of a line's number."""
_Names = dict[tuple[str, bool], int]
"""Sizes in bytes by name, and by whether it is a directory."""


def directory(path: MemoryPath, blocks: Iterable[Block]) -> str:
    """Returns the listing of a directory from the blocks under it: two levels, with sizes, without hidden names. A directory
    has the size of what is shown in it."""
    start = 0 if path.root else len(path.label) + 1
    names, inside = _Names(), dict[str, _Names]()
    for label, size in _files(blocks):
        parts = label[start:].split("/")
        counted = 0 if any(part.startswith(".") for part in parts) else size
        for level, known in enumerate((names, inside.setdefault(parts[0], _Names()))[: len(parts)]):
            if parts[level].startswith("."):
                break
            entry = (parts[level], level + 1 < len(parts))
            known[entry] = known.get(entry, 0) + counted
    lines = [f"{_size(sum(names.values()))}\t{path}", *_entries(str(path), names, inside)]
    if len(lines) > _MAX_ENTRIES:
        left = len(lines) - _MAX_ENTRIES
        lines = [*lines[:_MAX_ENTRIES], f"… and {left:,} more: view one of the directories above"]
    header = f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden items:"
    return "\n".join((header, *lines))


def numbered(path: MemoryPath, text: str, view_range: object = None) -> str:
    """Returns the lines of a file with their numbers; those of `view_range`, the first and the last one (-1: the end), where it
    is given. Raises `InvalidInput`."""
    lines = text.split("\n")
    first, last = 1, len(lines)
    if view_range is not None:
        first, last = _range(view_range, len(lines))
    shown_lines = numbered_lines(lines[first - 1 : last], first)
    return f"Here's the content of {path} with line numbers:\n{shown_lines}"


def numbered_lines(lines: Sequence[str], first: int) -> str:
    """Returns lines with their numbers, six characters wide, and a tab between."""
    return "\n".join(f"{number:>{_NUMBER_WIDTH}}\t{line}" for number, line in enumerate(lines, first))


def size_of(text: str) -> int:
    """Returns the bytes of a text in UTF-8."""
    return len(text.encode("utf-8", "surrogatepass"))


def _files(blocks: Iterable[Block]) -> Iterator[tuple[str, int]]:
    """The label and the size of each file. Where several blocks have one label, the first one is the file."""
    seen = set[str]()
    for block in blocks:
        if block.label not in seen and path_of(block.label) is not None:
            seen.add(block.label)
            yield block.label, size_of(block.text)


def _entries(above: str, names: _Names, inside: dict[str, _Names]) -> Iterator[str]:
    for (name, folder), size in sorted(names.items()):
        yield f"{_size(size)}\t{above}/{name}{'/' if folder else ''}"
        if folder:
            yield from _entries(f"{above}/{name}", inside.get(name, _Names()), {})


def _range(view_range: object, count: int) -> tuple[int, int]:
    wrong = f"Invalid `view_range` parameter: {quoted(view_range)}."
    if not isinstance(view_range, list | tuple) or len(view_range) != 2:
        raise InvalidInput(f"{wrong} It should be the first and the last line, such as [1, 20]; -1 is the end of the file.")
    first, last = view_range
    if not all(isinstance(one, int) and not isinstance(one, bool) for one in (first, last)):
        raise InvalidInput(f"{wrong} Both should be whole numbers.")
    if first > count:
        raise InvalidInput(f"{wrong} The file has {count} lines.")
    if last != -1 and last < first:
        raise InvalidInput(f"{wrong} Its second element should be at least the first one, or -1.")
    return max(1, first), count if last == -1 else last


def _size(size: int) -> str:
    """Returns a size as Anthropic's tool writes it: 0B, 512B, 1.5K, 2M."""
    unit = min(max(0, size.bit_length() - 1) // 10, 3)
    scaled = size / 1024**unit
    return f"{int(scaled)}{'BKMG'[unit]}" if scaled == int(scaled) else f"{scaled:.1f}{'BKMG'[unit]}"


# A path under `/memories` as the label of a block, and back.


ROOT = "/memories"
_MAX_PATH = 1_024
"""Characters of a path; a label has at most 255 bytes."""
_ENCODED = re.compile(r"%[0-9A-Fa-f]{2}")
_SLASHES = frozenset("\\⁄∕╱⟋⧸∖⧵⧹╲᜵")
"""The backslash, and signs that look like a slash and that no normal form turns into one."""
_DOTS = frozenset(".․·•∙⋅⸱・。܁܂٠۰‥…")
"""Characters that look like a full stop."""


@dataclass(frozen=True, slots=True)
class MemoryPath:
    """A path: '' is the label of `/memories` itself. `folder` says that it ends with a slash, so that no file is meant."""

    label: str
    folder: bool = False

    def __str__(self) -> str:
        return f"{ROOT}/{self.label}" if self.label else ROOT

    @property
    def root(self) -> bool:
        return not self.label


def parse_path(path: object, argument: str = "path") -> MemoryPath:
    """Returns a path under `/memories`. Raises `InvalidInput`, which says what to write instead."""
    if not isinstance(path, str):
        raise InvalidInput(f"`{argument}` must be a string that starts with {ROOT}, not {type(path).__name__}")
    if len(path) > _MAX_PATH:
        raise InvalidInput(f"`{argument}` has {len(path):,} characters: choose a shorter name")
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise InvalidInput(f"Path must start with {ROOT}, got: {quoted(path)}")
    rest = path[len(ROOT) + 1 :]
    label = rest.removesuffix("/")
    if not label and not rest:
        return MemoryPath("", folder=True)
    for segment in label.split("/"):
        _check_segment(segment, path)
    return MemoryPath(checked_label(label, f"`{argument}`"), folder=rest.endswith("/"))


def path_of(label: str) -> MemoryPath | None:
    """Returns the path of the block with this label; None where the label holds what a path can't, such as a backslash."""
    try:
        path = parse_path(f"{ROOT}/{label}")
    except InvalidInput:
        return None
    return path if path.label == label and not path.folder else None


def _check_segment(segment: str, path: str) -> None:
    folded = folded_segment(segment)
    if not segment:
        raise InvalidInput(f"Path {quoted(path)} has an empty name in it: write one / between two names")
    if all(character in _DOTS for character in folded):
        raise InvalidInput(f"Path {quoted(path)} would escape {ROOT} directory: write the whole path without . and ..")
    if "/" in folded or not _SLASHES.isdisjoint(folded):
        raise InvalidInput(f"Path {quoted(path)} has a character that could be taken for a /: use another one in its name")
    if _ENCODED.search(folded):
        raise InvalidInput(f"Path {quoted(path)} has an encoded character such as %2e: write the character itself")
