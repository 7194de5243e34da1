"""Draft: a labelled conversation under construction; what can't be used is dropped with a reason.

Missing ids are derived from positions in the file, so reading a file twice gives the same ids.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from germane.errors import InvalidInput
from germane.types.message import Message
from germane_eval.dataset import Conversation, Dropped, Question, Stated

# The evidence labels of a question, as the data sets write them, become ids of existing messages.


def single_id(label: Any) -> list[str]:
    """The label itself as its only id."""
    return [str(label)]


def flat_labels(labels: Any) -> Iterator[Any]:
    """Yields the labels of arbitrarily nested lists and mappings, in their order."""
    waiting = [labels]
    while waiting:
        label = waiting.pop()
        inner = label.values() if isinstance(label, Mapping) else label
        if isinstance(inner, Iterable) and not isinstance(inner, str):
            waiting += [*inner][::-1]
        elif label is not None:
            yield label


def known_ids(
    labels: Any,
    known: Collection[str],
    shared: Collection[str] = (),
    read: Callable[[Any], Iterable[str]] = single_id,
    noun: str = "evidence",
) -> tuple[frozenset[str], list[str]]:
    """Returns the labelled ids that are `known`, and a sentence for each label that isn't used. An id `shared` by several
    messages is ambiguous and isn't used. `read` parses one label into ids; `noun` names the labels in the sentences."""
    found: set[str] = set()
    lost = []
    for label in flat_labels(labels):
        ids = list(read(label))
        if not ids:
            lost.append(f"{noun} {label!r} is no message's id: left out")
        for id in ids:
            if id in shared:
                lost.append(f"{noun} {id} is the id of several messages: left out")
            elif id not in known:
                lost.append(f"{noun} {id} names no message: left out")
            else:
                found.add(id)
    return frozenset(found), lost


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
        read: Callable[[Any], Iterable[str]] = single_id,
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


# A JSON document with its path. An error says where the file is broken.


class JsonFile(NamedTuple):
    """A parsed JSON document and its path."""

    path: Path
    document: Any


def read_json_file(path: Path) -> JsonFile:
    """Reads a UTF-8 file, with or without a byte order mark. Raises `InvalidInput` naming the file and, for broken JSON, the
    line."""
    try:
        return JsonFile(path, json.loads(path.read_bytes().decode("utf-8-sig")))
    except OSError as error:
        raise InvalidInput(f"{path}: can't be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path}: not UTF-8 at byte {error.start + 1}: save it as UTF-8") from None
    except json.JSONDecodeError as error:
        raise InvalidInput(f"{path}: not JSON at line {error.lineno}, column {error.colno}: {error.msg}") from None
    except (ValueError, RecursionError):
        raise InvalidInput(f"{path}: not JSON that can be read: nested too deep, or a number too long") from None
