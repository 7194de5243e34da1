"""Commands: the six commands of the memory tool (view, create, str_replace, insert, delete, rename) over an agent's blocks.

An edit is made on the newest content, whoever wrote it. What a model has viewed may be older: so the commands remember the
version of each file that was viewed last, and an edit that means that version is merged with what was changed since."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from germane.blocks.block import Block
from germane.blocks.render import unmarked
from germane.errors import Conflict, GermaneError, InvalidInput, MissingExtra
from germane.memory_tool.answer import ToolAnswer, refusal, stale
from germane.memory_tool.edits import DecidedEdit, decide_edit, given_text
from germane.memory_tool.file import BlockCalls, File, opened, text_at
from germane.memory_tool.listing import directory, numbered, numbered_lines
from germane.memory_tool.paths import MemoryPath, parse_path
from germane.types.limits import shown

__all__ = ["COMMANDS", "SYSTEM", "MemoryCommands"]

COMMANDS = ("view", "create", "str_replace", "insert", "delete", "rename")
SYSTEM = "system"
"""The directory of core blocks, which are in every context."""
_MAX_VIEWED = 256
"""Files whose viewed version is remembered."""
_TRIES = 8
"""How often an edit is tried anew while others change the file."""
_CONTEXT = 2
"""Lines that are shown before and after a replaced one."""
_MERGED = " Others had changed it since it was viewed; both changes are in it. View it before the next edit."
_ADVICE = ". Please provide a valid path."
_SECRETS = " What looked like a secret in it wasn't stored."


class _Viewed(NamedTuple):
    id: str
    version: int


class MemoryCommands:
    """The commands of one conversation. `permission` and `limit` are those of the files that it creates, `by` is kept with each
    edit, and `hashes` says that `view` shows the `content_sha256`, which a command can give back as `if_hash`."""

    def __init__(self, blocks: BlockCalls, *, permission: str, limit: int, by: str, hashes: bool) -> None:
        self._blocks, self._permission, self._limit, self._by, self._hashes = blocks, permission, limit, by, hashes
        self._viewed: OrderedDict[str, _Viewed] = OrderedDict()

    async def answer(self, command: Mapping[str, Any]) -> ToolAnswer:
        """Carries out one command and returns what to tell the model. A mistake of the model's is an answer too, and so is a
        store that can't be reached. Raises `MissingExtra`."""
        path = None
        try:
            name = command.get("command")
            if name not in COMMANDS:
                raise InvalidInput(f"Unknown command: {shown(name)}. The commands are {', '.join(COMMANDS)}.")
            path = parse_path(command.get("old_path"), "old_path") if name == "rename" else parse_path(command.get("path"))
            match name:
                case "view":
                    return await self._view(path, command.get("view_range"))
                case "create":
                    return await self._create(path, command)
                case "delete":
                    return await self._delete(path, command)
                case "rename":
                    return await self._rename(path, parse_path(command.get("new_path"), "new_path"), command)
                case _:
                    return await self._edit(path, command)
        except MissingExtra:
            raise
        except GermaneError as error:
            return refusal(error, path)

    async def _view(self, path: MemoryPath, view_range: object) -> ToolAnswer:
        file = await opened(self._blocks, path)
        if file is not None:
            text = numbered(path, file.text, view_range)
            self._saw(file.block)
            return ToolAnswer(text=f"{text}\n[content_sha256: {file.block.content_hash}]" if self._hashes else text)
        return ToolAnswer(text=directory(path, await self._under(path, _ADVICE)))

    async def _create(self, path: MemoryPath, command: Mapping[str, Any]) -> ToolAnswer:
        text = given_text(command, "file_text")
        if path.folder and not path.root:
            raise InvalidInput(f"{path} is a directory. Give the path of a file: its directories are made with it.")
        labels = set[str]() if path.root else await self._labels_near(path)
        _refuse_taken(path, labels, f"File {path} already exists")
        _refuse_file_above(path, labels)
        try:
            block = await self._blocks.create(
                path.label,
                type="core" if path.label.startswith(f"{SYSTEM}/") else "working",
                text=text,
                permission=self._permission,
                limit=self._limit,
                **self._noted(command),
            )
        except Conflict:  # somebody else was faster
            raise InvalidInput(f"File {path} already exists") from None
        self._saw(block)
        return ToolAnswer(text=f"File created successfully at: {path}" + (f".{_SECRETS}" if block.secrets else ""))

    async def _edit(self, path: MemoryPath, command: Mapping[str, Any]) -> ToolAnswer:
        for _ in range(_TRIES):
            file = await opened(self._blocks, path)
            if file is None:
                await self._under(path, _ADVICE)
                raise InvalidInput(f"The path {path} is not a file.")
            held = self._viewed.get(path.label)
            behind = held if held is not None and held != (file.block.id, file.block.version) else None
            if behind is not None and behind.id != file.block.id:
                behind = None
            viewed = None if behind is None else await text_at(self._blocks, file, behind.version)
            lost = behind is not None and viewed is None and command["command"] == "insert"
            if lost or _is_stale(file, command):
                self._saw(file.block)
                return stale(path, file.block, numbered(path, file.text))
            edit = decide_edit(path, file, viewed, command)
            base = behind.version if behind is not None and edit.rebased else None
            try:
                block = await self._blocks.edit(
                    path.label, edit.mutation, base=base, if_hash=file.block.content_hash, **self._noted(command)
                )
            except Conflict:
                continue  # somebody else was faster
            if behind is not None:
                del self._viewed[path.label]
            elif held is not None:
                self._saw(block)
            return ToolAnswer(text=_edited(path, file, block, edit, command) + (_MERGED if behind else ""))
        raise InvalidInput(f"No edit was made, because others are changing {path} at the moment. Try again.")

    async def _delete(self, path: MemoryPath, command: Mapping[str, Any]) -> ToolAnswer:
        if path.root:
            raise InvalidInput(f"Cannot delete the {path} directory itself")
        file = await opened(self._blocks, path)
        if file is None:
            await self._under(path)
            await self._blocks.delete_folder(path.label, **self._noted(command))
        elif _is_stale(file, command):
            return stale(path, file.block, numbered(path, file.text))
        else:
            await self._blocks.delete(path.label, if_hash=command.get("if_hash"), **self._noted(command))
        self._forget(path)
        return ToolAnswer(text=f"Successfully deleted {path}")

    async def _rename(self, old: MemoryPath, new: MemoryPath, command: Mapping[str, Any]) -> ToolAnswer:
        if old.root:
            raise InvalidInput(f"Cannot rename the {old} directory itself")
        labels = set[str]() if new.root else await self._labels_near(new)
        _refuse_taken(new, labels, f"The destination {new} already exists")
        file = await opened(self._blocks, old)
        if file is None:
            await self._under(old)
        _refuse_file_above(new, labels)
        inside = [f"{path.label}/".startswith(f"{SYSTEM}/") and (file is None or path.label != SYSTEM) for path in (old, new)]
        type = None if inside[0] == inside[1] else "core" if inside[1] else "working"
        if file is None:
            await self._blocks.rename_folder(old.label, new.label, type=type, **self._noted(command))
        elif _is_stale(file, command):
            return stale(old, file.block, numbered(old, file.text))
        else:
            type = type if file.block.type in ("core", "working") else None
            await self._blocks.change(
                old.label, new_label=new.label, type=type, if_hash=command.get("if_hash"), **self._noted(command)
            )
        self._forget(old)
        return ToolAnswer(text=f"Successfully renamed {old} to {new}")

    async def _under(self, path: MemoryPath, advice: str = "") -> tuple[Block, ...]:
        """Returns the blocks under a directory. Raises `InvalidInput` where there is no such directory; the root is always
        there."""
        blocks = await self._blocks.list(folder=None if path.root else path.label)
        if not blocks and not path.root:
            raise InvalidInput(f"The path {path} does not exist{advice}")
        return blocks

    async def _labels_near(self, path: MemoryPath) -> set[str]:
        """Returns the labels that begin with the first name of the path."""
        first = path.label.split("/")[0]
        top = await opened(self._blocks, MemoryPath(first))
        return {block.label for block in await self._blocks.list(folder=first)} | ({first} if top is not None else set())

    def _noted(self, command: Mapping[str, Any]) -> dict[str, str]:
        """Who makes the change, and the reason that the command gives."""
        reason = command.get("reason")
        return {"by": self._by, "reason": "" if reason is None else given_text(command, "reason")}

    def _saw(self, block: Block) -> None:
        self._viewed[block.label] = _Viewed(block.id, block.version)
        self._viewed.move_to_end(block.label)
        if len(self._viewed) > _MAX_VIEWED:
            self._viewed.popitem(last=False)

    def _forget(self, path: MemoryPath) -> None:
        """Forgets what was viewed of a file that is gone. Of a directory's files, their ids tell it."""
        self._viewed.pop(path.label, None)


