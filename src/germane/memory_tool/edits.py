"""Edits: decides which mutation a `str_replace` or an `insert` is, from the newest content and from what the model has viewed.

Where both are the same, an edit is the obvious one. Where others have changed the file since it was viewed, a line number means
a line of what was viewed, and a text that isn't there any more is replaced where it was viewed. The whole text that comes of it
is then merged with what was changed since."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from germane.blocks.mutation import AppendEntry, AppendText, InsertLines, Mutation, ReplaceText, SetText
from germane.blocks.schema import LogSchema
from germane.errors import InvalidInput
from germane.memory_tool.file import File, inserted, lines_of, places
from germane.memory_tool.paths import MemoryPath
from germane.types.limits import shown

__all__ = ["DecidedEdit", "decide_edit", "given_text"]

_SHOWN = 2_000
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
        raise InvalidInput(f"Invalid `insert_line` parameter: {shown(line)}. It should be a whole number; 0 is the beginning.")
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
    said = old if len(old) <= _SHOWN else f"{old[:_SHOWN]}…"
    if not found:
        raise InvalidInput(f"No replacement was performed, old_str `{said}` did not appear verbatim in {path}.")
    raise InvalidInput(
        f"No replacement was performed. Multiple occurrences of old_str `{said}` in lines: {', '.join(map(str, found))}."
        " Please ensure it is unique"
    )


def _inserted(file: File, viewed: str | None, line: int, more: str) -> DecidedEdit:
    seen = file.text if viewed is None else viewed
    changed = inserted(seen, line, more)
    if line == len(lines_of(seen)):
        between = "\n" if file.text and not file.text.endswith("\n") else ""
        return DecidedEdit(AppendText(text=between + more.rstrip("\n") + "\n"))
    if viewed is None:
        return DecidedEdit(InsertLines(line=line, text=more.rstrip("\n") + "\n"))
    return DecidedEdit(SetText(text=changed), rebased=True)


def _check_plain(path: MemoryPath, file: File) -> None:
    if not file.plain:
        raise InvalidInput(
            f"{path} is a {file.block.schema.kind} and no plain text: it can be viewed, but not edited as a file."
        )
