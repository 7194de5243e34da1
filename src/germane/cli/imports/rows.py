"""Rows: the kinds of row that a file holds, the fields of a message, and files with one message or object per line.

The fields of a message are `role`, `content` (text or a list of parts), `id`, `name`, `created_at`, `tool_calls` and
`tool_call_id`; parts may be calls and results of tools, and documents. The parser is more lenient than a provider's
dialect, because a file holds what was said and isn't a request.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import blake2b
from io import BytesIO
from json import dumps
from typing import Any, NamedTuple

from germane.api.arguments import as_result, opaque
from germane.errors import InvalidInput
from germane.integrations.transcripts.rows import BrokenRow, MessageNaming, MessageRow, Remark, objects
from germane.text.injected import without_injected
from germane.text.secrets.detection import secret_in_name
from germane.types.checks import check_one_of
from germane.types.message import Image, Message, Opaque, Part, Role, Text, ToolCall, ToolResult


class SharedMessageRow(NamedTuple):
    """A message that an export marks as agent-wide: it belongs to no user."""

    session: str
    message: Message
    raw: Mapping[str, Any] | None = None


class MemoryRow(NamedTuple):
    """A memory, with the fields that `germane export` writes. `user` is whose it is, where the file names several users."""

    fields: Mapping[str, Any]
    user: str | None = None


class DocumentRow(NamedTuple):
    """A document: what it is found and replaced by, its title, and its text."""

    source: str
    title: str
    text: str


class DirectiveRow(NamedTuple):
    """An agent's standing instructions."""

    text: str


Row = MessageRow | SharedMessageRow | MemoryRow | DocumentRow | DirectiveRow | BrokenRow | Remark


# Parses the fields of one message, as most chat files write them, into a `Message`.


_ROLES: Mapping[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "model": "assistant",
    "ai": "assistant",
    "tool": "tool",
    "function": "tool",
}
_FOREIGN = frozenset({"document", "knowledge", "resource", "search_result"})
"""The types of parts whose text isn't what the speaker says."""
_MAX_ID = 256
"""Characters."""


def parse_message(raw: Mapping[str, Any], session: str, naming: MessageNaming | None) -> Message:
    """Parse one message. Without `naming` a message that has no id gets none. Raises `InvalidInput` with the name of the bad
    field."""
    given = raw.get("role")
    role = _ROLES[check_one_of("role", given.lower() if isinstance(given, str) else given, _ROLES)]
    parts = _parts(raw)
    results = role == "user" and bool(parts) and all(isinstance(part, ToolResult) for part in parts)
    message = Message(
        role="tool" if results else role,
        parts=parts,
        id=_label(raw, "id"),
        name=_label(raw, "name"),
        created_at=parse_time(raw.get("created_at")),
    )
    if not message.content.strip() and not any(isinstance(part, Opaque) for part in parts):
        raise InvalidInput("content is empty")
    if message.id is not None or naming is None:
        return message
    id = naming.name(session, message.role, message.content)
    return Message(role=message.role, parts=parts, id=id, name=message.name, created_at=message.created_at)


def parse_time(value: Any) -> datetime | None:
    """Parse a time in ISO 8601 (a time without a zone stays without one) or in seconds since 1970. Raises `InvalidInput`."""
    if value is None or value == "":
        return None
    try:
        if isinstance(value, str):
            return datetime.fromisoformat(value.strip())
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError):
        pass
    raise InvalidInput(f"created_at must be an ISO 8601 time or seconds since 1970, not {_shown(value)}")


def _parts(raw: Mapping[str, Any]) -> tuple[Part, ...]:
    content = raw.get("content")
    parts: list[Part] = []
    if isinstance(content, str):
        parts.append(Text(content))
    elif isinstance(content, list):
        parts += (part for each in content for part in _read_part(each))
    elif content is not None:
        raise InvalidInput(f"content must be text or a list of parts, not {_shown(content)}")
    if (call_id := raw.get("tool_call_id")) is not None:
        text = "\n".join(part.text for part in parts if isinstance(part, Text))
        return (ToolResult(call_id=str(call_id), text=text, name=str(raw.get("name") or "")),)
    calls = raw.get("tool_calls") or []
    if not isinstance(calls, list):
        raise InvalidInput(f"tool_calls must be a list, not {_shown(calls)}")
    return (*parts, *map(_call, calls))


