"""Listing: what `view` shows of a directory and of a file, in the words that models know from Anthropic's own tool."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from germane.blocks.block import Block
from germane.errors import InvalidInput
from germane.memory_tool.paths import MemoryPath, path_of
from germane.types.limits import shown

__all__ = ["directory", "numbered", "numbered_lines", "size_of"]

_MAX_ENTRIES = 1_000
"""Lines of one directory; a larger one is viewed folder by folder."""
_WIDTH = 6
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
    return "\n".join(f"{number:>{_WIDTH}}\t{line}" for number, line in enumerate(lines, first))


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
    wrong = f"Invalid `view_range` parameter: {shown(view_range)}."
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
