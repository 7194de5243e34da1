"""File: a block as a file of lines: its whole text, where a text occurs in it, and the text with lines inserted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from germane.blocks.block import Block
from germane.blocks.mutation import Mutation
from germane.blocks.render import unmarked
from germane.blocks.schema import TextSchema
from germane.errors import InvalidInput, NotFound
from germane.memory_tool.paths import MemoryPath

__all__ = ["BlockCalls", "File", "inserted", "lines_of", "opened", "places", "text_at"]

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


async def opened(blocks: BlockCalls, path: MemoryPath) -> File | None:
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


def inserted(text: str, line: int, more: str) -> str:
    """Returns a text with `more` after line `line` (0: at the beginning), ended by a line break. Raises `InvalidInput`."""
    lines = lines_of(text)
    if not 0 <= line <= len(lines):
        raise InvalidInput(f"Invalid `insert_line` parameter: {line}. It should be within the range [0, {len(lines)}].")
    lines.insert(line, more.rstrip("\n"))
    return "\n".join(lines) + "\n"
