"""Stored: builders of what stores keep and of queries, and plans that only write or only read, for tests of stores."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from germane.blocks.block import Block, content_hash_of
from germane.blocks.entry import ArchivalEntry
from germane.blocks.operations import BlocksNamed
from germane.blocks.schema import TextSchema
from germane.compaction.archive import ArchiveEntry, handle_of
from germane.compaction.kept_history import KeptEntry, KeptSummary
from germane.compaction.summary import SpanSummary
from germane.events.event import Event
from germane.memories.memory import KINDS, Memory
from germane.text.analyse import analyse
from germane.text.normal import content_hash
from germane.types.ids import uuid7
from germane.types.plan import Change, Decision, Plan, Read, read
from germane.types.query import Filters, Query, Term, Vector

__all__ = [
    "NOON",
    "a_block",
    "a_memory",
    "a_summary",
    "an_archived",
    "an_entry",
    "an_event",
    "asking",
    "editing",
    "question",
    "writing",
]

T = TypeVar("T")
NOON = datetime(2026, 3, 2, 12, 0, 0, 123457, tzinfo=UTC)
"""The default time of everything built here, with microseconds."""
_MAIN = {"fact": "value", "preference": "text", "procedure": "body", "behavior": "text", "episode": "summary", "note": "body"}


def a_memory(text: str = "Prefers tea to coffee", kind: str = "note", *, key: str = "drink", **fields: Any) -> Memory:
    """A memory of this kind with `text` as its main field; `key` counts only for a fact. `fields` are fields of `Memory`."""
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


def a_block(label: str = "persona", text: str = "I am calm", **fields: Any) -> Block:
    """A block of plain text with defaults. `fields` are fields of `Block`."""
    made: datetime = fields.get("created_at", NOON)
    given: dict[str, Any] = {
        "id": uuid7(int(made.timestamp() * 1000)),
        "label": label,
        "schema": TextSchema(),
        "agent": "default",
        "text": text,
        "content_hash": content_hash_of(text),
        "created_at": made,
        "updated_at": made,
    }
    return Block(**given | fields)


def an_entry(text: str = "The tank holds ninety litres", **fields: Any) -> ArchivalEntry:
    """An archival entry with defaults."""
    made: datetime = fields.get("created_at", NOON)
    given: dict[str, Any] = {"id": uuid7(int(made.timestamp() * 1000)), "text": text, "created_at": made}
    return ArchivalEntry(**given | fields)


def editing(name: str, *changes: Change) -> Plan[None]:
    """A plan that finds a block by its label or id, and then makes `changes`."""
    yield from read(BlocksNamed(name))
    return Decision(changes, None)


def an_event(text: str = "I went to Lisbon", *, session: str = "s1", position: int = 0, **fields: Any) -> Event:
    """The event of a user's message, `position` seconds after `NOON`. `fields` are fields of `Event`."""
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
    """A plan that makes `changes` and reads nothing."""
    yield from ()
    return Decision(changes, None)


def asking(question: Read[T]) -> Plan[T]:
    """A plan that returns the result of one read and changes nothing."""
    found = yield from read(question)
    return Decision((), found)


def question(text: str, *, vector: Vector | None = None, at: datetime = NOON + timedelta(days=1), **filters: Any) -> Query:
    """A query with the terms of `text`, and without the other signals that the engine extracts. `filters` are fields of
    `Filters`."""
    terms = tuple(Term(stem, (stem,)) for stem in dict.fromkeys(analyse(text)))
    return Query(text=text, at=at, terms=terms, vector=vector, filters=Filters(**filters))


def an_archived(*texts: str, session: str = "s1", previous: str = "", at: datetime = NOON) -> KeptEntry:
    """An entry of the archive: a span with these texts as a user's messages."""
    messages = tuple({"role": "user", "content": text} for text in texts or ("I went to Lisbon",))
    entry = ArchiveEntry(
        handle=handle_of("span", messages, previous),
        kind="span",
        provider="openai",
        title=f"{len(messages)} messages",
        messages=messages,
        previous=previous,
    )
    return KeptEntry(id=uuid7(int(at.timestamp() * 1000)), session=session, entry=entry, created_at=at)


def a_summary(text: str = "They went to Lisbon", *, session: str = "s1", **fields: Any) -> KeptSummary:
    """A summary of four messages. `fields` are fields of `KeptSummary`."""
    made: datetime = fields.get("created_at", NOON)
    given: dict[str, Any] = {
        "id": uuid7(int(made.timestamp() * 1000)),
        "summary": SpanSummary(text=text, covers=4, tokens=9, ids=("m1",)),
        "fingerprint": "f1",
        "created_at": made,
    }
    return KeptSummary(session=session, **given | fields)
