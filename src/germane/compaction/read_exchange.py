"""Read exchange: what the messages of one exchange leave behind."""

from __future__ import annotations

from collections.abc import Sequence

from germane.compaction.notes import ExchangeNotes
from germane.types.message import Message

__all__ = ["read_exchange"]


def read_exchange(messages: Sequence[Message]) -> ExchangeNotes:
    """Placeholder until branch notes is merged."""
    return ExchangeNotes(line=" | ".join(f"{message.role}: {message.content[:80]}" for message in messages[:3]))
