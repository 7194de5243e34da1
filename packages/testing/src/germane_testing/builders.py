"""Builders: candidates, messages, stored things and plans with defaults, and an embedder that needs no model.

A test names only the fields that it is about.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Any, TypeVar, overload
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from germane.compaction.notes import SpanSummary
from germane.errors import EmbedderError
from germane.kinds.blocks.reads import BlocksNamed
from germane.kinds.blocks.schema import TextSchema
from germane.kinds.blocks.value import ArchivalEntry, Block, content_hash_of
from germane.kinds.conversations.value import ArchiveEntry, KeptEntry, KeptSummary, handle_of
from germane.kinds.events.reads import PutEvent
from germane.kinds.events.value import Event
from germane.kinds.graph.linking import Linked, link_findings
from germane.kinds.graph.reads import PutEntity, PutRelation, SeenNamed
from germane.kinds.graph.statement import EntityStatement, keys_of
from germane.kinds.graph.value import Entity, EntityFinding, EntityName, Relation, RelationFinding
from germane.kinds.memories.value import KINDS, Memory
from germane.stores.contract import ScopedStore
from germane.text.normal import content_hash
from germane.text.terms import analyse
from germane.types.candidate import Candidate
from germane.types.message import Message, Role
from germane.types.plan import Change, Decision, Plan, Read, StoreDecision, StorePlan, StoreRead, read, uuid7
from germane.types.query import EVERY_SENSITIVITY, Filters, Query, Term, Vector

MOMENT = datetime(2026, 3, 10, 12, 0, tzinfo=UTC)
"""The default time of everything built here: a Tuesday at noon, UTC."""


def candidate(text: str = "Prefers tea to coffee", **fields: Any) -> Candidate:
    """A candidate such as a source of messages offers it. `fields` are fields of `Candidate`. The same text gives the same id
    and hash."""
    digest = crc32(text.encode("utf-8", "surrogatepass"))
    defaults: dict[str, Any] = {
        "id": f"c{digest:08x}",
        "source": "messages",
        "category": "conversation",
        "created_at": MOMENT,
        "kinds": ("event",),
        "content_hash": digest,
    }
    return Candidate(text=text, **(defaults | fields))


def message(
    text: str = "What do I like to drink?",
    role: Role = "user",
    *,
    id: str | None = None,
    name: str | None = None,
    created_at: datetime | None = MOMENT,
) -> Message:
    """A message with one text part."""
    return Message.of(role, text, id=id, name=name, created_at=created_at)


# What stores keep, queries, and plans that only write or only read, for tests of stores.


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


@overload
def asking(question: Read[T]) -> Plan[T]: ...
@overload
def asking(question: StoreRead[T]) -> StorePlan[T]: ...
def asking(question: Any) -> Any:
    """A plan that returns the result of one read and changes nothing."""
    found: object = yield from read(question)
    return StoreDecision((), found) if isinstance(question, StoreRead) else Decision((), found)


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


# Entities and relations, and plans that record what is found in an event.


EVERY = EVERY_SENSITIVITY
DAY = timedelta(days=1)


def an_entity(name: str = "Caroline", type: str = "person", **fields: Any) -> Entity:
    """An entity that nothing mentions, with defaults."""
    given: dict[str, Any] = {
        "id": uuid7(int(NOON.timestamp() * 1000)),
        "salient_at": NOON,
        "created_at": NOON,
        "updated_at": NOON,
        "mentions": 0,
    }
    return Entity(type=type, name=name, **given | fields)


def a_relation(source: Entity, target: Entity, type: str = "knows", **fields: Any) -> Relation:
    given: dict[str, Any] = {
        "id": uuid7(int(NOON.timestamp() * 1000)),
        "valid_from": NOON,
        "created_at": NOON,
        "updated_at": NOON,
    }
    return Relation(source=source.id, type=type, target=target.id, **given | fields)


def put(entity: Entity) -> PutEntity:
    """Stores an entity on purpose."""
    said = EntityStatement(names=(entity.name, *entity.aliases), properties=entity.properties, sensitivity=entity.sensitivity)
    return PutEntity(entity, keys_of(entity), said)


def put_relation(relation: Relation) -> PutRelation:
    return PutRelation(relation, stated=EntityStatement(properties=relation.properties, sensitivity=relation.sensitivity))


def saying(text: str, entities: list[EntityFinding], *relations: RelationFinding, **fields: Any) -> Plan[tuple[str, Linked]]:
    """A plan that records an event with what was found in it; the outcome is the event's id."""
    event = an_event(text, **fields)
    return _linking(event, entities, relations)


def _linking(event: Any, entities: Any, relations: Any) -> Generator[Any, Any, Decision[tuple[str, Linked]]]:
    given: dict[str, Any] = {"thing": event.id, "user": event.user, "sensitivity": event.sensitivity}
    linked = yield from link_findings(entities, relations, at=event.created_at, now=event.recorded_at, **given)
    return Decision((PutEvent(event), *linked.changes), (event.id, linked))


def person(name: str, *aliases: str, **properties: Any) -> EntityFinding:
    return EntityFinding(type="person", name=name, aliases=aliases, properties=properties)


def living(who: str, where: str, **fields: Any) -> RelationFinding:
    return RelationFinding(source=EntityName("person", who), type="lives_in", target=EntityName("place", where), **fields)


async def named(scoped: ScopedStore, key: str, filters: Filters = EVERY) -> list[str]:
    return [entity.name for entity in await scoped.ask(SeenNamed([key], filters=filters))]


# An embedder that gives the same vectors on every machine. The vector of a text is the normalised sum of fixed pseudo-
# random vectors of its words, so texts that share words are similar.


class Hashed:
    """An embedder of `dimension` dimensions. Different names give different vector spaces. With `quick=False` `embed_now`
    raises `EmbedderError`."""

    def __init__(self, name: str = "hashed", *, dimension: int = 16, quick: bool = True) -> None:
        self._name, self._dimension, self._quick = name, dimension, quick

    @property
    def identity(self) -> str:
        return f"{self._name}/{self._dimension}"

    @property
    def dimension(self) -> int:
        return self._dimension

    @property
    def quick(self) -> bool:
        return self._quick

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._vectors(texts)

    def embed_now(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if not self._quick:
            raise EmbedderError(f"{self.identity} isn't quick: await embed")
        return self._vectors(texts)

    async def close(self) -> None:
        """Does nothing: there is nothing to close."""

    def _vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = np.zeros((len(texts), self._dimension), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.lower().split():
                digest = blake2b(f"{self._name} {word}".encode(errors="replace"), digest_size=2 * self._dimension).digest()
                row += np.frombuffer(digest, "<u2").astype(np.float32) / 32768 - 1
            row /= max(float(np.linalg.norm(row)), 1e-9)
        return rows
