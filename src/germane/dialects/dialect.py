"""Dialect: the protocol every provider's message format fulfils, and the message that is handed to it for sending."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from germane.dialects.fault import Fault
from germane.types.message import Message, Wire

__all__ = ["Dialect", "OutgoingMessage"]


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
