"""Read: a request's question and everything that can be read out of it. What needs I/O is left to gathering (SIG-0)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from germane.pipeline.signals.asks import asks_name, asks_when
from germane.pipeline.signals.excerpt import excerpt
from germane.pipeline.signals.identifiers import identifiers
from germane.pipeline.signals.intent import EVENT_TYPES, intent
from germane.pipeline.signals.keywords import follow_up, keywords
from germane.pipeline.signals.mentions import mentions
from germane.pipeline.signals.phrases import phrases
from germane.pipeline.signals.times import times, today
from germane.types.message import Message
from germane.types.query import Intent, Query
from germane.types.request import Request

__all__ = ["read"]

_ASKED = 800  # characters that tell what kind of answer is wanted


def read(request: Request, *, event_types: Mapping[Intent, Sequence[str]] = EVENT_TYPES) -> Query:
    """The query of a request: `request.query`, else the last user message that says anything. Never fails on any text.

    A very short message borrows a few terms from the two turns before it; `text` stays the question itself, cut to its
    beginning and end where it is very long. `event_types` maps an intent to the types that matter to it (SIG-2).
    """
    question, earlier = _question(request)
    text = excerpt(question)
    names = mentions(text)
    asked = excerpt(question, _ASKED)
    meaning = intent(asked)
    return Query(
        text=text,
        at=request.at,
        terms=follow_up(text, keywords(text), [excerpt(turn) for turn in earlier]),
        phrases=phrases(text),
        identifiers=identifiers(text),
        names=names,
        days=times(text, today(request.at, request.scope.zone)),
        zone=request.scope.zone,
        intent=meaning,
        event_types=tuple(event_types.get(meaning, ())),
        asks_when=asks_when(asked),
        asks_name=asks_name(asked),
        filters=request.filters,
    )


def _question(request: Request) -> tuple[str, list[str]]:
    """The question, and the texts of at most one user and one assistant turn before it, the user's first."""
    if request.query is not None:
        return request.query, []
    for place in range(len(request.messages) - 1, -1, -1):
        message = request.messages[place]
        if message.role == "user" and message.text.strip():
            return message.text, _earlier(request.messages[:place])
    return "", []


def _earlier(messages: Sequence[Message]) -> list[str]:
    found: dict[str, str] = {}
    for message in messages[:-9:-1]:
        if message.role in ("user", "assistant") and message.role not in found and message.text.strip():
            found[message.role] = message.text
    return [found[role] for role in ("user", "assistant") if role in found]
