"""Commands: the six commands of the memory tool (view, create, str_replace, insert, delete, rename) over an agent's blocks.

An edit is made on the newest content, whoever wrote it. What a model has viewed may be older: so the commands remember the
version of each file that was viewed last, and an edit that means that version is merged with what was changed since. Where
both are the same, an edit is the obvious one. Where others have changed the file since it was viewed, a line number means a
line of what was viewed, and a text that isn't there any more is replaced where it was viewed.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from germane.errors import Conflict, ConsentNeeded, GermaneError, InvalidInput, MissingExtra, NotPermitted, StoreError, quoted
from germane.integrations.memory_tool.files import (
    BlockCalls,
    File,
    MemoryPath,
    directory,
    insert_lines,
    lines_of,
    numbered,
    numbered_lines,
    open_file,
    parse_path,
    places,
    text_at,
)
from germane.kinds.blocks.mutation import AppendEntry, AppendText, InsertLines, Mutation, ReplaceText, SetText
from germane.kinds.blocks.render import unmarked
from germane.kinds.blocks.schema import LogSchema
from germane.kinds.blocks.value import Block

COMMANDS = ("view", "create", "str_replace", "insert", "delete", "rename")
SYSTEM = "system"
"""The directory of core blocks, which are in every context."""
_MAX_VIEWED = 256
"""Files whose viewed version is remembered."""
_MAX_TRIES = 8
"""How often an edit is tried anew while others change the file."""
_CONTEXT_LINES = 2
"""Lines that are shown before and after a replaced one."""
_MERGED_NOTE = " Others had changed it since it was viewed; both changes are in it. View it before the next edit."
_ADVICE = ". Please provide a valid path."
_SECRETS_NOTE = " What looked like a secret in it wasn't stored."


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
                raise InvalidInput(f"Unknown command: {quoted(name)}. The commands are {', '.join(COMMANDS)}.")
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
        file = await open_file(self._blocks, path)
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
        return ToolAnswer(text=f"File created successfully at: {path}" + (f".{_SECRETS_NOTE}" if block.secrets else ""))

    async def _edit(self, path: MemoryPath, command: Mapping[str, Any]) -> ToolAnswer:
        for _ in range(_MAX_TRIES):
            file = await open_file(self._blocks, path)
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
            return ToolAnswer(text=_edited(path, file, block, edit, command) + (_MERGED_NOTE if behind else ""))
        raise InvalidInput(f"No edit was made, because others are changing {path} at the moment. Try again.")

    async def _delete(self, path: MemoryPath, command: Mapping[str, Any]) -> ToolAnswer:
        if path.root:
            raise InvalidInput(f"Cannot delete the {path} directory itself")
        file = await open_file(self._blocks, path)
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
        file = await open_file(self._blocks, old)
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
        top = await open_file(self._blocks, MemoryPath(first))
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
    secrets = _SECRETS_NOTE if block.secrets else ""
    if command["command"] == "insert":
        return f"The file {path} has been edited.{secrets}"
    old, new = command["old_str"], command.get("new_str") or ""
    whole = getattr(block.schema, "viewport", None) is None
    text = unmarked(block.text) if whole else file.text.replace(old, new, 1)
    line = edit.line or text.count("\n", 0, max(0, text.find(new))) + 1
    first = max(1, line - _CONTEXT_LINES)
    snippet = numbered_lines(text.split("\n")[first - 1 : line + _CONTEXT_LINES], first)
    return f"The memory file has been edited. Here is the snippet showing the change (with line numbers):\n{snippet}{secrets}"


# Which mutation a `str_replace` or an `insert` is, from the newest content and from what the model has viewed.


_MAX_QUOTED = 2_000
"""Characters of a text that are repeated in an answer."""


class DecidedEdit(NamedTuple):
    """The mutation, whether it is made from the viewed version, and the line that it changes, where it changes one."""

    mutation: Mutation
    rebased: bool = False
    line: int = 0


def decide_edit(path: MemoryPath, file: File, viewed: str | None, command: Mapping[str, Any]) -> DecidedEdit:
    """Decides on one command. `viewed` is the text that the model has viewed, None where that is the present one or isn't
    known. Raises `InvalidInput` in the words of Anthropic's tool."""
    if command["command"] == "str_replace":
        _check_plain(path, file)
        return _replaced(path, file, viewed, given_text(command, "old_str"), given_text(command, "new_str", missing=""))
    line = command.get("insert_line")
    if isinstance(line, bool) or not isinstance(line, int):
        raise InvalidInput(f"Invalid `insert_line` parameter: {quoted(line)}. It should be a whole number; 0 is the beginning.")
    more = given_text(command, "insert_text")
    if isinstance(file.block.schema, LogSchema):
        if line:
            raise InvalidInput(f"{path} is a log, newest entry first: use `insert_line` 0 to add an entry.")
        return DecidedEdit(AppendEntry(text=more.rstrip("\n")))
    _check_plain(path, file)
    return _inserted(file, viewed, line, more)


