"""Replies: what the local provider says, how it sends that, and how it fails; the rules that choose a reply.

    provider.script += ["Hello", Reply(ToolCall("order", {"item": "vase"})), Failure(429, headers=(("retry-after", "7"),)),
    DROP] provider.rule = answers("By e-mail.")

A step of a script, or what a rule returns, is a text, a `Reply`, or a way to fail. A function of the request may stand in its
place.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from germane_testing.provider.fields import Body, listed, mapping
from germane_testing.provider.received import Asked, OfferedTool

__all__ = [
    "DROP",
    "HANG",
    "Delivery",
    "Failure",
    "NoAnswer",
    "Part",
    "Refusal",
    "Reply",
    "Rule",
    "Step",
    "Text",
    "Thinking",
    "ToolCall",
    "Usage",
    "Verbatim",
    "answers",
    "arguments_for",
    "calls_tools",
    "echoes",
    "too_long",
]


@dataclass(frozen=True, slots=True)
class Text:
    text: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """The model's own refusal, in its words."""

    text: str


@dataclass(frozen=True, slots=True)
class Thinking:
    """Reasoning that the provider signs or encrypts. With `redacted` the client gets no text. Chat completions leave it out."""

    text: str = "Thinking…"
    redacted: bool = False


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of the client's tool. `arguments` may be a text, so that it can be broken JSON; without `id` the provider makes
    one."""

    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict)
    id: str = ""

    @property
    def written(self) -> str:
        """The arguments as the text that OpenAI's protocols send."""
        return self.arguments if isinstance(self.arguments, str) else json.dumps(dict(self.arguments), ensure_ascii=False)


Part: TypeAlias = Text | Refusal | Thinking | ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens to report in the place of those that the provider counts: `input` includes `cached`."""

    input: int
    output: int
    cached: int = 0


@dataclass(frozen=True, slots=True)
class Failure:
    """An error in the provider's own shape. With `body` these bytes are sent in the place of that shape."""

    status: int = 500
    message: str = "Something went wrong."
    code: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class Verbatim:
    """An answer of these bytes: garbage, a page of a gateway, a redirect (with the header `location`)."""

    body: bytes | str = b""
    status: int = 200
    headers: tuple[tuple[str, str], ...] = (("content-type", "application/json"),)


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """The request is taken and not answered: the connection stays open until the client or the provider ends it, or is
    closed."""

    closes: bool


