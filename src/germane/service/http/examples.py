"""Examples: what the document of the API shows as the arguments of each operation.

An argument means the same in every operation, so one example by its name serves them all.
"""

from __future__ import annotations

from collections.abc import Mapping
from inspect import Parameter
from types import MappingProxyType
from typing import Any

from germane.api.operations import Operation

AGENT, USER = "support", "ana"
_ID = "0199a3c0-7d1e-7000-8000-0000000000aa"
_MESSAGES = [{"role": "user", "content": "Is the terrace open on Sunday?"}]

EXAMPLES: Mapping[str, Any] = MappingProxyType(
    {
        "action": "offer a table outside",
        "agent": "kitchen",
        "changes": {"tags": ["food"]},
        "content": "Ana is vegetarian and likes to sit outside.",
        "entity": _ID,
        "events": [{"type": "booking_made", "content": "Ana booked a table for four"}],
        "folder": "notes",
        "goal": "Book a table for four on Sunday",
        "gone": _ID,
        "handle": "h1",
        "id": _ID,
        "ids": [_ID],
        "keep": _ID,
        "keywords": ["sunday", "outside"],
        "kept": _ID,
        "label": "persona",
        "max_tokens": 400,
        "messages": _MESSAGES,
        "model": "gpt-4o",
        "mark": "pin",
        "mutations": [{"op": "append_text", "text": "Ana prefers the terrace."}],
        "name": "Ana",
        "new": "vegan",
        "new_folder": "archive",
        "old": "vegetarian",
        "query": "where does Ana like to sit?",
        "reason": "waits for the kitchen's answer",
        "result": "The table is booked.",
        "rules": [{"kind": "max_calls", "tool": "book_table", "count": 1}],
        "session": "chat-1",
        "source": _ID,
        "start": _ID,
        "succeeded": True,
        "target": _ID,
        "task": "Find out whether the terrace is open",
        "text": "Ana is vegetarian.",
        "type": "person",
        "version": 1,
    }
)
_OF_OPERATION: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "blocks.append": {"label": "persona", "text": "She likes the terrace."},
        "blocks.create": {"label": "persona", "text": "You book tables.", "permission": "admin"},
        "consolidate": {"max_memories": 1000, "dry_run": True},
        "documents.ingest": {"text": "# Opening hours\n\nThe terrace is open from May to September.", "source": "hours.md"},
        "documents.get": {"source": "hours.md"},
        "documents.forget": {"source": "hours.md"},
        "events.record": {"type": "booking_made", "content": "Ana booked a table for four", "session": "chat-1"},
        "forget": {"tag": "food", "dry_run": True},
        "graph.path": {"start": _ID, "goal": _ID},
        "graph.relate": {"source": _ID, "type": "works_at", "target": _ID},
        "remember": {"text": "Likes to sit outside", "kind": "preference", "fields": {"tags": ["food"]}},
        "tasks.checkpoint": {"name": "before-booking", "session": "chat-1"},
        "tasks.branch": {"name": "terrace", "goal": "Try the terrace", "session": "chat-1"},
        "tasks.switch": {"name": "terrace", "session": "chat-1"},
        "tasks.inject": {"name": "terrace", "result": "The terrace is full.", "session": "chat-1"},
        "tasks.abandon": {"name": "terrace", "session": "chat-1"},
        "why": {"id": _ID, "messages": _MESSAGES, "model": "gpt-4o"},
    }
)
_SHOWN = ("session", "keywords")
"""Arguments that an example shows although they may be left out."""


def example_of(operation: Operation) -> dict[str, Any]:
    """Returns arguments for the operation, as JSON values. Raises `LookupError` where a needed one has no example."""
    own = _OF_OPERATION.get(operation.name, {})
    found: dict[str, Any] = dict(own)
    for name, parameter in operation.parameters.items():
        needed = parameter.default is Parameter.empty
        if name not in found and (needed or name in _SHOWN) and not (own and not needed):
            if name not in EXAMPLES:
                raise LookupError(f"{operation.name}: no example of {name}")
            found[name] = EXAMPLES[name]
    return found
