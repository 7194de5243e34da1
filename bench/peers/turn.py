"""Turn: a message as one line with date and speaker, which every peer stores and the shared packer packs."""

from __future__ import annotations

from datetime import datetime

from bench.peers.adapters.memory import Memory
from germane import Message

__all__ = ["line", "memory"]


def memory(message: Message, session: str) -> Memory:
    time, speaker = message.created_at, message.name or message.role
    return Memory(
        id=str(message.id),
        line=line(time, speaker, message.text),
        text=message.text,
        speaker=speaker,
        time=None if time is None else time.isoformat(),
        session=session,
    )


def line(time: datetime | None, speaker: str, text: str) -> str:
    """`[2023-05-08 13:56] Caroline: I went there.`"""
    return f"[{time:%Y-%m-%d %H:%M}] {speaker}: {text}" if time else f"{speaker}: {text}"
