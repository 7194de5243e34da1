"""Event readers: the functions that read the text of events, wrapped as those of `bench/readers.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from germane.archetypes.builtin import EXTRACTORS
from germane.archetypes.reading import lines_of
from germane.events.appending import Origin
from germane.events.event import FIRST_TYPED, Event
from germane.events.event_hash import typed_hash
from germane.events.new_event import NewEvent
from germane.events.outcome import failed, succeeded
from germane.events.prepared_event import prepared_event
from germane.events.prepared_message import clean
from germane.events.wording import action_of, path_of, wording
from germane.types.scope import Scope

__all__ = ["EVENT_READERS"]

_NOW = datetime(2026, 11, 20, tzinfo=UTC)
_ORIGIN = Origin(scope=Scope(), session="s")


def _extracted(text: str, type: str) -> None:
    content = {"path": f"{text[:200]}.py", "command": text, "stdout": text, "name": text, "ticket": text, "authors": [text]}
    event = Event(
        id="e",
        type=type,
        user=None,
        session="s",
        position=FIRST_TYPED,
        text=wording(type, content),
        created_at=_NOW,
        recorded_at=_NOW,
        outcome="failure",
        raw={"content": content},
    )
    for extractor in EXTRACTORS.values():
        extractor(event, (event, event))


EVENT_READERS: Mapping[str, Callable[[str], Any]] = MappingProxyType(
    {
        "archetypes.reading.lines_of": lines_of,
        "archetypes.builtin write": lambda text: _extracted(text, "file_write"),
        "archetypes.builtin execute": lambda text: _extracted(text, "shell_exec"),
        "archetypes.builtin error": lambda text: _extracted(text, "error"),
        "archetypes.builtin test": lambda text: _extracted(text, "test"),
        "events.prepared_event.prepared_event": lambda text: prepared_event(
            NewEvent(type="note", content={"a": text, "password": text}, outcome=clean(text[:200])), _ORIGIN, now=_NOW
        ),
        "events.event_hash.typed_hash": lambda text: typed_hash(text, text, text),
        "events.outcome.failed": failed,
        "events.outcome.succeeded": succeeded,
        "events.wording.action_of": action_of,
        "events.wording.path_of": path_of,
        "events.wording.wording": lambda text: (
            wording("shell_exec", {"command": text, "stdout": text}),
            wording(text, {text: text}),
        ),
    }
)
