"""Labelled: conversations with questions and labelled evidence; each turn becomes one memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench.peers.adapters.memory import Memory
from bench.peers.turn import memory
from germane_eval.dataset import Question
from germane_eval.formats import load

__all__ = ["Labelled", "labelled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    name: str
    memories: Sequence[Memory]
    questions: Sequence[Question]
    asked: datetime
    """An hour after the last message."""


def labelled(path: Path) -> list[Labelled]:
    found = []
    for conversation in load(path).conversations:
        memories = [memory(message, session) for session, said in conversation.sessions.items() for message in said]
        times = [message.created_at for said in conversation.sessions.values() for message in said if message.created_at]
        asked = max((time if time.tzinfo else time.replace(tzinfo=UTC) for time in times), default=datetime.now(UTC))
        questions = conversation.questions
        found.append(Labelled(name=conversation.name, memories=memories, questions=questions, asked=asked + timedelta(hours=1)))
    return found