def _refuse_taken(path: MemoryPath, labels: Collection[str], taken: str) -> None:
    """Raises `InvalidInput` with the text `taken` where a file or a directory has this path."""
    if path.root or path.label in labels or any(label.startswith(f"{path.label}/") for label in labels):
        raise InvalidInput(taken)


def _refuse_file_above(path: MemoryPath, labels: Collection[str]) -> None:
    """Raises `InvalidInput` where a directory above the path is a file."""
    above, *names = path.label.split("/")
    for name in names:
        if above in labels:
            raise InvalidInput(f"The path {MemoryPath(above)} is a file, not a directory")
        above = f"{above}/{name}"


def _is_stale(file: File, command: Mapping[str, Any]) -> bool:
    """Whether the command was decided on another content."""
    return command.get("if_hash") not in (None, file.block.content_hash)


def _edited(path: MemoryPath, file: File, block: Block, edit: DecidedEdit, command: Mapping[str, Any]) -> str:
    secrets = _SECRETS if block.secrets else ""
    if command["command"] == "insert":
        return f"The file {path} has been edited.{secrets}"
    old, new = command["old_str"], command.get("new_str") or ""
    whole = getattr(block.schema, "viewport", None) is None
    text = unmarked(block.text) if whole else file.text.replace(old, new, 1)
    line = edit.line or text.count("\n", 0, max(0, text.find(new))) + 1
    first = max(1, line - _CONTEXT)
    snippet = numbered_lines(text.split("\n")[first - 1 : line + _CONTEXT], first)
    return f"The memory file has been edited. Here is the snippet showing the change (with line numbers):\n{snippet}{secrets}"
