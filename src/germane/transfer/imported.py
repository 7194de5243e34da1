"""Imported: what of another product's file is stored: names without secrets, and texts without germane's own.

A name by which a caller finds things again is refused where it holds a secret. A file's names are nobody's to look things up
by, so that one that is made of it may stand in its place: the same whenever the file is read, which keeps an import idempotent.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from hashlib import blake2b

from germane.text.injected import without_injected
from germane.text.secrets.screen import secret_in_name
from germane.types.message import Message, Part, ToolCall, ToolResult

__all__ = ["imported_message", "imported_name", "imported_text"]


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
