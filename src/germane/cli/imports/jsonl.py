"""JSON Lines reader: reads one message, one conversation or one exported object per line as rows.

A message has `role`, `content`, `session`, `id`, `name`, `created_at`; a conversation is `{"messages": [...]}`, as in
fine-tuning files; the lines of `germane export` are recognised by `type`. A line that can't be read is reported as broken, and
reading continues.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from io import BytesIO
from typing import Any

from germane.cli.imports.message_fields import MessageNaming, parse_message
from germane.cli.imports.rows import BrokenRow, DirectiveRow, MemoryRow, MessageRow, Row, SharedMessageRow
from germane.errors import InvalidInput

__all__ = ["objects", "read_jsonl", "read_messages"]


def objects(lines: Iterable[bytes]) -> Iterator[tuple[int, Mapping[str, Any] | str]]:
    """Each line that isn't blank, with its number (from 1): the object, or as text the reason why it can't be read."""
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield number, _object(line)


def read_jsonl(data: bytes, session: str) -> Iterator[Row]:
    """Rows of the file. A message that names no session belongs to `session`."""
    naming = MessageNaming()
    for number, entry in objects(BytesIO(data)):
        where = f"line {number}"
        if isinstance(entry, str):
            yield BrokenRow(where, entry)
        elif isinstance(entry.get("messages"), list):
            session_id = str(entry.get("session") or f"{session}-{number}")
            yield from read_messages(entry["messages"], session_id, naming, f"{where}, ")
        elif entry.get("type") not in ("header", "session", "tombstone"):  # an export that is read as plain rows
            yield _row(entry, session, naming, where)


def read_messages(messages: list[Any], session: str, naming: MessageNaming, prefix: str = "") -> Iterator[Row]:
    """Rows of a list of messages. A message that names no session belongs to `session`; `prefix` begins the place of a broken
    row."""
    for number, message in enumerate(messages, start=1):
        where = f"{prefix}message {number}"
        if isinstance(message, Mapping):
            yield _row(message, session, naming, where)
        else:
            yield BrokenRow(where, f"must be an object, not {type(message).__name__}")


def _row(entry: Mapping[str, Any], session: str, naming: MessageNaming, where: str) -> Row:
    match entry.get("type"):
        case "memory":
            return MemoryRow(entry)
        case "directive":
            text = entry.get("text")
            return DirectiveRow(text) if isinstance(text, str) else BrokenRow(where, "a directive needs its text")
    own = entry.get("session", entry.get("session_id"))
    if own is not None and not isinstance(own, str | int):
        return BrokenRow(where, f"session must be text, not {type(own).__name__}")
    session_id = session if own is None or own == "" else str(own)
    # An exported message without an id gets none here either: it is recognised by its place in the session.
    exported = entry.get("type") == "message"
    try:
        message = parse_message(entry, session_id, None if exported else naming)
    except InvalidInput as error:
        return BrokenRow(where, str(error))
    if exported and "user" in entry and entry["user"] is None:
        return SharedMessageRow(session_id, message)
    return MessageRow(session_id, message)


def _object(line: bytes) -> Mapping[str, Any] | str:
    try:
        entry = json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        return f"not UTF-8 at byte {error.start + 1}"
    except (ValueError, RecursionError) as error:
        return f"not JSON: {error.msg if isinstance(error, json.JSONDecodeError) else 'too deep or too large a number'}"
    return entry if isinstance(entry, dict) else f"must be an object, not {type(entry).__name__}"
