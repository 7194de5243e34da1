"""Dialect: the protocol every provider's message format fulfils, the message to send, and the faults of a request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol

from germane.types.message import Message, Wire


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingMessage:
    """A message to send, with the caller's own dict where the provider accepts that dict as it is.

    `native` is that dict, already in the provider's shape; None where `message` has to be written in the provider's shape.
    `late` is germane's text that goes in front of the human's words in this message (INJECT-2). `pinned` marks the end of the
    stable prefix, where a provider with explicit prompt caching gets its cache mark. `late_pinned` marks the newest `late` that
    stays where it is in later requests: its end gets a cache mark too. `changing` marks germane's system text that differs from
    request to request: it goes behind the caller's own cache marks. `in_place` marks a system message that the model takes
    where it stands, in the middle. `behind_results` says that results of tools were taken away that stood before it: calls that
    are made from it on are other ones than those before. `joins` says that it belongs to the message before: both are the
    assistant's, and between a call and its result.
    """

    message: Message
    native: Mapping[str, Any] | None = field(default=None, hash=False)
    late: str = ""
    pinned: bool = False
    changing: bool = False
    in_place: bool = False
    late_pinned: bool = False
    behind_results: bool = False
    joins: bool = False


class Dialect(Protocol):
    """Reads and writes one provider's messages. Each provider has one module; no other code knows the provider's shapes."""

    name: str

    def speaks(self, raw: Mapping[str, Any]) -> bool:
        """Returns whether `raw` holds a part or a field that only this dialect has."""

    def parse(self, raw: Mapping[str, Any]) -> Message:
        """Reads one message. Raises `InvalidInput` naming the part or field that can't be read."""

    def native(self, raw: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Returns `raw` in a form that the provider accepts without rewriting, or None where the message must be rewritten.

        The result is `raw` itself where possible, else a copy without germane's own keys (`id`, `created_at`, and `name` where
        the provider has no such key) and without empty parts.
        """

    def mask(self, raw: Mapping[str, Any], lines: Mapping[int, str]) -> Mapping[str, Any]:
        """Returns a copy of the message in which the tool results with these numbers hold only their line (HIST-5).

        Results are numbered from 0 in the order of `Message.tool_results` of the parsed message. Ids, names, error flags, cache
        marks and all other parts stay, and images and documents inside a masked result go. A result that the provider takes in
        no other form than an image, such as a screenshot of OpenAI's computer tool, stays as it is. `raw` isn't changed; it is
        returned itself where nothing is masked. The copy is a valid native where `raw` is one.
        """

    def render(self, messages: Sequence[Message]) -> Wire:
        """Writes messages in this provider's shape. The result is valid for the provider, whatever was cut before
        (INJECT-4)."""

    def compose(self, turns: Sequence[OutgoingMessage], tools: Sequence[Mapping[str, Any]] = ()) -> Wire:
        """As `render`, for messages that may carry the caller's own dicts, which are sent unchanged wherever possible."""

    def faults(self, wire: Wire) -> tuple[Fault, ...]:
        """Returns the reasons for which the provider's API would refuse `wire`, each with its rule; empty when it is valid."""

    def problems(self, wire: Wire) -> tuple[str, ...]:
        """Returns the sentences of `faults`."""


# A fault keeps its rule's name, whatever its text says.


@dataclass(frozen=True, slots=True)
class Fault:
    """`rule` is a key of `RULES`. `index` is that of the message (turn, item); None where the fault is the whole request's.
    `text` is a sentence for a person; it names the message."""

    rule: str
    index: int | None
    text: str


RULES: Mapping[str, str] = MappingProxyType(
    {
        "arguments": "A call's arguments and a result are of the type that the API takes.",
        "cache-marks": "A request has at most four cache marks.",
        "call-id": "A call's id is of the form and length that the API takes, and a result names one that there is.",
        "call-name": "A tool's name is of the form that the API takes.",
        "call-place": "Only the model's messages hold calls.",
        "call-without-result": "Each call is followed by its result where the API looks for it; parallel calls by all.",
        "content-type": "Content is text or a list of parts.",
        "duplicate-call-id": "No two calls have one id.",
        "duplicate-item-id": "No two items have one id.",
        "empty-text": "No text is empty.",
        "first-turn": "The user speaks first.",
        "item-field": "An item has the fields that its type demands.",
        "item-type": "An item has a type or a role.",
        "key": "A message has no keys but those of the API.",
        "name": "A speaker's name is of the form that the API takes.",
        "no-calls": "A list of calls isn't empty.",
        "no-content": "A message has content.",
        "no-messages": "There is a message.",
        "part-shape": "A part has the fields that its type demands.",
        "part-type": "A part is of a type that may stand in a message of this role.",
        "reasoning-alone": "Reasoning is followed by what came of it.",
        "result-order": "Results stand before all other parts of their message.",
        "result-without-call": "Each result stands behind its call.",
        "role": "A message has a role that the API knows.",
        "server-pair": "A call of the provider's own tools has its result in the same turn, unless the last turn is paused.",
        "signature-missing": "In the current turn each step's first call has its signature.",
        "system-empty": "The system prompt isn't empty.",
        "system-part": "A system prompt or message holds text only.",
        "system-place": "A system message stands where the API takes it.",
        "thinking-last": "The assistant's turn doesn't end in thinking.",
        "trailing-space": "The assistant's last words don't end in white space.",
    }
)
"""All rules, by name, as a sentence that a valid request fulfils. Each API has some of them."""
