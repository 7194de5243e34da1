"""Extract: runs an archetype's extractors on one event; one that fails takes nothing from the others."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from germane.archetypes.archetype import Archetype
from germane.archetypes.findings import Extractor, Findings, merged
from germane.archetypes.recorded_event import ExtractorFault
from germane.events.event import Event
from germane.graph.findings import EntityName

__all__ = ["LOOK_BACK", "extract_from", "run_extractors", "window"]

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
