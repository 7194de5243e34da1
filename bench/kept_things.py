"""Kept things: what a process stores before it is killed, beside memories and messages, each with a mark in every text."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, NamedTuple

from germane.kinds.conversations.reads import PutArchived, PutSummary
from germane.kinds.events.reads import PutEvent
from germane.types.candidate import Provenance
from germane.types.plan import Change
from germane.types.scope import Scope
from germane_testing.builders import a_relation, a_summary, an_archived, an_entity, an_event, put, put_relation

__all__ = ["KeptThing", "MadeThings", "other_thing"]

_KINDS = ("talk", "talk", "document", "archived", "summary", "graph")


class KeptThing(NamedTuple):
    """A stored thing, the marks in it, and the ids of what it goes with: what it derives from, the ends of a relation, or
    `talk` for what goes with any message of the scope's conversation."""

    scope: Scope
    id: str
    marks: set[str]
    kind: str
    content_hash: int
    sources: frozenset[str] = frozenset()


class MadeThings(NamedTuple):
    """What is to be written, and what is known of it then."""

    changes: list[Change]
    kept: list[KeptThing]


def other_thing(
    scope: Scope, mark: str, text: str, rng: random.Random, position: int, next_mark: Callable[[], str]
) -> MadeThings:
    """A message of the scope's conversation, a passage of a document, what a compaction kept, or entities with a relation.
    `position` is one that nothing has."""
    kind = rng.choice(_KINDS)
    if kind in ("talk", "document"):
        role = rng.choice(("user", "assistant")) if kind == "talk" else ""
        given: dict[str, Any] = {"type": f"{role}_message" if role else "document", "role": role, "user": scope.user}
        told = Provenance(metadata={"title": mark, "source": mark})
        event = an_event(text, session="talk" if role else f"document:{mark}", position=position, provenance=told, **given)
        return MadeThings([PutEvent(event)], [KeptThing(scope, event.id, {mark}, kind, event.content_hash)])
    session = rng.choice(("talk", mark))
    goes_with = frozenset({"talk"} if session == "talk" else ())
    if kind == "archived":
        entry = an_archived(text, mark, session=session)
        return MadeThings([PutArchived(entry)], [KeptThing(scope, entry.id, {mark}, kind, 0, goes_with)])
    if kind == "summary":
        summary = a_summary(text, session=session, fingerprint=mark)
        return MadeThings([PutSummary(summary)], [KeptThing(scope, summary.id, {mark}, kind, 0, goes_with)])
    other, third = next_mark(), next_mark()
    one, two = (an_entity(name, aliases=(f"{name} alias",), user=scope.user) for name in (mark, other))
    relation = a_relation(one, two, properties={"said": third}, user=scope.user)
    kept = [KeptThing(scope, entity.id, {entity.name}, kind, 0) for entity in (one, two)]
    kept.append(KeptThing(scope, relation.id, {third}, kind, 0, frozenset({one.id, two.id})))
    return MadeThings([put(one), put(two), put_relation(relation)], kept)
