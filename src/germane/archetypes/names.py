"""Names: the extractor of any text: the people, places, files, links and codes that rules find in it, and how they relate."""

from __future__ import annotations

from collections.abc import Sequence

from germane.archetypes.findings import Findings
from germane.archetypes.reading import text_of
from germane.events.event import Event
from germane.graph.extraction.extract import extract_entities
from germane.graph.extraction.relations import extract_relations
from germane.graph.findings import EntityFinding, EntityName, RelationFinding

__all__ = ["names"]

_MAX_READ = 8_192
"""Characters that are read: the rules take some microseconds for each."""
_LEAST = 0.5
"""The confidence below which what the rules found isn't stored."""


def names(event: Event, before: Sequence[Event]) -> Findings:
    """What the text mentions, with the speaker of a message, and the relations that a user's own sentences state. Those that
    say until when they hold are left out: the words for the time aren't read. Reads the first 8,192 characters."""
    text = text_of(event)[:_MAX_READ]
    found = extract_entities(text, speaker=event.name, role=event.role or "tool")
    stated = extract_relations(text, found, speaker=event.name) if event.role == "user" else ()
    return Findings(
        entities=tuple(EntityFinding(type=one.type, name=one.name) for one in found if one.confidence >= _LEAST),
        relations=tuple(
            RelationFinding(
                source=EntityName(one.source.type, one.source.name),
                type=one.type,
                target=EntityName(one.target.type, one.target.name),
                confidence=one.confidence,
                exclusive=one.exclusive,
            )
            for one in stated
            if one.confidence >= _LEAST and not one.until
        ),
    )
