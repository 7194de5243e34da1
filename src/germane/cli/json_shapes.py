"""JSON shapes: the documents that --json prints. Fields may be added; none is renamed or removed."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from germane.kinds.events.value import Event
from germane.kinds.memories.value import Memory
from germane.types.candidate import Chosen, Scored
from germane.types.codec import encode
from germane.types.context import Context

if TYPE_CHECKING:
    from germane.api.builder.builder import BuiltRequest


def memory_shape(memory: Memory) -> dict[str, Any]:
    """A memory: the fields that every memory has, with the fields of its kind beside them."""
    own = {field.name: encode(getattr(memory.content, field.name)) for field in fields(memory.content)}
    excluded = ("content", "content_hash", "provenance")
    return {
        "type": "memory",
        **{field.name: encode(getattr(memory, field.name)) for field in fields(memory) if field.name not in excluded},
        **own,
        "provenance": encode(memory.provenance),
    }


def message_shape(event: Event) -> dict[str, Any]:
    """A recorded message."""
    shown = ("id", "user", "session", "position", "role", "name", "text", "message_id", "created_at", "recorded_at")
    return {
        "type": "message",
        "event_type": event.type,
        **{name: encode(getattr(event, name)) for name in shown},
        "sensitivity": event.sensitivity,
        "provenance": encode(event.provenance),
    }


def event_shape(event: Event) -> dict[str, Any]:
    """A recorded event that isn't a message."""
    shown = ("id", "user", "session", "text", "outcome", "task", "message_id", "created_at", "recorded_at")
    return {
        "type": "event",
        "event_type": event.type,
        **{name: encode(getattr(event, name)) for name in shown},
        "content": encode(event.raw.get("content")),
        "sensitivity": event.sensitivity,
        "provenance": encode(event.provenance),
    }


def hit_shape(hit: Scored) -> dict[str, Any]:
    """A search result."""
    candidate = hit.candidate
    return {
        "id": hit.id,
        "rank": hit.rank,
        "score": hit.score,
        "breakdown": encode(hit.breakdown),
        "source": candidate.source,
        "category": candidate.category,
        "text": candidate.text,
        "speaker": candidate.speaker,
        "title": candidate.title,
        "created_at": encode(candidate.created_at),
        "session": candidate.session,
        "message_id": candidate.provenance.message_id,
    }


def context_shape(context: Context) -> dict[str, Any]:
    """An assembled context."""
    return {
        "provider": context.provider,
        "messages": encode(context.messages),
        "system": context.system,
        "added": context.added,
        "items": [_item(item) for item in context.items],
        "earlier": encode(context.earlier),
        "attribution": context.attribution,
        "metadata": encode(context.metadata),
        "warnings": list(context.trace.warnings),
    }


def built_shape(built: BuiltRequest) -> dict[str, Any]:
    """A built request: the arguments of the provider's call, and how it came about."""
    return {
        "provider": built.provider,
        "request": encode(built.as_kwargs()),
        "estimated_tokens": built.metadata.estimated_tokens,
        "metadata": encode(built.metadata),
    }


def _item(item: Chosen) -> dict[str, Any]:
    return hit_shape(item.scored) | {"text": item.text, "tokens": item.tokens, "share": item.share, "handle": item.handle}
