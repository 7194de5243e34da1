"""Archetype plans: store an event that isn't a message with what was found in it, in one transaction (GRAPH-4).

The extractors run before the transaction. Those of messages run inside the plan that stores the messages.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

from germane.errors import Conflict
from germane.extraction.archetypes.extractors import names
from germane.extraction.archetypes.findings import Extractor, ExtractorFault, Findings, PatternHint, RecordedEvent, merged
from germane.extraction.archetypes.value import Archetype
from germane.kinds.events.prepared import same_event
from germane.kinds.events.reads import EventsById, EventsNamed, LatestTyped, PutEvent, TypedPosition
from germane.kinds.events.value import Event
from germane.kinds.graph.linking import PendingGraph, link_findings
from germane.kinds.graph.reads import CountPattern, PatternsWithAction, PutPattern
from germane.kinds.graph.value import Entity, EntityName, Pattern, Relation
from germane.kinds.messages.plans import Origin
from germane.kinds.tasks.plans import current_task
from germane.types.plan import Change, Decision, Plan, Read, read, uuid7


class ExtractedEvent(NamedTuple):
    """An event that is to be stored, what was found in it, and the extractors that failed on it. `with_task`: it belongs to the
    task at which its session stands, as the caller named none."""

    event: Event
    findings: Findings = Findings()
    faults: tuple[ExtractorFault, ...] = ()
    with_task: bool = False


class Before(NamedTuple):
    """The latest events of a session that aren't messages, and the id of the task that it stands at."""

    events: tuple[Event, ...] = ()
    task: str | None = None


def look_back(session: str, until: datetime) -> Plan[Before]:
    """Reads what extractors know of the session: what happened by `until`, and its task. Changes nothing."""
    events = yield from read(LatestTyped(session, LOOK_BACK, until))
    return Decision((), Before(events, (yield from current_task(session))))


def record_event(extracted: ExtractedEvent, *, origin: Origin) -> Plan[RecordedEvent]:
    """Stores the event behind those that the session holds, and notes entities, relations and patterns. One with an `id` that
    the session knows is found and not stored, whatever its task. Raises `Conflict` where the id is known with other content;
    then nothing is written."""
    event = extracted.event
    if event.message_id is not None:
        known = yield from read(EventsNamed(origin.session, (event.message_id,)))
        if (held := known.get(event.message_id)) is not None:
            if not same_event(held, event):
                raise Conflict(
                    "event id {} was recorded before with different content", event.message_id, advice="give it another id"
                )
            return Decision((), RecordedEvent(event=held, added=False))
    task = (yield from current_task(origin.session)) if extracted.with_task else event.task
    event = event._replace(position=(yield from read(TypedPosition(origin.session))), task=task)
    noted = yield from note_findings(event, extracted.findings)
    recorded = RecordedEvent(
        event=event,
        entities=noted.entities,
        relations=noted.relations,
        patterns=noted.patterns,
        faults=extracted.faults,
    )
    return Decision((PutEvent(event), *noted.changes), recorded)


# Runs an archetype's extractors on one event; one that fails takes nothing from the others.


LOOK_BACK = 16
"""How many events before it an extractor is given."""
_WORD = re.compile(r"\w{2,}")
_LOG = logging.getLogger("germane.archetypes")


def extract_from(archetype: Archetype, event: Event, before: Sequence[Event]) -> tuple[Findings, tuple[ExtractorFault, ...]]:
    """Returns what the archetype's extractors found, and those that failed; see `run_extractors`."""
    return run_extractors(archetype.name, archetype.extractors, event, before)


def run_extractors(
    of: str, extractors: Mapping[str, Extractor], event: Event, before: Sequence[Event]
) -> tuple[Findings, tuple[ExtractorFault, ...]]:
    """Returns what all extractors found, and those that failed: by an exception, or by returning what isn't `Findings`. Their
    names and the types of their exceptions are logged, and nothing that the event says."""
    found, faults = list[Findings](), list[ExtractorFault]()
    for name, extractor in extractors.items():
        try:
            found.append(merged([extractor(event, before)]))
        except Exception as error:  # any fault of a caller's own function
            faults.append(ExtractorFault(name, type(error).__name__))
            _LOG.warning("extractor %s of %s failed: %s", name[:80], of[:80], type(error).__name__)
    return _bound(event, before, merged(found)), tuple(faults)


