"""Draft: one labelled conversation while its file is read. Whatever can't stand in it is dropped with a reason, never silently.

What a file leaves out is made up from the place where it stands, so that reading it twice gives the same ids.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from germane.evaluate.dataset import Conversation, Dropped, Question
from germane.evaluate.formats.evidence import known_ids, plain
from germane.message import Message

__all__ = ["Draft", "aware"]


@dataclass(slots=True, kw_only=True)
class Draft:
    name: str
    sessions: dict[str, list[Message]] = field(default_factory=dict)
    questions: list[Question] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)
    """Of the messages so far."""

    def drop(self, what: str, reason: str) -> None:
        self.dropped.append(Dropped(where=f"{self.name}, {what}", reason=reason))

    def say(self, session: str, message: Message, what: str) -> None:
        """Add a message that has an id; `what` names it to a person."""
        if not message.content.strip():
            self.drop(what, "it says nothing")
        elif message.id is None or message.id in self.ids:
            self.drop(what, f"its id {message.id} is another message's")
        else:
            self.ids.add(message.id)
            self.sessions.setdefault(session, []).append(replace(message, created_at=aware(message.created_at)))

    def ask(
        self,
        id: str,
        text: Any,
        labels: Any,
        *,
        read: Callable[[Any], Iterable[str]] = plain,
        category: str = "",
        answer: Any = None,
        at: datetime | None = None,
        superseded: Iterable[str] = (),
    ) -> None:
        """Add a question; `labels` are its evidence as the file has it, out of which `read` makes ids."""
        what = f"question {id}"
        if not isinstance(text, str) or not text.strip():
            self.drop(what, "it has no text")
            return
        evidence, lost = known_ids(labels, self.ids, read)
        for reason in lost:
            self.drop(what, reason)
        if not evidence:
            self.drop(what, "no message is named that holds its answer")
            return
        self.questions.append(
            Question(
                id=f"{self.name}/{id}",
                text=text,
                evidence=evidence,
                category=category,
                answer=None if answer is None else str(answer),
                at=aware(at),
                superseded=frozenset(superseded) & self.ids,
            )
        )

    def done(self) -> Conversation:
        return Conversation(name=self.name, sessions=self.sessions, questions=self.questions)


def aware(time: datetime | None) -> datetime | None:
    """The files' times name no zone: they are read as UTC."""
    return time if time is None or time.tzinfo is not None else time.replace(tzinfo=UTC)
