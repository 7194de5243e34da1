"""Event readers: the functions that read the text of events, wrapped as those of `bench/readers.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from germane.extraction.archetypes.extractors import lines_of
from germane.extraction.archetypes.registry import EXTRACTORS
from germane.kinds.events.prepared import prepared_event
from germane.kinds.events.value import FIRST_TYPED, Event, NewEvent, typed_hash
from germane.kinds.events.wording import action_of, failed, path_of, succeeded, wording
from germane.kinds.messages.plans import Origin
from germane.text.normal import valid_unicode
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
        "extraction.archetypes.extractors.lines_of": lines_of,
        "extraction.archetypes.registry write": lambda text: _extracted(text, "file_write"),
        "extraction.archetypes.registry execute": lambda text: _extracted(text, "shell_exec"),
        "extraction.archetypes.registry error": lambda text: _extracted(text, "error"),
        "extraction.archetypes.registry test": lambda text: _extracted(text, "test"),
        "kinds.events.prepared.prepared_event": lambda text: prepared_event(
            NewEvent(type="note", content={"a": text, "password": text}, outcome=valid_unicode(text[:200])), _ORIGIN, now=_NOW
        ),
        "kinds.events.value.typed_hash": lambda text: typed_hash(text, text, text),
        "kinds.events.wording.failed": failed,
        "kinds.events.wording.succeeded": succeeded,
        "kinds.events.wording.action_of": action_of,
        "kinds.events.wording.path_of": path_of,
        "kinds.events.wording.wording": lambda text: (
            wording("shell_exec", {"command": text, "stdout": text}),
            wording(text, {text: text}),
        ),
    }
)
