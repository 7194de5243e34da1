"""Prepared: a message in the form in which it is stored: valid Unicode, its event type, UTC time, without secrets.

The content hash stays that of the message as sent, so that a message that is sent again, or stands in a request, is
recognised without looking for secrets or for germane's own text in it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from germane.clock import aware
from germane.dialects.opaque import kept_text, without_held
from germane.errors import InvalidInput
from germane.extraction.memories.extracted import MessageReading
from germane.kinds.profile.telling import TellingClause
from germane.search.unit import Analysis
from germane.text.injected import without_injected
from germane.text.normal import content_hash, valid_unicode
from germane.text.own_words.own_words import own_words
from germane.text.secrets.detection import SecretPolicy, SecretScreen, find_secrets
from germane.types.limits import MESSAGE_TEXT
from germane.types.message import Message, Opaque, Text, ToolCall, ToolResult

_PAYLOAD = re.compile(r"[A-Za-z0-9+/=_\-\s]++")
_DATA_URL = re.compile(r"data:[^,]{0,200};base64,")
_MAX_PAYLOAD = 4_096
"""Characters of base64 in a caller's dict; longer payloads are replaced by a marker."""
_MAX_DEPTH = 32
_MAX_NAME = 256
"""Characters."""
_NOT_JSON = object()
_PLAIN_FIELDS = frozenset({"role", "content", "id", "name", "created_at"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedMessage:
    """`content_hash` is made from role and content as sent, so that a message that is sent again has the same hash, whatever
    was redacted in what is stored. `raw` is empty where the caller's dict says no more than the other fields."""

    role: str
    type: str
    text: str
    content_hash: int
    id: str | None
    name: str
    created_at: datetime | None
    tool_call_id: str | None
    raw: Mapping[str, Any] = field(default_factory=dict, hash=False)
    earlier_hash: int | None = None
    """The hash of the content without the text of documents and other parts: earlier states of germane stored this one."""
    own_words: bool = False
    """Whether `text` is what a user wrote: one text of a user's turn, with no tool's result beside it, and no other text but
    elements of the client's, and documents, which are quoted behind it."""
    analysis: tuple[Analysis, ...] | None = field(default=None, compare=False, repr=False)
    """The analysis of each part of `text`, where it was made before the transaction."""
    index: int | None = None
    """Its place in the caller's list, where that is known."""
    sensitive: bool = False
    """Whether it is stored as sensitive, because it holds a secret."""
    secrets: SecretNote | None = None
    """What was found in it, where it holds a secret."""
    found: MessageReading | None = field(default=None, compare=False, repr=False)
    """What the text says, where it was read before the transaction."""
    telling: tuple[TellingClause, ...] | None = field(default=None, compare=False, repr=False)
    """Its telling clauses, where it was read for them before the transaction."""

    @classmethod
    def of(cls, message: Message, raw: Mapping[str, Any] | None, zone: str, index: int | None = None) -> PreparedMessage | None:
        """Prepares `message`; `raw` is the caller's dict, `zone` the time zone of naive times, `index` the place in the
        caller's list. Returns None for messages that aren't stored: system messages and messages without content. Raises
        `InvalidInput` for an invalid id."""
        if message.role == "system":
            return None
        content = message.content
        if not content.strip():
            content = " ".join(f"[{part.kind}]" for part in message.parts if isinstance(part, Opaque) and not _is_unsaid(part))
        if not content:
            return None
        results = message.tool_results
        answers = (bool(results) and not message.text.strip()) or _is_servers(message)
        shown = [part.text for part in message.parts if isinstance(part, Opaque) and part.text]
        earlier = _without_shown(message) if shown else content
        return cls(
            role=message.role,
            type="tool_message" if answers else f"{message.role}_message",
            text=valid_unicode(kept_text(message) if shown else content)[: MESSAGE_TEXT.maximum],
            content_hash=content_hash(message.role, content),
            earlier_hash=content_hash(message.role, earlier) if shown else None,
            id=None if message.id is None else _id(message.id),
            name=valid_unicode(message.name or "")[:_MAX_NAME],
            created_at=None if message.created_at is None else aware(message.created_at, zone),
            tool_call_id=valid_unicode(results[0].call_id) if len(results) == 1 else None,
            own_words=_is_own(message),
            raw={} if raw is None or _plain(raw) else slim(raw),
            index=index,
        )


def _is_unsaid(part: Opaque) -> bool:
    """Whether the part is an item of its own that says nothing: a reasoning item, or a reference to a stored one."""
    return part.kind.endswith((":reasoning", ":item_reference", ":compaction"))


def _is_servers(message: Message) -> bool:
    """Whether the message is the call of a provider's own tool with its output, and nothing that the assistant says."""
    return message.role == "assistant" and all(
        isinstance(part, Opaque) and part.text and part.kind != "openai:audio" for part in message.parts
    )


def _without_shown(message: Message) -> str:
    kinds = " ".join(f"[{part.kind}]" for part in message.parts if isinstance(part, Opaque) and not _is_unsaid(part))
    return content if (content := without_held(message).content).strip() else kinds


def _is_own(message: Message) -> bool:
    if message.role != "user" or any(isinstance(part, ToolCall | ToolResult) for part in message.parts):
        return False
    texts = [part.text for part in message.parts if isinstance(part, Text)]
    if len(texts) > 1:
        texts = [text for text in texts if not (text.lstrip().startswith("<") and not own_words(text).strip())]
    return len(texts) == 1


def _plain(raw: Mapping[str, Any]) -> bool:
    """Whether the dict holds only what the other fields hold too."""
    return _PLAIN_FIELDS.issuperset(raw) and isinstance(raw.get("content"), str)


def slim(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what JSON can hold of `raw`: other values and what is nested deeper than 32 levels are dropped, base64 payloads
    above 4,096 characters are replaced by a marker."""
    kept = _json(raw, 0)
    return kept if isinstance(kept, dict) else {}


def _json(value: Any, depth: int) -> Any:
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, float):
        return value if value - value == 0 else _NOT_JSON
    if isinstance(value, datetime):
        return value.isoformat()
    if depth >= _MAX_DEPTH:
        return _NOT_JSON
    if isinstance(value, Mapping):
        pairs = ((valid_unicode(key), _json(item, depth + 1)) for key, item in value.items() if isinstance(key, str))
        return {key: item for key, item in pairs if item is not _NOT_JSON}
    if isinstance(value, list | tuple):
        return [item for item in (_json(item, depth + 1) for item in value) if item is not _NOT_JSON]
    return _NOT_JSON


def _text(value: str) -> str:
    if len(value) > _MAX_PAYLOAD:
        head = _DATA_URL.match(value)
        if head or (" " not in value[:_MAX_PAYLOAD] and _PAYLOAD.fullmatch(value)):
            return f"{head[0] if head else ''}[{len(value):,} characters of base64 left out]"
    return valid_unicode(value)


def _id(value: object) -> str:
    if not isinstance(value, str) or not value or len(value) > _MAX_NAME:
        raise InvalidInput(f"must be a string of 1 to {_MAX_NAME} characters", path="id")
    return valid_unicode(value)


# The policy on secrets is applied, and germane's own text is left out.


def screened_message(
    message: PreparedMessage, policy: SecretPolicy, breath: Callable[[], None] = lambda: None
) -> PreparedMessage:
    """Returns the message as it is to be stored: its text, its name and the caller's dict. Raises `InvalidInput`, which names
    the kind of secret and the message's place, where the policy refuses it."""
    quick = not message.raw and without_injected(message.text) is message.text
    if quick and (policy == "off" or not (find_secrets(message.text, breath) or find_secrets(message.name))):
        return message  # as nearly every message
    screen = SecretScreen(policy, "a message" if message.index is None else f"messages[{message.index}]", breath)
    text, name = screen.text(message.text), screen.text(message.name)
    raw = screen.again(message.raw) if message.raw else message.raw
    if not screen.found and not screen.left_out:
        return message
    note = SecretNote(kinds=dict(screen.found))
    if screen.left_out or policy == "redact":
        size = len(message.text.encode("utf-8", "surrogatepass"))
        note = replace(note, given_bytes=size, kept_hash=content_hash(message.role, text))
    sensitive = bool(screen.found) and policy != "redact"
    return replace(message, text=text, name=name, raw=raw, secrets=note, sensitive=sensitive)


def counted_secrets(messages: Iterable[PreparedMessage]) -> dict[str, int]:
    """Returns how many secrets of which kind were found in the messages."""
    total: Counter[str] = Counter()
    for message in messages:
        if message.secrets is not None:
            total.update(message.secrets.kinds)
    return dict(total)


# What was found, and what the message was like before anything was left out of it.


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretNote:
    """`kinds` counts the secrets by kind. Of a message that was redacted, or that held germane's own text, `given_bytes` is the
    size of its text as sent, in bytes of UTF-8, and `kept_hash` is the content hash of the text as stored: by the one a
    request's own long message is recognised, by the other a message that comes back as it was exported. Both are None where the
    text is stored as sent. Of such an event there is `kept_hash` alone."""

    kinds: Mapping[str, int] = field(hash=False)
    given_bytes: int | None = None
    kept_hash: int | None = None

    def as_metadata(self) -> dict[str, Any]:
        """The note as it is stored, in the metadata of the message's provenance."""
        note: dict[str, Any] = {"secrets": dict(self.kinds)} if self.kinds else {}
        if self.given_bytes is not None:
            note["given_bytes"] = self.given_bytes
        if self.kept_hash is not None:
            note["kept_hash"] = self.kept_hash
        return note
