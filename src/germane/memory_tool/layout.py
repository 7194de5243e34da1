"""Layout: memory files of two products as blocks, and back: Anthropic's plain files, and Letta's Markdown with front matter.

In both, what is under `system/` is always in the prompt: core blocks. Letta's labels have no `.md`, and its front matter holds
a description, a limit and whether the agent may write."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from germane.blocks.block import DEFAULT_LIMIT, Block, BlockType
from germane.blocks.permission import Permission
from germane.blocks.render import unmarked
from germane.blocks.schema import TextSchema
from germane.errors import InvalidInput, UnknownName
from germane.memory_tool.commands import SYSTEM
from germane.memory_tool.paths import ROOT, parse_path, path_of
from germane.types.limits import BLOCK_TEXT, REMARK, shown

__all__ = ["LAYOUTS", "Layout", "MemoryFile", "checked_layout", "file_of", "read_file", "written_files"]

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


def checked_layout(value: object) -> Layout:
    """Returns a layout by its name. Raises `UnknownName`."""
    for known in LAYOUTS:
        if value == known:
            return known
    raise UnknownName(f"layout must be one of {', '.join(LAYOUTS)}, not {shown(value)}")


def read_file(name: str, data: bytes, layout: Layout) -> MemoryFile:
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
