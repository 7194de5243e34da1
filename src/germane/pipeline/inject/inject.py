"""Inject: germane's text into the caller's messages, shaped for the provider. Pure; the caller's dicts are never changed.

What travels untouched: a dict already in the target provider's shape goes out as the very same object. Three exceptions,
each a copy or a rewriting that the provider would refuse the original without (INJECT-4):
germane's own keys (`id`, `created_at`, and `name` where the provider has none or not in this form) are left out;
tool calls and results that have lost their other half are closed as text; for providers that take none, empty parts and
messages are left out. `Message` values and dicts in another provider's shape are written anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from germane.dialects.dialect import OutgoingMessage
from germane.dialects.envelope import mapping
from germane.dialects.plain import sent
from germane.dialects.registry import dialect, dialect_of
from germane.pipeline.inject.placement import place
from germane.types.message import Message, Wire
from germane.types.request import Request
from germane.types.strategy import Placement

__all__ = ["Injected", "inject", "untouched"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Injected:
    """`messages` and `system` in the request's provider's shape (INJECT-2a): for OpenAI `system` is the text of the first
    message, for the others germane's text and then the caller's own. `added` is all the text germane added; `convert`
    gives the same conversation for any provider by name, and raises `UnknownName` for one there isn't."""

    messages: list[Mapping[str, Any] | Message]
    system: str | list[dict[str, Any]] | None
    added: str
    convert: Callable[[str], Wire] = field(repr=False, compare=False)


def inject(request: Request, stable: str, late: str = "", *, placement: Placement = "first") -> Injected:
    """The request's messages with `stable` first and `late` where `placement` wants it. Both empty: nothing is added, no
    empty system message, and dicts in the provider's shape come back as they are."""
    convert = partial(_convert, request, stable, late, placement)
    wire = convert(request.provider)
    system = wire.system
    if system is None and stable and wire.messages:
        system = wire.messages[0]["content"]
    return Injected(
        messages=list(wire.messages), system=system, added="\n\n".join(filter(None, (stable, late))), convert=convert
    )


def untouched(request: Request) -> Injected:
    """The request's messages as they came, not even looked at: for when they can't be written anew."""
    return Injected(messages=list(request.raw), system=None, added="", convert=partial(_convert, request, "", "", "first"))


def _convert(request: Request, stable: str, late: str, placement: Placement, provider: str) -> Wire:
    target = dialect(provider)
    if (placement == "first" or not late) and (theirs := sent(request.raw, provider)) is not None:
        own = target.compose(place([], stable, late, placement)[1])
        return replace(own, messages=own.messages + theirs)
    turns = [_turn(message, raw, provider) for message, raw in zip(request.messages, request.raw, strict=True)]
    return target.compose(place(turns, stable, late, placement)[1], request.tools)


def _turn(message: Message, raw: Mapping[str, Any] | Message, provider: str) -> OutgoingMessage:
    fields = None if isinstance(raw, Message) else mapping(raw)
    if fields is None or (spoken := dialect_of(fields, provider)).name != provider:
        return OutgoingMessage(message=message)
    return OutgoingMessage(message=message, native=spoken.native(fields))
