"""New event: something done or decided, as a caller hands it in, and the form in which it is stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, get_args

from germane.clock import aware
from germane.errors import InvalidInput
from germane.events.appending import Origin
from germane.events.event import DOCUMENT, MESSAGE_TYPES, Event
from germane.events.prepared_message import clean, slim
from germane.events.secret_note import SecretNote
from germane.events.wording import wording
from germane.text.normal import content_hash
from germane.text.secrets.screen import SecretScreen
from germane.types.candidate import Provenance, Sensitivity
from germane.types.limits import EVENT_TYPE, ID, MESSAGE_TEXT, NAME, shown, text, within

__all__ = ["NewEvent", "prepared_event", "same_event"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEvent:
    """An event that isn't a message. `type` is a word such as `file_read`, `shell_exec`, `error` or `decision`, or any other;
    `content` a string or a dict as JSON allows it; `outcome` a word or two such as `success` or `failure`; `task` the id of the
    task that it belongs to (default: the current one of its session, where it has one; '' for none); `at` when it happened
    (default: now); `id` your own id of it within the session.

    Raises `InvalidInput` for what can't be stored, and for the types of messages."""

    type: str
    content: Any = None
    outcome: str = ""
    task: str | None = None
    at: datetime | None = None
    id: str | None = None
    sensitivity: Sensitivity = "private"
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """What else is kept with it, in its provenance; the text doesn't say it."""

    def __post_init__(self) -> None:
        if not text("type", self.type, EVENT_TYPE).strip():
            raise InvalidInput("type is empty: say what happened in a word, such as file_read, shell_exec, error or decision")
        if self.type in MESSAGE_TYPES:
            raise InvalidInput(f"type {self.type!r} is a message's: record messages with agent.record")
        if self.type == DOCUMENT:
            raise InvalidInput(
                f"type {self.type!r} is that of a document's passages: store documents with agent.documents.ingest"
            )
        if not isinstance(self.content, str | Mapping | None):
            raise InvalidInput(f"content must be a string or a dict, not {type(self.content).__name__}")
        text("outcome", self.outcome, NAME)
        if self.task is not None:
            text("task", self.task, ID)
        if self.id is not None and not text("id", self.id, ID):
            raise InvalidInput("id is empty: leave it out, or give one")
        if not isinstance(self.at, datetime | None):
            raise InvalidInput(f"at must be a datetime, not {type(self.at).__name__}")
        if self.sensitivity not in get_args(Sensitivity):
            raise InvalidInput(f"sensitivity must be one of {', '.join(get_args(Sensitivity))}, not {shown(self.sensitivity)}")
        if not isinstance(self.metadata, Mapping):
            raise InvalidInput(f"metadata must be a dict, not {type(self.metadata).__name__}")


def prepared_event(new: NewEvent, origin: Origin, *, now: datetime, after: int = 0) -> Event:
    """Returns the event in the form in which it is stored, with `now`, and a microsecond more for each event `after` which it
    comes, where it has no time of its own. Its position is still 0.
    The policy on secrets is applied to all that is kept of it; its hash is that of the text as given. Raises `InvalidInput` for
    a text that is too long, a time outside the years 1 to 9999, and a secret that the policy refuses."""
    now = now + timedelta(microseconds=after)
    content = clean(new.content) if isinstance(new.content, str) else slim(new.content or {})
    whole = wording(clean(new.type), content)
    within("content", len(whole), MESSAGE_TEXT)
    screen = SecretScreen(origin.secrets, "an event")
    kept, text = screen.json(content), whole
    outcome, metadata = screen.text(clean(new.outcome)), screen.json(slim(new.metadata))
    if screen.found or origin.secrets != "off":
        text = screen.again(wording(clean(new.type), kept))
    metadata |= {} if not screen.found else SecretNote(kinds=dict(screen.found)).as_metadata()
    return Event(
        id=origin.make_id(int(now.timestamp() * 1000)),
        type=clean(new.type),
        user=origin.scope.user,
        session=origin.session,
        position=0,
        text=text,
        created_at=now if new.at is None else aware(new.at, origin.scope.zone, "at"),
        recorded_at=now,
        message_id=None if new.id is None else clean(new.id),
        sensitivity="sensitive" if screen.found and origin.secrets == "tag" else new.sensitivity,
        content_hash=content_hash(new.type, new.outcome, whole),
        outcome=outcome,
        task=clean(new.task) if new.task else None,
        raw={"content": kept} if kept else {},
        provenance=Provenance(
            source_kind="tool" if origin.source_kind == "user" else origin.source_kind,
            channel=origin.channel,
            session=origin.session,
            message_id=new.id,
            metadata=metadata,
        ),
    )


def same_event(stored: Event, new: Event) -> bool:
    """Whether a stored event is what `new` says: by type, outcome and text as given."""
    return stored.content_hash == new.content_hash
