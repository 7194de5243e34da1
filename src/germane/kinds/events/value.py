"""Events as values: something that happened in a session, kept verbatim; the session; and an event as a caller gives it.

Messages, typed events (what an agent did or decided) and passages of documents are events of one class, `Event`; its type
tells them apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple, get_args

from germane.errors import InvalidInput
from germane.text.normal import content_hash
from germane.types.candidate import Outdated, PassageRange, Provenance, Sensitivity
from germane.types.checks import check_moment, check_one_of, check_text, check_type
from germane.types.codec import Hash
from germane.types.limits import EVENT_TYPE, ID, NAME

DOCUMENT = "document"
"""The type of the events that are a document's passages. The session of a document has a name that begins with it and a
colon."""
MESSAGE_TYPES = ("user_message", "assistant_message", "tool_message", "system_message")
"""The types of events that are messages. Passages of documents and these apart, all events are typed ones."""
FIRST_TYPED = -(1 << 30)
"""The position of the first typed event of a session; such positions are below 0."""
_NO_RAW: Mapping[str, Any] = {}
"""A dict, as callers write `raw` as JSON, copy and pickle it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One conversation of one user (None: agent-wide) with one agent. `number` counts the sessions of the scope from 1, in the
    order of their beginning; `length` is the number of events."""

    id: str
    user: str | None
    number: int
    started_at: datetime
    last_at: datetime
    length: int = 0


class ReplacementLink(NamedTuple):
    """An earlier message by its id (germane's). `ends` says that something that it states ended; otherwise it is only about the
    same, and the later message may say that it has changed."""

    id: str
    ends: bool


class Event(NamedTuple):
    """`type` is `user_message`, `assistant_message`, `system_message`, `tool_message`, or any other event type;
    `document` is a passage of a document, whose positions leave gaps.

    `message_id` is the caller's own id; `role` and `text` are as sent; `raw` is the caller's dict, for export. `position`
    counts the messages of the session from 0, in the order of arrival; other events count from `FIRST_TYPED` upwards, so that
    they don't stand between messages that are sent again. `created_at` is when the message was said, `recorded_at` when it was
    stored. Events that are read for a request have no `raw`, and a passage in place of a long text.

    A named tuple, as a request makes a hundred of them, and a frozen dataclass takes five times as long to make.
    """

    id: str
    type: str
    user: str | None
    session: str
    position: int
    text: str
    created_at: datetime
    recorded_at: datetime
    role: str = ""
    name: str = ""
    message_id: str | None = None
    sensitivity: Sensitivity = "private"
    outcome: str = ""
    """What became of it, in a word or two such as `ok` or `failed`; empty where nobody said."""
    task: str | None = None
    """The id of the task that it belongs to."""
    content_hash: Hash = 0
    """64 bits of role and text, for alignment and deduplication."""
    session_started_at: datetime | None = None
    session_number: int | None = None
    raw: Mapping[str, Any] = _NO_RAW
    provenance: Provenance = Provenance()
    passage: PassageRange | None = None
    """Where in the stored text `text` stands; None where `text` is the whole text."""
    outdated: tuple[Outdated, ...] = ()
    """What was extracted from the message and was replaced since, the oldest replacement first. Only events that are read for a
    request have it."""
    replaces: tuple[ReplacementLink, ...] = ()
    """The earlier messages that this one makes outdated, or may."""
    replaced_by: tuple[ReplacementLink, ...] = ()
    """The later messages that make this one outdated, or may. Only events that are read for a request have it."""
    newer: tuple[Event, ...] = ()
    """Of `replaced_by`, and of what replaces these in turn, those that ended something. Only events that are read for a request
    have it."""

    def without_content(self) -> Event:
        """Returns the event as a caller gets it who may not read: without text, name, outcome, provenance and what was made of
        it."""
        return self._replace(
            text="",
            name="",
            outcome="",
            content_hash=0,
            raw=_NO_RAW,
            provenance=Provenance(),
            passage=None,
            outdated=(),
            replaces=(),
            replaced_by=(),
        )

    @property
    def typed(self) -> bool:
        """Whether it is something done or decided, such as `file_read`, and not a message."""
        return self.position < 0

    @property
    def said_at(self) -> datetime:
        """When it was said: nothing is said after it was stored."""
        return min(self.created_at, self.recorded_at)

    def source_of(self, metadata: Mapping[str, Any], *, also: tuple[str, ...] = ()) -> Provenance:
        """Returns the provenance of what was found in this message, with its speaker and its content hash beside `metadata`.
        `also` are the ids of other messages in which it was found."""
        speaker = {"speaker": self.name} if self.name else {}
        return Provenance(
            source_kind=self.provenance.source_kind,
            channel=self.provenance.channel,
            session=self.session,
            message_id=self.message_id,
            refs=(self.id, *also),
            metadata={**metadata, "message_hash": self.content_hash, **speaker},
        )

    def __hash__(self) -> int:
        """Of the id: callers' dicts have no hash."""
        return hash(self.id)


class EventHead(NamedTuple):
    """An event without its text: enough to tell whether a message is stored already. `role` is empty for events that aren't
    messages. `kept_hash` is the content hash of the text as stored, where secrets were redacted in it; `content_hash` is that
    of the message as sent."""

    position: int
    role: str
    content_hash: int
    message_id: str | None
    created_at: datetime
    recorded_at: datetime
    kept_hash: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagePage:
    """One page of a listing of messages. `cursor` continues the listing; None on the last page."""

    messages: tuple[Event, ...]
    cursor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventPage:
    """One page of a listing of events that aren't messages. `cursor` continues the listing; None on the last page."""

    events: tuple[Event, ...]
    cursor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPage:
    """One page of a listing of sessions. `cursor` continues the listing; None on the last page."""

    sessions: tuple[Session, ...]
    cursor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """`added` are germane's ids of the new events, in order. `skipped` counts the messages that were stored before or are never
    stored (system messages and empty ones). `secrets` counts the secrets in the new messages, by kind.

    Of short messages without ids and times, it can't always be told whether they were sent again or said again:
    `assumed_resent` counts those of `skipped`, and `assumed_new` names those of `added`, for which `record` had to assume it.
    """

    added: tuple[str, ...] = ()
    skipped: int = 0
    secrets: Mapping[str, int] = field(default_factory=dict, hash=False)
    extracted: tuple[str, ...] = ()
    """Ids of the memories that rules found in the new messages of users."""
    assumed_resent: int = 0
    assumed_new: tuple[str, ...] = ()


# A typed event, as a caller hands it in.


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
        if not check_text("type", self.type, EVENT_TYPE).strip():
            raise InvalidInput(
                "is empty", path="type", advice="say what happened in a word, such as file_read, shell_exec, error or decision"
            )
        if self.type in MESSAGE_TYPES:
            raise InvalidInput("{} is a message's", self.type, path="type", advice="record messages with agent.record")
        if self.type == DOCUMENT:
            raise InvalidInput(
                "{} is that of a document's passages",
                self.type,
                path="type",
                advice="store documents with agent.documents.ingest",
            )
        if self.content is not None:
            check_type("content", self.content, (str, Mapping), "a string or a dict")
        check_text("outcome", self.outcome, NAME)
        if self.task is not None:
            check_text("task", self.task, ID)
        if self.id is not None and not check_text("id", self.id, ID):
            raise InvalidInput("is empty", path="id", advice="leave it out, or give one")
        if self.at is not None:
            check_moment("at", self.at)
        check_one_of("sensitivity", self.sensitivity, get_args(Sensitivity))
        check_type("metadata", self.metadata, Mapping, "a dict")


# The content hash, by which an event is recognised when it comes again.


def event_hash(event: Event) -> int:
    """Returns the hash of an event as it is stored: of role and text; of a typed event see `typed_hash`."""
    return typed_hash(event.type, event.outcome, event.text) if event.typed else content_hash(event.role, event.text)


def typed_hash(type: str, outcome: str, text: str) -> int:
    """Returns the hash of a typed event, whose position may not be known yet."""
    return content_hash(type, outcome, text)
