"""Names: the extractor of any text: the people, places, files, links and codes that rules find in it, and how they relate."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime

from germane.archetypes.findings import Findings
from germane.archetypes.reading import text_of
from germane.events.event import Event
from germane.graph.findings import EntityFinding, EntityName, RelationFinding
from germane.text.own.own_words import own_words

__all__ = ["names"]

_MAX_READ = 8_192
"""Characters that are read: the rules take some microseconds for each."""
_LEAST = 0.5
"""The confidence below which what the rules found isn't looked at. An entity below 0.7 counts where it is known."""
_YEAR = re.compile(r"(?:19|20)\d\d")


def names(event: Event, before: Sequence[Event]) -> Findings:
    """What the text mentions, with the speaker of a message, and the relations that a user's own sentences state, from when and
    until when they say. A time is its first day, UTC. Relations whose end can't be read are left out; a beginning that can't,
    or that is still to come, counts as the time of the text. Reads the first 8,192 characters."""
    from germane.graph.extraction.extract import extract_entities
    from germane.graph.extraction.relations import extract_relations

    text = text_of(event)[:_MAX_READ]
    found = extract_entities(text, speaker=event.name, role=event.role or "tool")
    user = event.role == "user"
    stated = extract_relations(text, found, speaker=event.name, said=own_words(text)) if user and found else ()
    times = [(one, _begins(one.since, event.created_at), _day(one.until)) for one in stated]
    return Findings(
        entities=tuple(
            EntityFinding(type=one.type, name=one.name, confidence=one.confidence) for one in found if one.confidence >= _LEAST
        ),
        relations=tuple(
            RelationFinding(
                source=EntityName(one.source.type, one.source.name),
                type=one.type,
                target=EntityName(one.target.type, one.target.name),
                confidence=one.confidence,
                valid_from=begins,
                valid_to=ends,
                exclusive=one.exclusive,
            )
            for one, begins, ends in times
            if one.confidence >= _LEAST and (ends is not None or not one.until)
        ),
    )


def _begins(words: str, said_at: datetime) -> datetime | None:
    begins = _day(words)
    return begins if begins is not None and begins <= said_at else None


def _day(words: str) -> datetime | None:
    """The first day of a year, a month or a date with its year; None for other words."""
    from germane.graph.extraction.days import date_key

    read = words if _YEAR.fullmatch(words) else date_key(words)
    try:
        year, month, day = (*map(int, (read or "").split("-")), 1, 1)[:3]
        return datetime(year, month, day, tzinfo=UTC)
    except ValueError:
        return None
