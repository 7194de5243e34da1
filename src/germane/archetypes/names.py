"""Names: the extractor of any text: the people, places, files, links and codes that rules find in it."""

from __future__ import annotations

from collections.abc import Sequence

from germane.archetypes.findings import Findings
from germane.archetypes.reading import text_of
from germane.events.event import Event
from germane.graph.extraction.extract import extract_entities
from germane.graph.findings import EntityFinding

__all__ = ["names"]

_MAX_READ = 8_192
"""Characters that are read: the rules take some microseconds for each."""
_LEAST = 0.5
"""The confidence below which what the rules found isn't stored."""


def names(event: Event, before: Sequence[Event]) -> Findings:
    """What the text mentions, with the speaker of a message. Reads its first 8,192 characters."""
    found = extract_entities(text_of(event)[:_MAX_READ], speaker=event.name, role=event.role or "tool")
    return Findings(entities=tuple(EntityFinding(type=one.type, name=one.name) for one in found if one.confidence >= _LEAST))
