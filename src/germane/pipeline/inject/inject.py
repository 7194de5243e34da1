"""Inject: puts germane's text into the caller's messages, in the provider's shape. Pure; never changes the caller's dicts.

A dict that is already in the target provider's shape is passed on as the same object. In three cases it is copied or rewritten,
because the provider would refuse the original (INJECT-4):

- germane's own keys (`id`, `created_at`, and `name` where the provider has none or another form) are removed;
- a tool call without its result, or a result without its call, is written as text;
- empty parts and messages are removed for providers that refuse them.

`Message` values and dicts in another provider's shape are always rewritten.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from germane.dialects.dialect import OutgoingMessage
from germane.dialects.plain import sent
from germane.dialects.registry import dialect, outgoing
from germane.dialects.system_prompt import apart
from germane.pipeline.inject.placement import NOTHING_EARLIER, place
from germane.types.message import Message, Wire
from germane.types.request import Request
from germane.types.strategy import Placement

__all__ = ["Injected", "inject", "untouched"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Injected:
    """The result: `messages` and `system` in the shape of the request's provider (INJECT-2a). For OpenAI `system` is the text
    of the first message; for the others it is germane's text followed by the caller's own. `added` is all the text that
    germane added. `convert` returns the same conversation for any provider by name; it raises `UnknownName` for an unknown
    one."""

    messages: list[Mapping[str, Any] | Message]
    system: str | list[dict[str, Any]] | None
    added: str
    convert: Callable[[str], Wire] = field(repr=False, compare=False)
    convert_turns: Callable[[str], Wire] = field(repr=False, compare=False)
    """As `convert`, without the text that stands first."""


def inject(
    request: Request,
    stable: str,
    late: str = "",
    *,
    placement: Placement = "first",
    earlier: Mapping[int, str] = NOTHING_EARLIER,
) -> Injected:
    """The request's messages with germane's text: `stable` first, `late` where `placement` puts it, and each text of `earlier`
    at the human turn with its index. When all are empty nothing is added, not even an empty system message, and dicts in the
    provider's shape stay the same objects."""
    convert = partial(_convert, request, stable, late, placement, earlier)
    wire = convert(request.provider)
    system = wire.system
    if system is None and stable and wire.messages:
        system = wire.messages[0]["content"]
    return Injected(
        messages=list(wire.messages),
        system=system,
        added="\n\n".join(filter(None, (stable, *earlier.values(), late))),
        convert=convert,
        convert_turns=partial(_convert, request, "", late, placement, earlier),
    )


def untouched(request: Request) -> Injected:
    """The request's messages as they came, not even parsed: for requests whose messages can't be rewritten. The caller's
    `system=` goes back as it came too, or as a text where it has another provider's shape."""
    messages, system = list(request.raw), None
    if request.has_system and isinstance(own := messages[0], Mapping) and (system := apart(own, request.provider)):
        del messages[0]
    convert = partial(_convert, request, "", "", "first", NOTHING_EARLIER)
    return Injected(messages=messages, system=system, added="", convert=convert, convert_turns=convert)


def _convert(request: Request, stable: str, late: str, placement: Placement, earlier: Mapping[int, str], provider: str) -> Wire:
    """The messages with germane's text in the shape of `provider`; they aren't rewritten where they have that shape already."""
    target = dialect(provider)
    if not earlier and (placement == "first" or not late) and (unchanged := sent(request.raw, provider)) is not None:
        own = target.compose(place([], stable, late, placement)[1])
        return replace(own, messages=own.messages + unchanged)
    turns = [outgoing(message, raw, provider) for message, raw in zip(request.messages, request.raw, strict=True)]
    if request.mid_system:
        turns = _in_place(turns)
    return target.compose(place(turns, stable, late, placement, earlier)[1], request.tools)


def _in_place(turns: Sequence[OutgoingMessage]) -> list[OutgoingMessage]:
    """The turns, with each system message behind the first other message marked as staying where it is."""
    first = next((index for index, turn in enumerate(turns) if turn.message.role != "system"), len(turns))
    middle = (replace(turn, in_place=turn.message.role == "system") for turn in turns[first:])
    return [*turns[:first], *middle]
