"""Message fields: parses the fields of one message, as most chat files write them, into a `Message`.

The fields are `role`, `content` (text or a list of parts), `id`, `name`, `created_at`, `tool_calls` and `tool_call_id`; parts
may be calls and results of tools, and documents. The parser is more lenient than a provider's dialect, because a file is
history and not a request.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import blake2b
from json import dumps
from typing import Any

from germane.api.provider_messages import as_result, opaque
from germane.errors import InvalidInput
from germane.types.message import Image, Message, Opaque, Part, Role, Text, ToolCall, ToolResult

__all__ = ["MessageNaming", "parse_message", "parse_time"]

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


class MessageNaming:
    """Makes ids for messages that have none, so that importing a file twice stores each message once.

    An id depends on the session, role and text, and on how many equal messages came before: the second "ok" of a session gets
    another id than the first."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, bytes], int] = {}

    def name(self, session: str, role: str, text: str) -> str:
        digest = blake2b(f"{role}\0{text}".encode("utf-8", "surrogatepass"), digest_size=8)
        nth = self._seen[session, digest.digest()] = self._seen.get((session, digest.digest()), 0) + 1
        return f"import-{digest.hexdigest()}-{nth}"


def parse_message(raw: Mapping[str, Any], session: str, naming: MessageNaming | None) -> Message:
    """Parse one message. Without `naming` a message that has no id gets none. Raises `InvalidInput` with the name of the bad
    field."""
    role = raw.get("role")
    if not isinstance(role, str) or role.lower() not in _ROLES:
        raise InvalidInput(f"role must be one of system, user, assistant, tool, not {_shown(role)}")
    parts = _parts(raw)
    results = _ROLES[role.lower()] == "user" and bool(parts) and all(isinstance(part, ToolResult) for part in parts)
    message = Message(
        role="tool" if results else _ROLES[role.lower()],
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
