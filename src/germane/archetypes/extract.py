"""Extract: runs an archetype's extractors on one event; one that fails takes nothing from the others."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from germane.archetypes.archetype import Archetype
from germane.archetypes.findings import Extractor, Findings, merged
from germane.archetypes.recorded_event import ExtractorFault
from germane.events.event import Event

__all__ = ["LOOK_BACK", "extract_from", "run_extractors", "window"]

LOOK_BACK = 16
"""How many events before it an extractor is given."""
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
    return merged(found), tuple(faults)


def window(event: Event, known: Sequence[Event]) -> tuple[Event, ...]:
    """Returns the latest 16 of the `known` events that happened by the time of `event`, oldest first."""
    earlier = [one for one in known if one.created_at <= event.created_at]
    return tuple(sorted(earlier, key=lambda one: (one.created_at, one.recorded_at))[-LOOK_BACK:])
