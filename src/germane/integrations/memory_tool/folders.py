"""Folders: brings a folder of memory files into an agent's blocks, and writes the blocks as such a folder.

The layouts are those of two products: Anthropic's plain files, and Letta's Markdown with front matter. In both, what is under
`system/` is always in the prompt: core blocks. Letta's labels have no `.md`, and its front matter holds a description, a limit
and whether the agent may write.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from germane.api.agent import Agent
from germane.errors import InvalidInput, NotPermitted, UnknownName
from germane.integrations.memory_tool.commands import SYSTEM
from germane.integrations.memory_tool.files import ROOT, parse_path, path_of
from germane.kinds.blocks.mutation import SetText
from germane.kinds.blocks.permission import Permission
from germane.kinds.blocks.render import unmarked
from germane.kinds.blocks.schema import TextSchema
from germane.kinds.blocks.value import DEFAULT_LIMIT, Block, BlockType
from germane.types.limits import BLOCK_TEXT, REMARK

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
    chosen, root, result = check_layout(layout), Path(folder), BroughtIn()
    names = await asyncio.to_thread(_names, root)
    held = {block.label: block for block in await _own(agent)}
    for name in names:
        data = await asyncio.to_thread(_read, root / name)
        try:
            file = read_memory_file(name, data, chosen)
            held[file.label] = await _bring_in(agent, file, held.get(file.label), result)
        except (InvalidInput, NotPermitted) as error:
            result.refused[name] = str(error)
    return result


async def export_folder(agent: Agent, folder: str | Path, layout: str = "anthropic") -> WrittenFolder:
    """Writes the scope's own core and working blocks of plain text as files that only their owner can read. The folder must be
    new or empty. Raises `InvalidInput` where it can't be written."""
    chosen = check_layout(layout)
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


# Memory files of the two products as blocks, and back.


Layout = Literal["anthropic", "letta"]
LAYOUTS: tuple[Layout, ...] = get_args(Layout)
_FENCE = "---"
_FIELD = re.compile(r"(\w+):(.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFile:
    """A file as a block: `limit` is at least the text's own length, `permission` is `admin` where the agent may write."""

    label: str
    text: str
    type: BlockType = "working"
    description: str = ""
    limit: int = DEFAULT_LIMIT
    permission: Permission = "admin"


def check_layout(value: object) -> Layout:
    """Returns a layout by its name. Raises `UnknownName`."""
    for known in LAYOUTS:
        if value == known:
            return known
    raise UnknownName("{} is unknown", value, path="layout", advice=f"give one of {', '.join(LAYOUTS)}")


def read_memory_file(name: str, data: bytes, layout: Layout) -> MemoryFile:
    """Returns the file with this name, relative to its folder and with slashes. Raises `InvalidInput` where the name can't be a
    label, and for what isn't text or is too long for a block."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"not UTF-8 at byte {error.start + 1} (save it as UTF-8)") from None
    fields: Mapping[str, str] = {}
    if layout == "letta":
        name = name.removesuffix(".md")
        fields, text = _front_matter(text)
    path = parse_path(f"{ROOT}/{name}", "name")
    label = path.label
    if layout == "letta" and "label" in fields:
        label = parse_path(f"{ROOT}/{fields['label']}", "label").label
    if path.folder or not label:
        raise InvalidInput("its name can't be that of a file")
    if len(text) > BLOCK_TEXT.maximum:
        raise InvalidInput(f"has {len(text):,} characters, a block holds {BLOCK_TEXT.maximum:,}: split it")
    given = fields.get("limit", "")
    limit = int(given) if given.isascii() and given.isdecimal() and len(given) < 10 else DEFAULT_LIMIT
    return MemoryFile(
        label=label,
        text=text,
        type="core" if path.label.startswith(f"{SYSTEM}/") else "working",
        description=fields.get("description", "")[: REMARK.maximum],
        limit=min(max(limit, len(text), 1), BLOCK_TEXT.maximum),
        permission="read_only" if fields.get("read_only", "").lower() == "true" else "admin",
    )


def file_of(block: Block, layout: Layout) -> tuple[str, str] | None:
    """Returns the name and the text of a block's file; None for a block that the layout has no place for: only core and working
    blocks of plain text have one, and a core block outside of `system` has one in Letta's only."""
    if not isinstance(block.schema, TextSchema) or block.schema.viewport is not None or path_of(block.label) is None:
        return None
    inside = block.label.startswith(f"{SYSTEM}/")
    text = unmarked(block.text)
    if layout == "anthropic":
        return (block.label, text) if block.type == ("core" if inside else "working") else None
    if block.type not in ("core", "working") or (inside and block.type == "working"):
        return None
    moved = block.type == "core" and not inside
    fields = {
        "label": json.dumps(block.label, ensure_ascii=False) if moved else None,
        "description": json.dumps(block.description, ensure_ascii=False),
        "limit": str(block.limit),
        "read_only": "true" if block.permission == "read_only" else None,
    }
    lines = [f"{name}: {value}" for name, value in fields.items() if value is not None]
    name = f"{SYSTEM}/{block.label}" if moved else block.label
    return f"{name}.md", "\n".join((_FENCE, *lines, _FENCE, text))


def written_files(blocks: Iterable[Block], layout: Layout) -> tuple[dict[str, str], list[str]]:
    """Returns the texts of the files by their names, and the labels of blocks that are left out: those without a file, and
    those whose file would stand where another one, or a directory, does."""
    files, left = dict[str, str](), list[str]()
    found = sorted(((file_of(block, layout), block.label) for block in blocks), key=lambda one: (one[0] or ("", ""), one[1]))
    names = {file[0] for file, _ in found if file is not None}
    folders = {folder for name in names for folder in _above(name)}
    for file, label in found:
        if file is None or file[0] in folders or file[0] in files:
            left.append(label)
        else:
            files[file[0]] = file[1]
    return files, sorted(left)


def _above(name: str) -> Iterator[str]:
    while "/" in name:
        name = name.rpartition("/")[0]
        yield name


def _front_matter(text: str) -> tuple[dict[str, str], str]:
    """The fields at the beginning of a file, and the rest of it. Of YAML, what front matter is made of is read: words, quoted
    strings, and texts over several indented lines."""
    lines = text.split("\n")
    if lines[0].rstrip() != _FENCE or _FENCE not in (stripped := [line.rstrip() for line in lines])[1:]:
        return {}, text
    end = stripped.index(_FENCE, 1)
    fields, name = dict[str, str](), ""
    for line in stripped[1:end]:
        field = _FIELD.match(f"{line} ")
        if field is not None:
            name = field[1]
            fields[name] = "" if field[2].strip() in (">", ">-", "|", "|-") else _scalar(field[2].strip())
        elif name and line.startswith(" "):
            fields[name] = f"{fields[name]} {line.strip()}".strip()
    return fields, "\n".join(lines[end + 1 :])


def _scalar(value: str) -> str:
    if value.startswith('"'):
        try:
            return str(json.loads(value))
        except ValueError:
            return value.strip('"')
    if len(value) > 1 and value[0] == value[-1] == "'":
        return value[1:-1].replace("''", "'")
    return value
