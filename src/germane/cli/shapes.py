"""Shapes: what the command answers to programs. These stay as they are: fields may be added, none changes or goes."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from germane.cli.codec import encode
from germane.memories.memory import Memory
from germane.types.candidate import Chosen, Scored
from germane.types.context import Context

__all__ = ["context_shape", "hit_shape", "memory_shape"]


def memory_shape(memory: Memory) -> dict[str, Any]:
    """A memory: its kind's own fields beside those that every memory has."""
    own = {field.name: encode(getattr(memory.content, field.name)) for field in fields(memory.content)}
    left = ("content", "content_hash", "provenance")
    return {
        "type": "memory",
        **{field.name: encode(getattr(memory, field.name)) for field in fields(memory) if field.name not in left},
        **own,
        "provenance": encode(memory.provenance),
    }


def hit_shape(hit: Scored) -> dict[str, Any]:
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
        "created_at": encode(candidate.created_at),
        "session": candidate.session,
        "message_id": candidate.provenance.message_id,
    }


def context_shape(context: Context) -> dict[str, Any]:
    return {
        "provider": context.provider,
        "messages": encode(context.messages),
        "system": context.system,
        "added": context.added,
        "items": [_item(item) for item in context.items],
        "metadata": encode(context.metadata),
        "warnings": list(context.trace.warnings),
    }


def _item(item: Chosen) -> dict[str, Any]:
    return hit_shape(item.scored) | {"text": item.text, "tokens": item.tokens, "share": item.share, "handle": item.handle}
