"""Message findings: the entities that recorded messages mention, noted in the plan that stores the messages."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any

from germane.archetypes.archetype import Archetype
from germane.archetypes.extract import run_extractors
from germane.archetypes.findings import Extractor
from germane.archetypes.names import names
from germane.archetypes.noting import note_findings
from germane.events.event import Event
from germane.graph.pending import PendingGraph
from germane.types.plan import Change, Read

__all__ = ["MessageNoting", "message_noting"]


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
