"""Names: the extractor of any text: the people, places, files, links and codes that rules find in it."""

from __future__ import annotations

from collections.abc import Sequence

from germane.archetypes.findings import Findings
from germane.archetypes.reading import text_of
from germane.events.event import Event
from germane.graph.extraction.extract import extract_entities
from germane.graph.findings import EntityFinding

__all__ = ["names"]

_LEAST = 0.5
"""The confidence below which what the rules found isn't stored."""


def names(event: Event, before: Sequence[Event]) -> Findings:
    """What the text mentions, with the speaker of a message."""
    found = extract_entities(text_of(event), speaker=event.name, role=event.role or "tool")
    return Findings(entities=tuple(EntityFinding(type=one.type, name=one.name) for one in found if one.confidence >= _LEAST))
