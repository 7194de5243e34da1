"""Outline: a session line by line: what each exchange of its stored messages was about (HIST-5).

A line is made when the messages are stored. An assembly that shows a line names it by the id of its first message with a
sign behind it. This name stays when the line is made anew, and the line's hash changes: a text that holds the earlier line
isn't shown again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple

from germane.dialects.registry import parse
from germane.errors import InvalidInput
from germane.text.normal import content_hash
from germane.types.candidate import Sensitivity
from germane.types.message import Message, Opaque, Part, Role, Text, ToolCall, ToolResult

MAX_EXCHANGE_MESSAGES = 100
"""Messages of one line. A longer exchange has a line for each hundred, so that no write has to read more."""
_MAX_CHARACTERS = 65_536
"""Characters that are read for one line: some milliseconds. They are shared out evenly among its messages."""
_MAX_LINE = 400
"""Characters of a line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutlineLine:
    """What one exchange was about. `first_id` and `last_id` are germane's ids of its first and last message, `first_at` and
    `last_at` their times; `messages` is how many it has. It is as sensitive as the most sensitive of them."""

    session: str
    text: str
    first_id: str
    last_id: str
    first_at: datetime
    last_at: datetime
    messages: int
    sensitivity: Sensitivity = "private"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutlinePage:
    """One page of a session's outline, oldest line first. `cursor` continues it; None on the last page."""

    lines: tuple[OutlineLine, ...]
    cursor: str | None = None


class OutlinedMessage(NamedTuple):
    """What a line needs to know of a stored message. `raw` is the caller's dict, empty where it says no more than the text."""

    position: int
    type: str
    role: str
    name: str
    text: str
    raw: Mapping[str, Any]
    sensitivity: int = 1


def begins_exchange(type: str) -> bool:
    """Whether a stored message of this type is a user's words."""
    return type == "user_message"


def split_exchanges(said: Iterable[OutlinedMessage]) -> Iterator[list[OutlinedMessage]]:
    """Yields the exchanges, each from a user's words to the next user's words, in parts of at most `MAX_SAID` messages. The
    first one may begin without a user's words, and the last one may go on."""
    exchange: list[OutlinedMessage] = []
    for one in said:
        if exchange and (begins_exchange(one.type) or len(exchange) == MAX_EXCHANGE_MESSAGES):
            yield exchange
            exchange = []
        exchange.append(one)
    if exchange:
        yield exchange


def line_of_exchange(exchange: Sequence[OutlinedMessage]) -> str:
    """Returns the line of one exchange: a text without line breaks, of at most 400 characters. Raises nothing: a message that
    can't be read goes by its text."""
    from germane.compaction.reading.outline_line import read_line, read_talk

    share = _MAX_CHARACTERS // max(1, len(exchange))
    beginning, line = exchange[0].text, ""
    try:
        if any(one.raw for one in exchange):
            messages = [_shortened(_message(one), share) for one in exchange]
            beginning = messages[0].content
            line = read_line(messages)
        else:
            line = read_talk((_role(one), _ends(one.text, share)) for one in exchange)
    except Exception:  # a fault in reading must not keep anything from being stored
        line = ""
    return " ".join((line or beginning[: 4 * _MAX_LINE]).split())[:_MAX_LINE]


def _role(said: OutlinedMessage) -> Role:
    return said.role if said.role in ("user", "assistant", "tool") else "user"  # type: ignore[return-value]


def _message(said: OutlinedMessage) -> Message:
    if said.raw:
        try:
            return parse(said.raw)
        except InvalidInput:
            pass  # as a dict that was cut when it was stored
    return Message.of(_role(said), said.text, name=said.name or None)


def _shortened(message: Message, share: int) -> Message:
    if len(message.content) <= share:
        return message
    return replace(message, parts=tuple(_cut(part, share) for part in message.parts))


def _cut(part: Part, share: int) -> Part:
    """The part with its beginning and its end, where it is longer than its share. A call keeps the beginning of each argument,
    so that what it names can be read."""
    match part:
        case Text(text):
            return Text(_ends(text, share))
        case ToolResult():
            return replace(part, text=_ends(part.text, share))
        case Opaque():
            return replace(part, text=_ends(part.text, share), raw={})
        case ToolCall() if len(part.arguments) > share:
            try:
                given = json.loads(part.arguments)
            except (ValueError, RecursionError):
                return replace(part, arguments="{}")
            if not isinstance(given, dict):
                return replace(part, arguments="{}")
            short = {name: value[:_MAX_LINE] if isinstance(value, str) else value for name, value in list(given.items())[:20]}
            written = json.dumps({name: value for name, value in short.items() if isinstance(value, str | int | float)})
            return replace(part, arguments=written)
    return part


def _ends(text: str, share: int) -> str:
    if len(text) <= share:
        return text
    tail = share // 4
    return f"{text[: share - tail]}\n{text[-tail:]}"


# How an assembly names a line that it shows.


OUTLINE = "outline"
"""The category of a line."""
_NAME_END = f"@{OUTLINE}"


def outline_name(first_id: str) -> str:
    """Returns `<id of the first message>@outline`."""
    return f"{first_id}{_NAME_END}"


def first_id_of_outline_name(name: str) -> str | None:
    """Returns the id of the first message that such a name holds; None for another text."""
    return name.removesuffix(_NAME_END) if name.endswith(_NAME_END) else None


def line_hash(first_id: str, text: str) -> int:
    """Returns a hash of what is shown of a line."""
    return content_hash(OUTLINE, f"{first_id} {text}")