HANG: Final = NoAnswer(closes=False)
DROP: Final = NoAnswer(closes=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """How an answer is sent.

    `characters` of text are in one event of a stream. `writes` are the sizes in bytes of the writes to the connection, used in
    turn, wherever they cut a character or a line; without them each event is a write. `wait` seconds pass before the headers,
    and `pause` between two writes, by the provider's `sleep`. `encoding` is used where the client accepts it. `comments`,
    `crlf` and `unknown_events` are what a reader of events has to skip or bear. After `after` bytes an answer that `ends` with
    a cut stops and its connection closes; one that ends with a stall stops and the connection stays open. `error` is sent in
    the stream after `error_after` events, and ends it.
    """

    characters: int = 16
    writes: tuple[int, ...] = ()
    wait: float = 0.0
    pause: float = 0.0
    encoding: Literal["", "gzip", "deflate"] = ""
    comments: bool = False
    crlf: bool = False
    unknown_events: bool = False
    ends: Literal["whole", "cut", "stall"] = "whole"
    after: int = 0
    error: Failure | None = None
    error_after: int = 2


class Reply:
    """A reply of the model: its parts in order, given as values or texts.

    `stop` is why the model stopped: by default "tools" where a tool is called, "refusal" for a refusal, else "end"; "length"
    and "filter" are the others. `others` are the choices of a chat request with `n` above 1, which gets the first one again
    where there are too few. `headers` are added to the answer, duplicates included. `changes` are laid over the answer's JSON
    object (not over the events of a stream).
    """

    __slots__ = ("changes", "delivery", "headers", "model", "others", "parts", "stop", "usage")

    def __init__(
        self,
        *parts: Part | str,
        stop: Literal["", "end", "tools", "refusal", "length", "filter"] = "",
        others: tuple[Reply, ...] = (),
        usage: Usage | None = None,
        model: str = "",
        headers: tuple[tuple[str, str], ...] = (),
        delivery: Delivery = Delivery(),
        changes: Mapping[str, Any] | None = None,
    ) -> None:
        self.parts: tuple[Part, ...] = tuple(Text(part) if isinstance(part, str) else part for part in parts)
        kinds = {type(part) for part in self.parts}
        self.stop = stop or ("tools" if ToolCall in kinds else "refusal" if Refusal in kinds else "end")
        self.others, self.usage, self.model = others, usage, model
        self.headers, self.delivery, self.changes = headers, delivery, dict(changes or {})

    @property
    def size(self) -> int:
        """The bytes that the model wrote, for the count of output tokens."""
        return sum(len((part.written if isinstance(part, ToolCall) else part.text).encode()) for part in self.parts)


Chosen: TypeAlias = str | Reply | Failure | Verbatim | NoAnswer
Rule: TypeAlias = Callable[[Asked], Chosen]
Step: TypeAlias = Chosen | Rule


def answers(text: str, **options: Any) -> Rule:
    """A rule that says `text`. Where the request forces a tool, that tool is called with `text`, a JSON object, as its
    arguments. `options` are those of `Reply`."""

    def rule(asked: Asked) -> Chosen:
        if asked.forced is not None and asked.tools:
            return Reply(ToolCall(asked.forced or asked.tools[0].name, text), **options)
        return Reply(text, **options)

    return rule


def echoes(asked: Asked) -> Chosen:
    """The rule of a provider without another: calls the first tool once where tools are given and no result stands in the
    request, with thinking in front; else it says the end of the newest words of the user."""
    if asked.tools and (asked.forced is not None or not asked.has_results):
        return Reply(Thinking(), _call(asked))
    return Reply(f"You said: {asked.text[-200:]}")


def calls_tools(text: str = "Done.", *, parallel: int = 1, each_turn: bool = False, thinking: bool = True) -> Rule:
    """A rule that calls the first tool `parallel` times at once, and says `text` when it has the results.

    It calls where no result stands in the request, or with `each_turn` after each message of the user. With `thinking`,
    thinking stands in front of both."""

    def rule(asked: Asked) -> Chosen:
        head: tuple[Part, ...] = (Thinking(),) if thinking else ()
        waits = asked.answers_tools if each_turn else asked.has_results
        if not asked.tools or waits:
            return Reply(*head, text)
        return Reply(*head, *(_call(asked) for _ in range(parallel)))

    return rule


def too_long(asked: Asked) -> Chosen:
    """A step that refuses the prompt as longer than the model's window, in the words of the request's provider."""
    if asked.protocol == "messages":
        return Failure(400, "prompt is too long: 5000 tokens > 4096 maximum")
    if asked.protocol == "gemini":
        return Failure(400, "The input token count (5000) exceeds the maximum number of tokens allowed (4096).")
    said = "This model's maximum context length is 4096 tokens. However, your messages resulted in 5000 tokens."
    return Failure(400, said, "context_length_exceeded")


def _call(asked: Asked) -> ToolCall:
    tool = next((one for one in asked.tools if one.name == asked.forced), asked.tools[0])
    return ToolCall(tool.name, "text" if tool.custom else arguments_for(tool))


def arguments_for(tool: OfferedTool) -> Body:
    """Returns the least arguments that the tool's schema requires: the first value of an enumeration, an empty object, …"""
    properties = mapping(tool.schema.get("properties"))
    required = tool.schema.get("required")
    return {name: _least(mapping(properties.get(name))) for name in required} if isinstance(required, list) else {}


def _least(schema: Body, depth: int = 0) -> Any:
    if "const" in schema:
        return schema["const"]
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        return schema["enum"][0]
    if listed(schema.get("anyOf")) and depth < 9:
        return _least(listed(schema["anyOf"])[0], depth + 1)
    kind = schema.get("type")
    if kind == "object" and depth < 9:
        properties = mapping(schema.get("properties"))
        return {str(name): _least(mapping(properties.get(name)), depth + 1) for name in schema.get("required") or ()}
    least: dict[str, Any] = {"integer": 0, "number": 0, "boolean": False, "array": [], "null": None, "object": {}}
    return least.get(kind, "text") if isinstance(kind, str) else "text"