def given_text(command: Mapping[str, Any], name: str, missing: str | None = None) -> str:
    """Returns a text of the command. Raises `InvalidInput` where it isn't one."""
    value = command.get(name)
    value = missing if value is None else value
    if not isinstance(value, str):
        raise InvalidInput(f"`{name}` must be a string, not {type(value).__name__}: send the command again with it.")
    return value


def _replaced(path: MemoryPath, file: File, viewed: str | None, old: str, new: str) -> DecidedEdit:
    if not old:
        raise InvalidInput("No replacement was performed, old_str is empty. Use insert to add text.")
    found = places(file.text, old)
    if len(found) == 1:
        return DecidedEdit(ReplaceText(old=old, new=new), line=found[0])
    if viewed is not None and len(places(viewed, old)) == 1:
        return DecidedEdit(SetText(text=viewed.replace(old, new, 1)), rebased=True)
    said = old if len(old) <= _MAX_QUOTED else f"{old[:_MAX_QUOTED]}…"
    if not found:
        raise InvalidInput(f"No replacement was performed, old_str `{said}` did not appear verbatim in {path}.")
    raise InvalidInput(
        f"No replacement was performed. Multiple occurrences of old_str `{said}` in lines: {', '.join(map(str, found))}."
        " Please ensure it is unique"
    )


def _inserted(file: File, viewed: str | None, line: int, more: str) -> DecidedEdit:
    seen = file.text if viewed is None else viewed
    changed = insert_lines(seen, line, more)
    if line == len(lines_of(seen)):
        between = "\n" if file.text and not file.text.endswith("\n") else ""
        return DecidedEdit(AppendText(text=between + more.rstrip("\n") + "\n"))
    if viewed is None and file.text.endswith("\n"):
        return DecidedEdit(InsertLines(line=line, text=more.rstrip("\n") + "\n"))
    return DecidedEdit(SetText(text=changed), rebased=viewed is not None)  # a last line without a line break gets one


def _check_plain(path: MemoryPath, file: File) -> None:
    if not file.plain:
        raise InvalidInput(
            f"{path} is a {file.block.schema.kind} and no plain text: it can be viewed, but not edited as a file."
        )


# What the tool says to a model. Errors of blocks are worded so that the model can go on.


_LOG = logging.getLogger("germane.memory_tool")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAnswer:
    """The text for the model, and whether it is an error: then nothing was written but a request for consent."""

    text: str
    is_error: bool = False


def refusal(error: GermaneError, path: MemoryPath | None = None) -> ToolAnswer:
    """Returns an error as an answer. `path` stands in for the block that the error names. What is wrong with the store is
    logged, and isn't told."""
    if isinstance(error, StoreError):
        _LOG.error("the memory tool couldn't reach the store: %s", error)
        text = "The memory can't be reached at the moment, nothing was changed. Go on without it, and try again later."
    elif isinstance(error, ConsentNeeded):
        who = "a human" if error.asked_of == "human" else "your partner"
        text = (
            f"Not done yet: this needs the consent of {who}, who has been asked (request {error.request}). Go on with something"
            " else, and send the same command again once it is approved."
        )
    elif isinstance(error, NotPermitted):
        text = f"Not permitted, nothing was changed: {_renamed(str(error), path)}. Go on without this change."
    else:
        text = _renamed(str(error), path)
    return ToolAnswer(text=text, is_error=True)


def stale(path: MemoryPath, block: Block, view: str) -> ToolAnswer:
    """Returns the answer to an edit that was made from another content than the present one."""
    return ToolAnswer(
        text=f"{path} has changed since it was read, so nothing was done. Its content_sha256 is {block.content_hash} now."
        f" Decide again from its present content.\n{view}",
        is_error=True,
    )


def _renamed(message: str, path: MemoryPath | None) -> str:
    return message if path is None else message.replace(f"block {path.label!r}", f"the file {path}")
