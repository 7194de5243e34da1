"""Read: turns a request into a query: the question, and every signal found in its words (SIG-0)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from germane.pipeline.signals.asks import asks_name, asks_overview, asks_when
from germane.pipeline.signals.asks_day import asked_day
from germane.pipeline.signals.identifiers import identifiers, phrases
from germane.pipeline.signals.intent import EVENT_TYPES, intent
from germane.pipeline.signals.keywords import follow_up, keywords
from germane.pipeline.signals.mentions import mentions
from germane.pipeline.signals.personal import is_personal
from germane.text.days.times import named_days, today
from germane.text.traits import is_question, word_count
from germane.types.message import Message
from germane.types.query import Intent, Query
from germane.types.request import Request

__all__ = ["excerpt", "read"]

_MAX_CHARS = 2_400
"""Characters of a question that are looked at."""
_MAX_ASKED = 800
"""Characters of a question that are looked at to tell what kind of answer it wants."""
_MAX_WORD = 40
"""Characters within which a cut is moved to the next space."""


def read(request: Request, *, event_types: Mapping[Intent, Sequence[str]] = EVENT_TYPES) -> Query:
    """The query of a request: `request.query`, otherwise the last user message that has text. No text makes it raise.

    A very short message borrows a few terms from the two turns before it. The query's `text` is the question itself, cut to its
    beginning and end where it is very long. `event_types` maps an intent to the event types that matter to it (SIG-2).
    """
    question, earlier = _question(request)
    text = excerpt(question)
    names = mentions(text)
    asked = excerpt(question, _MAX_ASKED)
    meaning = intent(asked)
    words = word_count(text)
    own = keywords(text)
    day = today(request.at, request.scope.zone)
    named = named_days(text, day)
    terms = follow_up(text, own, [excerpt(turn) for turn in earlier])
    return Query(
        text=text,
        at=request.at,
        dated=request.dated,
        terms=terms,
        borrowed=len(terms) - len(own),
        words=words,
        broad=asks_overview(asked, words),
        question=is_question(asked),
        personal=is_personal(asked),
        phrases=phrases(text),
        identifiers=identifiers(text),
        names=names,
        days=tuple(dict.fromkeys(one.days for one in named)),
        zone=request.scope.zone,
        asked_day=asked_day(text, named, day, words),
        intent=meaning,
        event_types=tuple(event_types.get(meaning, ())),
        asks_when=asks_when(asked),
        asks_name=asks_name(asked),
        filters=request.filters,
    )


def _question(request: Request) -> tuple[str, list[str]]:
    """The question, and the texts of at most one user turn and one assistant turn before it, the user's first."""
    if request.query is not None:
        return request.query, []
    for index in range(len(request.messages) - 1, -1, -1):
        message = request.messages[index]
        if message.role == "user" and message.text.strip():
            return message.text, _earlier(request.messages[:index])
    return "", []


def _earlier(messages: Sequence[Message]) -> list[str]:
    found: dict[str, str] = {}
    for message in messages[:-9:-1]:
        if message.role in ("user", "assistant") and message.role not in found and message.text.strip():
            found[message.role] = message.text
    return [found[role] for role in ("user", "assistant") if role in found]


def excerpt(text: str, limit: int = _MAX_CHARS) -> str:
    """`text` itself up to `limit` characters, otherwise its beginning and end, cut between words (SIG-3): long requests ask at
    one end, the middle is pasted text. Lone surrogates become U+FFFD."""
    if len(text) > limit:
        tail = limit * 2 // 5
        text = f"{_head(text[: limit - tail])}\n{_tail(text[-tail:])}"
    text = text.strip()
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _head(text: str) -> str:
    cut = max(text.rfind(" ", len(text) - _MAX_WORD), text.rfind("\n", len(text) - _MAX_WORD))
    return text[:cut] if cut > 0 else text


def _tail(text: str) -> str:
    cut = min((index for index in (text.find(" ", 0, _MAX_WORD), text.find("\n", 0, _MAX_WORD)) if index >= 0), default=-1)
    return text[cut + 1 :]
