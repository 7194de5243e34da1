"""Folder files: brings a folder of memory files into an agent's blocks, and writes the blocks as such a folder."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, field
from pathlib import Path

from germane.api.agent import Agent
from germane.blocks.block import Block
from germane.blocks.mutation import SetText
from germane.errors import InvalidInput, NotPermitted
from germane.memory_tool.layout import MemoryFile, checked_layout, read_file, written_files
from germane.types.limits import BLOCK_TEXT

__all__ = ["BroughtIn", "WrittenFolder", "export_folder", "import_folder"]

_MAX_FILES = 10_000
_MAX_BYTES = 4 * BLOCK_TEXT.maximum + 100_000
"""Bytes of a file: a block's text in UTF-8, with its front matter."""


@dataclass(slots=True)
class BroughtIn:
    """The labels of blocks that were made, that got another text, and that were the same already; and each file that can't be
    used with the reason."""

    created: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WrittenFolder:
    """The files that were written, and the labels of blocks that the layout has no place for."""

    files: tuple[str, ...]
    left_out: tuple[str, ...]


async def import_folder(agent: Agent, folder: str | Path, layout: str = "anthropic") -> BroughtIn:
    """Makes a block of each file in the folder. A block that is there gets the file's text as a new version, which can be
    undone; a file again changes nothing. Hidden files and links are skipped. Raises `InvalidInput` where the folder can't be
    read."""
    chosen, root, result = checked_layout(layout), Path(folder), BroughtIn()
    names = await asyncio.to_thread(_names, root)
    held = {block.label: block for block in await _own(agent)}
    for name in names:
        data = await asyncio.to_thread(_read, root / name)
        try:
            file = read_file(name, data, chosen)
            held[file.label] = await _bring_in(agent, file, held.get(file.label), result)
        except (InvalidInput, NotPermitted) as error:
            result.refused[name] = str(error)
    return result


async def export_folder(agent: Agent, folder: str | Path, layout: str = "anthropic") -> WrittenFolder:
    """Writes the scope's own core and working blocks of plain text as files that only their owner can read. The folder must be
    new or empty. Raises `InvalidInput` where it can't be written."""
    chosen = checked_layout(layout)
    files, left_out = written_files(await _own(agent), chosen)
    await asyncio.to_thread(_write, Path(folder), files)
    return WrittenFolder(tuple(files), tuple(left_out))


async def _bring_in(agent: Agent, file: MemoryFile, held: Block | None, result: BroughtIn) -> Block:
    """Makes the block of a file, or gives it the file's text. `held` is the scope's own block with its label."""
    if held is None:
        made = await agent.blocks.create(
            file.label,
            text=file.text,
            type=file.type,
            description=file.description,
            limit=file.limit,
            permission=file.permission,
            by="import",
        )
        result.created.append(file.label)
        return made
    if len(file.text) > held.limit:
        await agent.blocks.change(file.label, limit=file.limit, by="import", system=True)
    edited = await agent.blocks.edit(file.label, SetText(text=file.text), by="import", system=True)
    (result.known if edited.content_hash == held.content_hash else result.updated).append(file.label)
    return edited


async def _own(agent: Agent) -> list[Block]:
    return [block for block in await agent.blocks.list() if block.shared_from is None and block.user == agent.scope.user]


def _names(folder: Path) -> list[str]:
    """The files of a folder, without hidden ones and links."""
    if not folder.is_dir():
        raise InvalidInput(f"{folder} is no folder: give the folder of the memory files")
    names = list[str]()
    for where, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        paths = (Path(where) / name for name in files if not name.startswith("."))
        names += [path.relative_to(folder).as_posix() for path in paths if path.is_file() and not path.is_symlink()]
        if len(names) > _MAX_FILES:
            raise InvalidInput(f"{folder} holds more than {_MAX_FILES:,} files: bring them in folder by folder")
    return sorted(names)


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            return stream.read(_MAX_BYTES)
    except OSError as error:
        raise InvalidInput(f"{error.filename} can't be read: {error.strerror}") from None


def _write(folder: Path, files: dict[str, str]) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise InvalidInput(f"{folder} isn't empty: name a new folder, so that nothing in it is overwritten")
        for name, text in files.items():
            path = folder.joinpath(*name.split("/"))
            for above in reversed(path.relative_to(folder).parents[:-1]):
                (folder / above).mkdir(mode=0o700, exist_ok=True)
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
                stream.write(text.encode("utf-8", "replace"))
    except OSError as error:
        raise InvalidInput(f"{error.filename} can't be written: {error.strerror}") from None
