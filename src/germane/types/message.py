"""Message: one turn of a conversation, and a tool that a model may call, each in a shape of no provider.

A message is a list of parts. It isn't what goes back to the provider: the caller's own dicts travel through unchanged
(INJECT-1). Dialects parse them into messages so that germane can read, count and convert them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import takewhile
from typing import Any, Literal

Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class Text:
    """`raw` is the provider's own part where it is signed, for writing it back whole."""

    text: str
    raw: Mapping[str, Any] | None = field(default=None, hash=False, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """`width` and `height` in pixels where they are known; `raw` is the provider's own part, for writing it back."""

    width: int | None = None
    height: int | None = None
    detail: str = "auto"
    url: str | None = None
    """`https://…` or `data:<media type>;base64,…`; None where the provider holds the file under an id of its own."""
    raw: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """`arguments` is JSON text, as the model wrote it. `raw` is the provider's own part where it is signed, for writing it back
    whole."""

    id: str
    name: str
    arguments: str = "{}"
    raw: Mapping[str, Any] | None = field(default=None, hash=False, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    call_id: str
    text: str
    name: str = ""
    error: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Opaque:
    """A part that germane carries and counts whole: audio, documents, thinking, parts of future models. `text` is the text in
    it that can be searched, such as that of a document or of a search result."""

    kind: str
    raw: Mapping[str, Any] = field(default_factory=dict, hash=False)
    text: str = ""


Part = Text | Image | ToolCall | ToolResult | Opaque


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One turn. `developer` messages are read as `system`; Gemini's `model` as `assistant`.

    `id` is the caller's own, `name` the speaker's, `created_at` when it was said (aware, or naive in the scope's zone).
    """

    role: Role
    parts: tuple[Part, ...] = ()
    id: str | None = None
    name: str | None = None
    created_at: datetime | None = None

    @classmethod
    def of(
        cls, role: Role, text: str, *, id: str | None = None, name: str | None = None, created_at: datetime | None = None
    ) -> Message:
        """A message of one text part."""
        return cls(role=role, parts=(Text(text),), id=id, name=name, created_at=created_at)

    @property
    def text(self) -> str:
        """The text parts, without images, tool calls and tool results."""
        if len(self.parts) == 1 and isinstance(self.parts[0], Text):
            return self.parts[0].text
        return "\n".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def content(self) -> str:
        """Everything that can be read as text, with tool calls and results, documents and transcripts. `record` indexes and
        compares it."""
        if len(self.parts) == 1 and isinstance(self.parts[0], Text):
            return self.parts[0].text
        return "\n".join(filter(None, map(_readable, self.parts)))

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        return tuple([part for part in self.parts if isinstance(part, ToolCall)])

    @property
    def tool_results(self) -> tuple[ToolResult, ...]:
        return tuple([part for part in self.parts if isinstance(part, ToolResult)])

    def __repr__(self) -> str:
        kinds = "+".join(type(part).__name__ for part in self.parts) or "empty"
        return f"<Message {self.role} {kinds} {len(self.content)} chars>"


Raw = Mapping[str, Any] | Message
"""A message as a caller gives it: a dict in a provider's shape, or parsed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """A conversation as a provider takes it. `system` is None where there is none or the provider keeps it among the messages
    (OpenAI), else a string or a list of parts."""

    messages: list[dict[str, Any]]
    system: str | list[dict[str, Any]] | None = None


def leading_system(messages: Iterable[Message]) -> int:
    """Returns how many messages at the start are the system's: the index of the first that isn't, where there is one."""
    return sum(1 for _ in takewhile(lambda message: message.role == "system", messages))


def is_human(message: Message) -> bool:
    """Returns whether this is a user's message with more than tool results."""
    return message.role == "user" and any(not isinstance(part, ToolResult) for part in message.parts)


def system_text(system: object) -> str:
    """Returns the text of a system prompt in any shape: a string, a list of strings and of dicts with a `text`, or a dict with
    such a list as `parts`. What is no text is left out."""
    if isinstance(system, str):
        return system
    listed = system.get("parts", [system]) if isinstance(system, Mapping) else system
    if not isinstance(listed, list | tuple):
        return listed if isinstance(listed, str) else ""
    texts = (part.get("text") if isinstance(part, Mapping) else part for part in listed)
    return "\n\n".join(text for text in texts if isinstance(text, str) and text.strip())


def _readable(part: Part) -> str:
    match part:
        case Text(text):
            return text
        case ToolCall():
            return f"{part.name}({part.arguments})"
        case ToolResult():
            return part.text
        case Image():
            return "[image]"
        case Opaque():
            return part.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """`schema` is the JSON Schema of the arguments; `strict` says that the provider must keep the model to it; `cache` is the
    mark of a provider with explicit prompt caching, for the prefix that ends with this tool.

    `provider` is the dialect that the tool was read from, and `raw` the caller's own dict, which goes back to that provider as
    it is; `extras` are the fields that only that provider has. With `builtin`, the tool is the provider's own (a web search, a
    code interpreter), of which nothing else knows the schema.
    """

    name: str
    description: str = ""
    schema: Mapping[str, Any] = field(default_factory=dict, hash=False)
    strict: bool = False
    cache: Mapping[str, Any] | None = field(default=None, hash=False)
    provider: str = ""
    builtin: bool = False
    extras: Mapping[str, Any] = field(default_factory=dict, hash=False)
    raw: Mapping[str, Any] = field(default_factory=dict, hash=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolLoss:
    """What a tool lost when it was written for another provider: the field, `tool` where the whole tool was left out."""

    tool: str
    field: str
    reason: str