def _bound(event: Event, before: Sequence[Event], found: Findings) -> Findings:
    """Says which of the earlier events the findings have words of that the event itself has not."""
    if not before or not found:
        return found
    own = _words(event.text)
    parts = {EntityName(one.type, one.name): _words(one.name) - own for one in found.entities}
    said = [f"{value}" for one in found.entities for value in (*one.aliases, *one.properties.values())]
    said += [part for hint in found.patterns for part in (hint.action, *hint.keywords)]
    words = _words(" ".join(said)) - own
    foreign = words.union(*parts.values())
    texts = {one.id: _words(one.text) for one in before} if foreign else {}
    sources = tuple(id for id, there in texts.items() if not foreign.isdisjoint(there))
    borrowed = dict[EntityName, tuple[str, ...]]()
    for name, rest in parts.items():
        whole = tuple(id for id in sources if rest and rest <= texts[id])
        if some := whole or tuple(id for id in sources if not rest.isdisjoint(texts[id])):
            borrowed[name] = some
    return replace(found, borrowed=borrowed, sources=sources)


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))


def window(event: Event, known: Sequence[Event]) -> tuple[Event, ...]:
    """Returns the latest 16 of the `known` events that happened by the time of `event`, oldest first."""
    earlier = [one for one in known if one.created_at <= event.created_at]
    return tuple(sorted(earlier, key=lambda one: (one.created_at, one.recorded_at))[-LOOK_BACK:])


# Turns the findings in a new event into entities, relations, mentions and patterns.


class NotedFindings(NamedTuple):
    """The changes that note the findings, which follow the one that stores the event, and what they come to: entities and
    relations as they will be, and the ids of patterns that are learned or counted."""

    changes: tuple[Change, ...] = ()
    entities: tuple[Entity, ...] = ()
    relations: tuple[Relation, ...] = ()
    patterns: tuple[str, ...] = ()


def note_findings(event: Event, findings: Findings) -> Generator[Read[Any], Any, NotedFindings]:
    """Decides on the findings in an event. Yields the reads. Of what was found in the words of earlier events nothing is noted
    where one of these is forgotten."""
    if findings.sources and len((yield from read(EventsById(findings.sources)))) < len(findings.sources):
        findings = findings.own
    if not findings:
        return NotedFindings()
    linked = yield from link_findings(
        findings.entities,
        findings.relations,
        thing=event.id,
        user=event.user,
        at=event.created_at,
        now=event.recorded_at,
        sensitivity=event.sensitivity,
        borrowed=findings.borrowed,
    )
    changes, patterns = list(linked.changes), list[str]()
    for hint in findings.patterns:
        change = yield from _pattern(event, hint, findings.sources)
        if change is not None:
            changes.append(change)
            patterns.append(change.pattern.id if isinstance(change, PutPattern) else change.id)
    return NotedFindings(tuple(changes), linked.entities, linked.relations, tuple(patterns))


def _pattern(
    event: Event, hint: PatternHint, sources: tuple[str, ...]
) -> Generator[Read[Any], Any, PutPattern | CountPattern | None]:
    """A pattern that is known is counted. A new one is learned from a success alone."""
    known = yield from read(PatternsWithAction(hint.action))
    for pattern in known:
        if (pattern.keywords, pattern.intent, pattern.entity_types) == (hint.keywords, hint.intent, hint.entity_types):
            return CountPattern(pattern.id, hint.succeeded, event.created_at)
    if not hint.succeeded:
        return None
    learned = Pattern(
        id=uuid7(int(event.recorded_at.timestamp() * 1000)),
        action=hint.action,
        keywords=hint.keywords,
        intent=hint.intent,
        entity_types=hint.entity_types,
        user=event.user,
        successes=1,
        applications=1,
        sensitivity=event.sensitivity,
        created_at=event.created_at,
        updated_at=event.recorded_at,
    )
    return PutPattern(learned, refs=(event.id, *sources))


# The entities that recorded messages mention.


class MessageNoting:
    """Decides on what new messages say of the graph: by the extractors of an archetype, and by the rules for names. The
    extractors get no events before the message, and run in the store's writer: they must be quick."""

    def __init__(self, extractors: Mapping[str, Extractor]) -> None:
        self._extractors = extractors

    def __call__(self, events: Sequence[Event]) -> Generator[Read[Any], Any, tuple[Change, ...]]:
        """Yields the reads; returns the changes, which follow those that store the messages. The types of system messages and
        of tools' results aren't read."""
        pending, changes = PendingGraph(), list[Change]()
        for event in events:
            if event.role not in ("user", "assistant") or event.type == "tool_message":
                continue
            findings, _ = run_extractors("messages", self._extractors, event, ())
            noted = yield from pending.seen_by(note_findings(event, findings))
            pending.add(noted.changes)
            changes += noted.changes
        return tuple(changes)


def message_noting(archetype: Archetype | None, *, entities: bool) -> MessageNoting | None:
    """Returns what notes the entities of messages: the extractors of the archetype and the rules for names, or these alone
    where `entities` asks for them; None where there is neither."""
    if archetype is None and not entities:
        return None
    return MessageNoting({**({} if archetype is None else archetype.extractors), "names": names})
