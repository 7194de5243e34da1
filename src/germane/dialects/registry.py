"""Registry: finds the dialect of a provider or a message, and parses messages of any dialect."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from germane.dialects.anthropic import Anthropic
from germane.dialects.dialect import Dialect, OutgoingMessage
from germane.dialects.envelope import mapping, type_name
from germane.dialects.gemini import Gemini
from germane.dialects.openai_chat import OpenAIChat
from germane.dialects.openai_responses import OpenAIResponses
from germane.dialects.plain import plain, plain_message
from germane.errors import InvalidInput, UnknownName
from germane.types.message import Message

__all__ = ["DIALECTS", "dialect", "dialect_of", "outgoing", "parse", "parse_all"]

DIALECTS: tuple[Dialect, ...] = (OpenAIChat(), Anthropic(), Gemini(), OpenAIResponses())


def dialect(name: str) -> Dialect:
    """Returns the dialect called `name`. Raises `UnknownName` listing the names."""
    for each in DIALECTS:
        if each.name == name:
            return each
    raise UnknownName(f"unknown provider {str(name)[:40]!r}: give one of {', '.join(each.name for each in DIALECTS)}")


def dialect_of(raw: Mapping[str, Any], prefer: str) -> Dialect:
    """Returns the dialect of a message: one to which only it can belong, else the preferred one. What no dialect knows is so
    the preferred one's, such as a part that a gateway takes, and an item of a later version of the Responses API."""
    preferred = dialect(prefer)
    item = preferred.name == OpenAIResponses.name and "role" not in raw and isinstance(raw.get("type"), str)
    if item or preferred.speaks(raw):
        return preferred
    return next((each for each in DIALECTS if each is not preferred and each.speaks(raw)), preferred)


def outgoing(message: Message, raw: Mapping[str, Any] | Message, provider: str) -> OutgoingMessage:
    """Returns the message as one to send, with its own dict if that is in the shape of `provider`."""
    if provider == OpenAIChat.name and isinstance(raw, dict) and plain(raw):
        return OutgoingMessage(message=message, native=raw)
    fields = None if isinstance(raw, Message) else mapping(raw)
    if fields is None or (shape := dialect_of(fields, provider)).name != provider:
        return OutgoingMessage(message=message)
    return OutgoingMessage(message=message, native=shape.native(fields))


def parse(raw: Mapping[str, Any] | Message, prefer: str = "openai") -> Message:
    """Reads one message; returns a `Message` unchanged. Raises `InvalidInput` naming what can't be read."""
    if isinstance(raw, Message):
        return raw
    fields = mapping(raw)
    if fields is None:
        raise InvalidInput(f"message is {type_name(raw)}: give a mapping with role and content, or a germane Message")
    return dialect_of(fields, prefer).parse(fields)


def parse_all(raws: Iterable[Mapping[str, Any] | Message], prefer: str = "openai", *, first: int = 0) -> tuple[Message, ...]:
    """Reads all messages. Raises `InvalidInput` with the index of the message that can't be read, counted from `first`."""
    dialect(prefer)
    if isinstance(raws, str | bytes | Mapping) or not isinstance(raws, Iterable):
        raise InvalidInput(f"messages is {type_name(raws)}: give a list of messages")
    messages: list[Message] = []
    for index, raw in enumerate(raws, first):
        try:
            messages.append(plain_message(raw) if isinstance(raw, dict) and plain(raw) else parse(raw, prefer))
        except InvalidInput as error:
            raise type(error)(f"message {index}: {error}") from None
    return tuple(messages)
