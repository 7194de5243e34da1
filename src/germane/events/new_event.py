"""New event: something done or decided, as a caller hands it in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, get_args

from germane.errors import InvalidInput
from germane.events.event import DOCUMENT, MESSAGE_TYPES
from germane.types.candidate import Sensitivity
from germane.types.limits import EVENT_TYPE, ID, NAME, shown, text

__all__ = ["NewEvent"]


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
