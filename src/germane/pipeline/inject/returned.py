"""Returned: takes germane's own text out of a request whose caller keeps `context.messages` as its history (INJECT-6).

The text is recognised by the session's nonce. Otherwise it would stand in the prompt twice: as the caller's, and as the text
that stays at its turn. What is the caller's own stays: its system text beside germane's, a human's words that quote germane's,
and the text of another session, which nothing puts back. What was taken out is known by its turn: where a model binds its
thinking, it stands again if the records can't be read (INJECT-10).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from germane.dialects.authored import cut_dict, cut_message
from germane.dialects.envelope import mapping
from germane.dialects.registry import parse_all
from germane.text.injected import system_words
from germane.types.message import Message, is_human
from germane.types.request import Request

__all__ = ["Returned", "without_returned"]


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
