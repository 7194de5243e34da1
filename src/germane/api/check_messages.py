"""Check messages: checks of a caller's messages by size and shape, before any message is parsed.

Messages are a list; they hold no more messages, characters and values than one request may, and none is nested without end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, get_args

from germane.clock import aware
from germane.dialects.langchain_reading import as_message, is_langchain
from germane.dialects.pydantic_reading import as_messages, instructions_in, is_pydantic
from germane.errors import InvalidInput
from germane.types.dumped import without_objects
from germane.types.extent import Extent, plain_size
from germane.types.limits import CHARACTERS, ID, MESSAGE_TEXT, Limit, text, within
from germane.types.message import Image, Message, Opaque, Part, Role, Text, ToolCall, ToolResult

__all__ = ["conversation", "listed", "look", "recordable", "taken"]

_PARTS: tuple[type[Part], ...] = (Text, Image, ToolCall, ToolResult, Opaque)
_ROLES = get_args(Role)
_FEW = 8
"""Keys of a dict of strings up to which it isn't looked into."""
_STRINGS = ("text", "id", "name", "arguments", "call_id", "kind")
"""Fields of parts that are always strings."""


def conversation(messages: object, limit: Limit) -> list[Any]:
    """Checks all `messages` and returns them as `look` does; what Pydantic AI's requests hold as instructions comes first.
    Raises `InvalidInput`, which names the message where a single one is too large."""
    raws = listed(messages, limit)
    own = instructions_in(raws)
    given = [*([{"role": "system", "content": own}] if own else []), *taken(raws)]
    within("messages", len(given), limit)
    return look(given, Extent("messages", CHARACTERS))


def listed(messages: object, limit: Limit) -> Sequence[Any]:
    """Returns `messages` itself, a list within the limit. Its messages aren't checked. Raises `InvalidInput`."""
    if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Sequence):
        raise InvalidInput(
            f"messages must be a list such as [{{'role': 'user', 'content': '…'}}], not {type(messages).__name__}"
        )
    within("messages", len(messages), limit)
    return messages


def taken(messages: Iterable[Any], *, first: int = 0) -> Iterator[Any]:
    """Yields the messages, each taken once; LangChain's and Pydantic AI's as dicts, of which a request of the latter may give
    several. `first` is the index of the first message, for the error. Raises `InvalidInput` for one that can't be read."""
    for index, raw in enumerate(messages, first):
        if type(raw) is dict or type(raw) is Message:
            yield raw
            continue
        try:
            if is_langchain(raw):
                raw = as_message(raw)
            elif is_pydantic(raw):
                yield from [*as_messages(raw)]
                continue
        except Exception as error:
            name = type(raw).__name__
            raise InvalidInput(f"messages[{index}] is a {name} that can't be read ({type(error).__name__})") from error
        yield raw


def look(messages: Sequence[Any], extent: Extent, *, first: int = 0) -> list[Any]:
    """Checks the size and shape of each message. Returns the messages: the same objects, but those that hold an SDK's objects
    are copies with plain dicts in their place. `extent` counts what came before; `first` is the index of the first message, for
    the error. Raises `InvalidInput` naming the message."""
    seen: list[Any] = []
    for index, raw in enumerate(messages, first):
        if (characters := _characters(raw)) is not None:
            extent.text(characters)
        elif (size := plain_size(raw)) is not None:
            extent.sized(*size)
        elif isinstance(raw, Message):
            extent.part(f"message {index}", _fields(f"message {index}", raw))
        else:
            raw = without_objects(f"message {index}", f"messages[{index}]", raw)
            extent.part(f"message {index}", raw)
        seen.append(raw)
    return seen


def recordable(messages: Sequence[Message], zone: str, *, first: int = 0) -> None:
    """Checks what is stored of each message: its text, its time, and the caller's id. `first` is the index of the first
    message, for the error. Raises `InvalidInput` naming the message."""
    for index, message in enumerate(messages, first):
        if message.id is not None:
            text(f"message {index}: id", message.id, ID)
        if message.created_at is not None:
            aware(message.created_at, zone, f"message {index}: created_at")
        held = sum(len(part.text) for part in message.parts if isinstance(part, Opaque))  # which is cut when it is stored
        within(f"message {index}: its text", len(message.content) - held, MESSAGE_TEXT)


def _characters(raw: object) -> int | None:
    """The characters of a dict of few strings, or of a message of one text; None for anything else."""
    if type(raw) is Message:
        return _said(raw)
    if type(raw) is not dict or len(raw) > _FEW:
        return None
    characters = 0
    for key, value in raw.items():
        if type(key) is not str or type(value) is not str:
            return None
        characters += len(key) + len(value)
    return characters


def _said(message: Message) -> int | None:
    """The characters of a message of one text whose fields have their declared types; None for any other."""
    parts = message.parts
    if type(parts) is not tuple or len(parts) != 1 or type(parts[0]) is not Text or parts[0].raw is not None:
        return None
    texts = [parts[0].text, *(text for text in (message.id, message.name) if text is not None)]
    timed = message.created_at is None or isinstance(message.created_at, datetime)
    typed = timed and message.role in _ROLES and all(type(text) is str for text in texts)
    return sum(map(len, texts)) if typed else None


def _fields(where: str, message: Message) -> list[Any]:
    """Everything that a `Message` holds, after checking that each field has its declared type: no later step checks that."""
    for name, value, kind in (
        ("id", message.id, str | None),
        ("name", message.name, str | None),
        ("created_at", message.created_at, datetime | None),
    ):
        if not isinstance(value, kind):
            raise InvalidInput(f"{where}: {name} is {type(value).__name__}: give a {'datetime' if 'at' in name else 'string'}")
    if message.role not in _ROLES:
        raise InvalidInput(f"{where}: unknown role: give one of {', '.join(_ROLES)}")
    if not isinstance(message.parts, list | tuple):
        raise InvalidInput(f"{where}: parts is {type(message.parts).__name__}: give a tuple of parts")
    found: list[Any] = [message.id, message.name]
    for index, part in enumerate(message.parts):
        if not isinstance(part, _PARTS):
            raise InvalidInput(
                f"{where}: part {index} is {type(part).__name__}: give a Text, Image, ToolCall, ToolResult or Opaque"
            )
        values = [(name, getattr(part, name)) for name in part.__slots__]
        for name, value in values:
            if name in _STRINGS and not isinstance(value, str):
                raise InvalidInput(f"{where}: {name} of part {index} is {type(value).__name__}: give a string")
        found.append([value for _, value in values])
    return found
