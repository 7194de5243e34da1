"""Draft: a labelled conversation under construction; what can't be used is dropped with a reason.

Missing ids are derived from positions in the file, so reading a file twice gives the same ids.
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
    """A conversation that a reader fills message by message and question by question."""

    name: str
    sessions: dict[str, list[Message]] = field(default_factory=dict)
    memories: dict[str, Stated] = field(default_factory=dict)
    questions: list[Question] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)
    messages: dict[str, Message] = field(default_factory=dict)
    """All messages of all sessions, by id."""
    shared: set[str] = field(default_factory=set)
    """Ids that the file gives to several messages. As labels they are ambiguous and are dropped."""

    def drop(self, what: str, reason: str) -> None:
        """Notes that the message or question `what` was left out."""
        self.dropped.append(Dropped(where=f"{self.name}, {what}", reason=reason))

    def add_message(self, session: str, message: Message, what: str) -> str | None:
        """Adds a message; `what` names it in the list of dropped entries. Returns the id of the added message, which differs
        from its own where that is taken, or None where the message was dropped for having no text."""
        if not message.content.strip():
            self.drop(what, "it has no text")
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
        needed: bool = True,
        id: str | None = None,
        name: str | None = None,
        category: str = "",
        answer: Any = None,
        at: datetime | None = None,
        superseded: Iterable[str] = (),
    ) -> None:
        """Adds a question, or drops it where it has no text or, if evidence is `needed`, no usable label. `label` names it
        within the conversation; its id is `id` or else `<conversation>/<label>`. `evidence` are the labels of the file, nested
        at will; `read` parses one label into ids. `name` is who asks."""
        what = f"question {label}"
        if not isinstance(text, str) or not text.strip():
            self.drop(what, "it has no text")
            return
        known = {*self.messages, *self.memories}
        found, lost = known_ids(evidence, known, self.shared, read)
        for reason in lost:
            self.drop(what, reason)
        if needed and not found:
            self.drop(what, "none of its labels names an existing message")
            return
        self.questions.append(
            Question(
                id=id or f"{self.name}/{label}",
                text=text,
                evidence=found,
                name=name,
                category=category,
                answer=None if answer is None else str(answer),
                at=aware(at),
                superseded=frozenset(superseded) & (known - self.shared),
            )
        )

    def finish(self) -> Conversation:
        """The finished conversation."""
        return Conversation(
            name=self.name, sessions=self.sessions, questions=self.questions, memories=tuple(self.memories.values())
        )


def aware(time: datetime | None) -> datetime | None:
    """`time` with a zone: a naive time is read as UTC."""
    return time if time is None or time.tzinfo is not None else time.replace(tzinfo=UTC)
