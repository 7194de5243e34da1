"""Inject: puts germane's text into the caller's messages, and takes it out when it comes back.

Pure; never changes the caller's dicts. The result is in the shape of the request's provider. A dict that is already in the
target provider's shape is passed on as the same object. In three cases it is copied or rewritten, because the provider would
refuse the original (INJECT-4):

- germane's own keys (`id`, `created_at`, and `name` where the provider has none or another form) are removed;
- a tool call without its result, or a result without its call, is written as text;
- empty parts and messages are removed for providers that refuse them.

`Message` values and dicts in another provider's shape are always rewritten.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Any

from germane.dialects.dialect import OutgoingMessage
from germane.dialects.edits import cut_dict, cut_message
from germane.dialects.fields import mapping
from germane.dialects.registry import apart, dialect, outgoing, parse_all, plain_to_send
from germane.text.injected import system_words
from germane.types.message import Message, Wire, is_human, leading_system
from germane.types.request import Request
from germane.types.strategy import Placement

# Where in the conversation germane's text stands (INJECT-1, INJECT-2, INJECT-9). `first` puts all text into a system
# message before all others. `split` puts the stable text there, so that the provider's prompt cache can reuse the
# prefix, and the text that changes with the query, in the user's role, directly before the human's last words. `append`
# does the same, and puts the texts of earlier calls back where they stood, before the human turn that each was injected
# for (INJECT-6). The text never stands between a tool call and its result, because a human's turn never does.


NO_TEXTS: Mapping[int, str] = MappingProxyType({})


def place_texts(
    turns: Sequence[OutgoingMessage],
    stable: str,
    late: str,
    placement: Placement,
    earlier: Mapping[int, str] = NO_TEXTS,
) -> tuple[str, list[OutgoingMessage]]:
    """The text that stands first, and the turns with all text placed; `earlier` holds texts by the index of their turn. Where
    no human turn exists, late text is a user's message of its own, behind the system messages at the start; with `first` it
    joins the stable text."""
    out = list(turns)
    for index, text in earlier.items():
        out[index] = replace(out[index], late=text)
    if placement == "first":
        stable = "\n\n".join(filter(None, (stable, late)))
    elif late and (newest := last_human([turn.message for turn in turns])) is not None:
        out[newest] = replace(out[newest], late=late)
    elif late:
        lead = leading_system(turn.message for turn in turns)
        out.insert(lead, OutgoingMessage(message=Message.of("user", late)))
    if placement == "append" and (texts := [index for index, turn in enumerate(out) if turn.late]):
        out[texts[-1]] = replace(out[texts[-1]], late_pinned=True)
    if stable:
        alone = placement == "first"
        out.insert(0, OutgoingMessage(message=Message.of("system", stable), pinned=not alone, changing=alone))
    return stable, out


def last_human(messages: Sequence[Message]) -> int | None:
    """Index of the last user message with more than tool results; None if there is none."""
    for index in range(len(messages) - 1, -1, -1):
        if is_human(messages[index]):
            return index
    return None


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
    earlier: Mapping[int, str] = NO_TEXTS,
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
    convert = partial(_convert, request, "", "", "first", NO_TEXTS)
    return Injected(messages=messages, system=system, added="", convert=convert, convert_turns=convert)


def _convert(request: Request, stable: str, late: str, placement: Placement, earlier: Mapping[int, str], provider: str) -> Wire:
    """The messages with germane's text in the shape of `provider`; they aren't rewritten where they have that shape already."""
    target = dialect(provider)
    if not earlier and (placement == "first" or not late) and (unchanged := plain_to_send(request.raw, provider)) is not None:
        own = target.compose(place_texts([], stable, late, placement)[1])
        return replace(own, messages=own.messages + unchanged)
    turns = [outgoing(message, raw, provider) for message, raw in zip(request.messages, request.raw, strict=True)]
    if request.mid_system:
        turns = _pinned_system(turns)
    return target.compose(place_texts(turns, stable, late, placement, earlier)[1], request.tools)


def _pinned_system(turns: Sequence[OutgoingMessage]) -> list[OutgoingMessage]:
    """The turns, with each system message behind the first other message marked as staying where it is."""
    first = leading_system(turn.message for turn in turns)
    middle = (replace(turn, in_place=turn.message.role == "system") for turn in turns[first:])
    return [*turns[:first], *middle]


# A caller may keep `context.messages` as its history; germane's own text is then taken out of the next request
# (INJECT-6). The text is recognised by the session's nonce. Otherwise it would stand in the prompt twice: as the
# caller's, and as the text that stays at its turn. What is the caller's own stays: its system text beside germane's, a
# human's words that quote germane's, and the text of another session, which nothing puts back. What was taken out is
# known by its turn: if a model binds its thinking, the text stands again if the records can't be read (INJECT-10).


@dataclass(frozen=True, slots=True)
class Returned:
    """The request without germane's text. `stable` is what stood in its system text, and `texts` what stood at its human turns,
    by the index of their messages in `request`."""

    request: Request
    stable: str = ""
    texts: Mapping[int, str] = field(default_factory=dict)


def without_returned(request: Request, nonce: str) -> Returned:
    """Takes germane's text out of the request, which stays the same object where it holds none."""
    mark = f'nonce="{nonce}"'
    if not any(_holds(message, mark) for message in request.messages):
        return Returned(request)
    stable, taken = list[str](), list[str]()

    def cut(text: str, system: bool, last: bool) -> str:
        """A user's last text is the human's, unless germane's is all that stands in it; another one with the nonce is germane's
        as a whole."""
        if mark not in text:
            return text
        beside = system_words(text, nonce)
        if system:
            stable.append(text.removesuffix(beside).strip("\n"))
            return beside
        if last and beside:
            return text
        taken.append(text)
        return ""

    raws: list[Mapping[str, Any] | Message] = []
    messages: list[Message] = []
    texts = dict[int, str]()
    for raw, message in zip(request.raw, request.messages, strict=True):
        kept: Mapping[str, Any] | Message | None = raw
        before = len(messages)
        if _holds(message, mark):
            fields = None if isinstance(raw, Message) else mapping(raw)
            kept = cut_message(message, cut) if fields is None else cut_dict(fields, cut, system=message.role == "system")
        if kept is raw:
            raws.append(raw)
            messages.append(message)
        elif kept is not None:
            raws.append(kept)
            messages += parse_all([kept], request.provider)
        if taken and (human := next((n for n in range(before, len(messages)) if is_human(messages[n])), None)) is not None:
            texts[human] = "\n\n".join(taken)
            taken.clear()
    return Returned(replace(request, raw=tuple(raws), messages=tuple(messages)), "\n\n".join(filter(None, stable)), texts)


def _holds(message: Message, mark: str) -> bool:
    return message.role in ("system", "user") and mark in message.content
