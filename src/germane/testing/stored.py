"""Stored: builders of what a store keeps, and plans that just write or just read, for tests."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from germane.events.event import Event
from germane.memories.memory import KINDS, Memory
from germane.text.analyse import analyse
from germane.text.normal import content_hash
from germane.types.ids import uuid7
from germane.types.plan import Change, Decision, Plan, Read, read
from germane.types.query import Filters, Query, Term, Vector

__all__ = ["NOON", "a_memory", "an_event", "asking", "question", "writing"]

T = TypeVar("T")
NOON = datetime(2026, 3, 2, 12, 0, 0, 123457, tzinfo=UTC)
"""When everything here happens, unless said otherwise."""
_MAIN = {"fact": "value", "preference": "text", "procedure": "body", "behavior": "text", "episode": "summary", "note": "body"}


def a_memory(text: str = "Prefers tea to coffee", kind: str = "note", *, key: str = "drink", **fields: Any) -> Memory:
    """A memory of this kind; a fact's `key` is `drink` unless given."""
    words: dict[str, Any] = {_MAIN[kind]: text} | ({"key": key} if kind == "fact" else {})
    content = KINDS[kind](**words)
    made: datetime = fields.get("created_at", NOON)
    given = {
        "id": uuid7(int(made.timestamp() * 1000)),
        "user": None,
        "created_at": made,
        "updated_at": made,
        "valid_from": made,
        "content_hash": content_hash(kind, text),
    }
    return Memory(kind=kind, content=content, **given | fields)


def an_event(text: str = "I went to Lisbon", *, session: str = "s1", position: int = 0, **fields: Any) -> Event:
    """A user's message."""
    said: datetime = fields.get("created_at", NOON + timedelta(seconds=position))
    given = {
        "id": uuid7(int(said.timestamp() * 1000)),
        "type": "user_message",
        "user": None,
        "created_at": said,
        "recorded_at": said,
        "role": "user",
        "content_hash": content_hash("user", text),
    }
    return Event(session=session, position=position, text=text, **given | fields)


def writing(*changes: Change) -> Plan[None]:
    """A plan that writes these and reads nothing."""
    yield from ()
    return Decision(changes, None)


def asking(question: Read[T]) -> Plan[T]:
    """A plan that answers one read and writes nothing."""
    found = yield from read(question)
    return Decision((), found)


def question(text: str, *, vector: Vector | None = None, at: datetime = NOON + timedelta(days=1), **filters: Any) -> Query:
    """A query of these words, without anything else read out of them."""
    terms = tuple(Term(stem, (stem,)) for stem in dict.fromkeys(analyse(text)))
    return Query(text=text, at=at, terms=terms, vector=vector, filters=Filters(**filters))
