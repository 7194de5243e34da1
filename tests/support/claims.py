"""Claims: messages of one session that wait for a language model."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from germane.extraction.llm.queue import Claim
from germane.kinds.events.value import Event
from germane.types.candidate import Sensitivity
from germane.types.scope import Scope

__all__ = ["NOW", "claim_of"]

NOW = datetime(2024, 5, 3, tzinfo=UTC)


def claim_of(*said: str, sensitivity: Sensitivity = "private") -> Claim:
    """Messages of this text; one that begins with "A: " is the assistant's."""
    turns = tuple(
        Event(
            id=f"event-{number}",
            type="assistant_message" if text.startswith("A: ") else "user_message",
            user="ana",
            session="s",
            position=number,
            text=text.removeprefix("A: "),
            created_at=NOW + timedelta(minutes=number),
            recorded_at=NOW + timedelta(hours=1),
            role="assistant" if text.startswith("A: ") else "user",
            sensitivity=sensitivity,
            content_hash=number,
        )
        for number, text in enumerate(said, start=1)
    )
    return Claim(scope=Scope(user="ana", session="s"), session=1, first=0, stop=len(said), holder="h", turns=turns)
