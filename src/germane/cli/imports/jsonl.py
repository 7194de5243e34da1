"""JSON Lines: one message a line (`role`, `content`, `session`, `id`, `name`, `created_at`), or one conversation a line
(`{"messages": [...]}`, as fine-tuning files have it), or what `germane export` writes (told by `type`).

A line that isn't UTF-8, isn't JSON or isn't a message is reported and skipped; the others are read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from germane.cli.imports.row import Broken, Directed, Remembered, Row, Shared, Turn
from germane.cli.imports.turn import Naming, turn
from germane.errors import InvalidInput

__all__ = ["objects", "read_jsonl", "read_messages"]


def objects(data: bytes) -> Iterator[tuple[int, Mapping[str, Any] | str]]:
    """The lines that aren't blank, counted from 1: an object each, or why it isn't one."""
    for number, line in enumerate(data.split(b"\n"), start=1):
        if line.strip():
            yield number, _object(line)


def read_jsonl(data: bytes, session: str) -> Iterator[Row]:
    """Rows of the file; messages that name no session go to `session`."""
    naming = Naming()
    for number, found in objects(data):
        where = f"line {number}"
        if isinstance(found, str):
            yield Broken(where, found)
        elif isinstance(found.get("messages"), list):
            yield from read_messages(
                found["messages"], str(found.get("session") or f"{session}-{number}"), naming, f"{where}, "
            )
        else:
            yield _row(found, session, naming, where)


def read_messages(messages: list[Any], session: str, naming: Naming, prefix: str = "") -> Iterator[Row]:
    """Rows of a list of messages that belong to one session unless they say otherwise."""
    for number, message in enumerate(messages, start=1):
        where = f"{prefix}message {number}"
        if isinstance(message, Mapping):
            yield _row(message, session, naming, where)
        else:
            yield Broken(where, f"must be an object, not {type(message).__name__}")


def _row(found: Mapping[str, Any], session: str, naming: Naming, where: str) -> Row:
    match found.get("type"):
        case "memory":
            return Remembered(found)
        case "directive":
            text = found.get("text")
            return Directed(text) if isinstance(text, str) else Broken(where, "a directive needs its text")
    own = found.get("session", found.get("session_id"))
    if own is not None and not isinstance(own, str | int):
        return Broken(where, f"session must be text, not {type(own).__name__}")
    chosen = session if own is None or own == "" else str(own)
    exported = found.get("type") == "message"  # what had no id keeps none: it is known by its place in the session
    try:
        said = turn(found, chosen, None if exported else naming)
        return Shared(chosen, said) if exported and "user" in found and found["user"] is None else Turn(chosen, said)
    except InvalidInput as error:
        return Broken(where, str(error))


def _object(line: bytes) -> Mapping[str, Any] | str:
    try:
        found = json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        return f"not UTF-8 at byte {error.start + 1}"
    except (ValueError, RecursionError) as error:
        return f"not JSON: {error.msg if isinstance(error, json.JSONDecodeError) else 'too deep or too large a number'}"
    return found if isinstance(found, dict) else f"must be an object, not {type(found).__name__}"
