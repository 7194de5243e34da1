"""Draft: one labelled conversation while its file is read. Whatever can't stand in it is dropped with a reason, never silently.

What a file leaves out is made up from the place where it stands, so that reading it twice gives the same ids.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from germane.evaluate.dataset import Conversation, Dropped, Question, Stated
from germane.evaluate.formats.evidence import known_ids, plain
from germane.types.message import Message

__all__ = ["Draft", "aware"]


@dataclass(slots=True, kw_only=True)
class Draft:
    name: str
    sessions: dict[str, list[Message]] = field(default_factory=dict)
    memories: dict[str, Stated] = field(default_factory=dict)
    questions: list[Question] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)
    messages: dict[str, Message] = field(default_factory=dict)
    """All of them, by id."""
    shared: set[str] = field(default_factory=set)
    """Ids that the file gives to several messages: as labels they say nothing."""

    def drop(self, what: str, reason: str) -> None:
        self.dropped.append(Dropped(where=f"{self.name}, {what}", reason=reason))

    def add_message(self, session: str, message: Message, what: str) -> str | None:
        """Add a message; `what` names it to a person. Answers the id it has got: another than its own where that is taken
        already, None where it is dropped."""
        if not message.content.strip():
            self.drop(what, "it says nothing")
            return None
        own = id = message.id or f"{session}:{len(self.sessions.get(session, ())) + 1}"
        copies = 1
        while id in self.messages:
            self.shared.add(own)
            copies += 1
            id = f"{own}~{copies}"
        self.messages[id] = replace(message, id=id, created_at=aware(message.created_at))
        self.sessions.setdefault(session, []).append(self.messages[id])
        return id

    def add_question(
        self,
        label: str,
        text: Any,
        evidence: Any,
        *,
        read: Callable[[Any], Iterable[str]] = plain,
        id: str | None = None,
        category: str = "",
        answer: Any = None,
        at: datetime | None = None,
        superseded: Iterable[str] = (),
    ) -> None:
        """Add a question, called `label` within the conversation and `id` (else conversation/label) outside it. `evidence` is
        what the file has, however nested, out of which `read` makes ids."""
        what = f"question {label}"
        if not isinstance(text, str) or not text.strip():
            self.drop(what, "it has no text")
            return
        known = {*self.messages, *self.memories}
        found, lost = known_ids(evidence, known, self.shared, read)
        for reason in lost:
            self.drop(what, reason)
        if not found:
            self.drop(what, "no message is named that holds its answer")
            return
        self.questions.append(
            Question(
                id=id or f"{self.name}/{label}",
                text=text,
                evidence=found,
                category=category,
                answer=None if answer is None else str(answer),
                at=aware(at),
                superseded=frozenset(superseded) & (known - self.shared),
            )
        )

    def finish(self) -> Conversation:
        return Conversation(
            name=self.name, sessions=self.sessions, questions=self.questions, memories=tuple(self.memories.values())
        )


def aware(time: datetime | None) -> datetime | None:
    """Times that name no zone are read as UTC."""
    return time if time is None or time.tzinfo is not None else time.replace(tzinfo=UTC)
