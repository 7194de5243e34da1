"""Succession: what a memory keeps of those that consolidation removed and that it was made of, so that it is forgotten as they
would be.

The removed memories are gone with their rows. What made from them stays (a note of episodes, or what somebody derived) names
the sources that they had, and says of each by what else somebody may ask to forget it: its session, channel, kind of source,
message, key and tags.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from germane.memories.memory import Fact, Memory
from germane.types.candidate import Provenance
from germane.types.limits import REFERENCES

__all__ = ["REPLACED", "succeeding"]

REPLACED = "replaced"
"""The name under which a memory's provenance says what became of its sources."""


def succeeding(memory: Memory, gone: Sequence[Memory]) -> Memory:
    """Returns `memory`, which was made of those that are `gone`, with their sources and with what they could be found by."""
    sources = [*memory.derived_from, *(id for one in gone for id in (one.id, *one.derived_from))]
    told = [*_told(memory), *(entry for one in gone for entry in (_findable(one), *_told(one)))]
    origin: Provenance = replace(memory.provenance, metadata={**memory.provenance.metadata, REPLACED: told})
    return replace(memory, derived_from=tuple(dict.fromkeys(sources))[: REFERENCES.maximum], provenance=origin)


def _findable(memory: Memory) -> dict[str, Any]:
    origin = memory.provenance
    found = {
        "id": memory.id,
        "session": origin.session,
        "channel": origin.channel,
        "source_kind": origin.source_kind,
        "message_id": origin.message_id,
        "key": memory.content.key if isinstance(memory.content, Fact) else None,
        "tags": list(memory.tags) or None,
    }
    return {name: value for name, value in found.items() if value is not None}


def _told(memory: Memory) -> Iterable[Any]:
    told = memory.provenance.metadata.get(REPLACED, ())
    return told if isinstance(told, list | tuple) else ()