def _read_part(part: Any) -> list[Part]:
    if isinstance(part, str):
        return [Text(part)]
    if not isinstance(part, Mapping):
        raise InvalidInput(f"a part of content must be text or an object, not {_shown(part)}")
    kind = str(part.get("type") or part.get("content_type") or "part")
    if kind == "tool_use":
        arguments = dumps({} if part.get("input") is None else part["input"], ensure_ascii=False)
        return [ToolCall(id=str(part.get("id") or ""), name=str(part.get("name") or ""), arguments=arguments)]
    if kind == "tool_result":
        content = part.get("content")
        inner = content if isinstance(content, list) else [] if content is None else [content]
        said, others = as_result([one for each in inner for one in _read_part(each)])
        id, error = str(part.get("tool_use_id") or ""), part.get("is_error") is True
        return [ToolResult(call_id=id, text=said, name=str(part.get("name") or ""), error=error), *others]
    if isinstance(text := part.get("text"), str) and kind not in _FOREIGN:
        return [Text(text)]
    return [Image(raw=part) if "image" in kind else opaque(kind, part)]


def _call(call: Any) -> ToolCall:
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        raise InvalidInput(f"a tool call needs a function with a name, not {_shown(call)}")
    arguments = function.get("arguments", "{}")
    text = arguments if isinstance(arguments, str) else dumps(arguments, ensure_ascii=False)
    return ToolCall(id=str(call.get("id") or ""), name=function["name"], arguments=text)


def _label(raw: Mapping[str, Any], field: str) -> str | None:
    value = raw.get(field)
    if value is None or value == "":
        return None
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or len(value) > _MAX_ID:
        raise InvalidInput(f"{field} must be text of at most {_MAX_ID} characters, not {_shown(value)}")
    return value


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}…"


# JSON Lines: one message, one conversation or one exported object per line. A message has also a `session`; a
# conversation is `{"messages": [...]}`, as in fine-tuning files; the lines of `germane export` are recognised by
# `type`. A line that can't be read is reported as broken, and reading continues.


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


# What of another product's file is stored: names without secrets, and texts without germane's own. A caller's name that
# holds a secret is refused. Nobody looks things up by a file's names: a name made of the original one replaces it, the
# same whenever the file is read. So an import stays idempotent.


def imported_name(name: str, found: Counter[str]) -> str:
    """Returns the name, or one made of it where it holds a secret, which is counted in `found` by its kind."""
    kind = secret_in_name(name)
    if kind is None:
        return name
    found[kind] += 1
    return f"import-{blake2b(name.encode('utf-8', 'surrogatepass'), digest_size=8).hexdigest()}"


def imported_text(text: str) -> str:
    """Returns a text that is to be divided: an element of germane's is whole only before (INJECT-5)."""
    return without_injected(text)


def imported_message(message: Message, found: Counter[str]) -> Message:
    """Returns the message with its id and those of its calls likewise; the same object where they hold no secrets."""
    parts = tuple(_imported_part(part, found) for part in message.parts)
    same = all(one is other for one, other in zip(parts, message.parts, strict=True))
    id = message.id and imported_name(message.id, found)
    return message if same and id == message.id else replace(message, parts=message.parts if same else parts, id=id)


def _imported_part(part: Part, found: Counter[str]) -> Part:
    match part:
        case ToolCall(id=name) if (made := imported_name(name, found)) != name:
            return replace(part, id=made)
        case ToolResult(call_id=name) if (made := imported_name(name, found)) != name:
            return replace(part, call_id=made)
    return part
