"""Parse: reads the lines of an export back, and checks every field: the file may come from anywhere.

A field that has a default may be left out. Texts and times are kept as they stand. Raises `InvalidInput`, which names the field
and holds no content.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from datetime import datetime
from functools import partial
from inspect import Parameter, signature
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn

from germane.blocks.entry import ArchivalEntry
from germane.errors import InvalidInput
from germane.events.event import FIRST_TYPED, Event
from germane.events.prepared_message import slim
from germane.memories.checks import check_provenance, moment, words
from germane.memories.compose import compose, content_fields
from germane.memories.link import CONFLICT_REASONS, ContradictionRecord
from germane.memories.memory import Memory
from germane.memories.remember import ATTRIBUTES, hash_of
from germane.memories.resolve import BOTH
from germane.text.normal import content_hash
from germane.transfer.block_line import parsed_block
from germane.transfer.graph_line import parsed_entity, parsed_pattern, parsed_relation
from germane.transfer.history_line import parsed_archived, parsed_summary
from germane.transfer.line import FORMAT, VERSION
from germane.transfer.stored import Contents, Owned, Owner, Reach, SessionRecord, StoredDirective, Thing
from germane.transfer.task_line import parsed_stack, parsed_task
from germane.types.candidate import Provenance
from germane.types.extent import bounded
from germane.types.inventory import Tombstone
from germane.types.limits import DIRECTIVE, ID, MEMORY_TEXT, MESSAGE_TEXT, NAME, REFERENCES, REMARK, Limit, entries, shown
from germane.types.limits import text as string
from germane.types.scope import Scope

__all__ = ["MEMORY_FIELDS", "Header", "parse_line", "read_line"]

_ROLES = ("", "user", "assistant", "system", "tool")
_TOMBSTONES = ("memory", "message", "block", "entity", "relation", "pattern", "task", "archived", "summary")
_COUNTS = 1 << 53
_HASHES = 1 << 63


class Header(NamedTuple):
    """The first line of an export."""

    reach: Reach
    contents: Contents


def read_line(line: str | bytes) -> Mapping[str, Any]:
    """Returns the JSON object in a line. Raises `InvalidInput`."""
    try:
        entry = json.loads(line, parse_constant=_no_number)
    except UnicodeDecodeError as error:
        raise InvalidInput(f"it isn't UTF-8 at byte {error.start + 1}") from None
    except (ValueError, RecursionError) as error:
        if isinstance(error, InvalidInput):
            raise
        why = error.msg if isinstance(error, json.JSONDecodeError) else "nested too deep, or too long a number"
        raise InvalidInput(f"it isn't JSON: {why}") from None
    if not isinstance(entry, dict):
        raise InvalidInput(f"it must be an object, not {type(entry).__name__}")
    return entry


def parse_line(line: Mapping[str, Any]) -> Header | Owned:
    """Returns the header, or the stored thing, that the line holds."""
    kind = line.get("type")
    if kind == "header":
        return _header(line)
    if not isinstance(kind, str) or kind not in _THINGS:
        raise InvalidInput(f"type must be one of {', '.join(_THINGS)}, not {shown(kind)}")
    rest = dict(line)
    del rest["type"]
    owner = Owner(*(rest.pop(name, None) for name in Owner._fields))
    if owner.org is None and (kind != "tombstone" or owner != (None, None, None)):
        raise InvalidInput("org is missing: each line names its org, its agent, and its user or null")
    if owner.org is not None:
        Scope(org=owner.org, agent=owner.agent, user=owner.user)  # type: ignore[arg-type]
    return Owned(owner, _THINGS[kind](rest, owner))


def _header(line: Mapping[str, Any]) -> Header:
    if line.get("format") != FORMAT:
        raise InvalidInput(f"format must be {FORMAT!r}, not {shown(line.get('format'))}")
    version = line.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise InvalidInput(f"version must be a whole number from 1, not {shown(version)}")
    if version > VERSION:
        raise InvalidInput(
            f"the export has version {shown(version)} of the format, and this germane reads up to {VERSION}: upgrade germane"
        )
    scope, holds = (line.get(name) for name in ("scope", "holds"))
    if not isinstance(scope, Mapping) or not isinstance(holds, Mapping):
        raise InvalidInput("the header needs its scope and what it holds, as objects")
    given = _read("scope", scope, dict.fromkeys(("org", "agent", "user", "all_users"), _passed))
    counts = _read("holds", holds, {field.name: _count for field in fields(Contents) if field.name != "latest"})
    if not isinstance(given.get("all_users", False), bool):
        raise InvalidInput("all_users must be true or false")
    return Header(Reach(**given), Contents(**counts))


def _directive(line: Mapping[str, Any], _: Owner) -> Thing:
    text = _read("a directive", line, {"text": partial(_text, limit=DIRECTIVE)}).get("text")
    return StoredDirective(words("text", text))


def _memory(line: Mapping[str, Any], owner: Owner) -> Thing:
    kind = string("kind", line.get("kind"), NAME)
    inside = content_fields(kind)
    content = compose(kind=kind, given={name: line[name] for name in inside if name in line})
    rest = {name: value for name, value in line.items() if name != "kind" and name not in inside}
    given = _read(f"a {kind}", rest, MEMORY_FIELDS)
    given.setdefault("content_hash", hash_of(kind, content))
    given.setdefault("updated_at", given.get("created_at"))
    given.setdefault("valid_from", given.get("created_at"))
    _complete(Memory, given, f"a {kind}", ("kind", "content", "user"))
    return Memory(kind=kind, content=content, user=owner.user, **given)


def _contradiction(line: Mapping[str, Any], _: Owner) -> Thing:
    given = _read("a contradiction", line, _CONTRADICTION_FIELDS)
    _complete(ContradictionRecord, given, "a contradiction")
    record = ContradictionRecord(**given)
    if record.older == record.newer:
        raise InvalidInput("a contradiction is between two memories: older and newer are the same")
    if (record.kept is None) != (record.resolved_at is None):
        raise InvalidInput("a contradiction that was resolved has resolved_at and kept, and an open one neither")
    if record.kept not in (None, BOTH, record.older, record.newer):
        raise InvalidInput(f"kept must be the id of one of the two memories, or {BOTH}")
    return record


def _entry(line: Mapping[str, Any], owner: Owner) -> Thing:
    given = _read("an entry", line, _ENTRY_FIELDS)
    _complete(ArchivalEntry, given, "an entry", ("user",))
    return ArchivalEntry(user=owner.user, **given)


def _block(line: Mapping[str, Any], owner: Owner) -> Thing:
    return parsed_block(line, owner)


def _task(line: Mapping[str, Any], owner: Owner) -> Thing:
    return parsed_task(line, owner)


def _stack(line: Mapping[str, Any], _: Owner) -> Thing:
    return parsed_stack(line)


def _session(line: Mapping[str, Any], _: Owner) -> Thing:
    given = _read("a session", line, _SESSION_FIELDS)
    _complete(SessionRecord, given, "a session")
    return SessionRecord(id=given.pop("session"), **given)


def _message(line: Mapping[str, Any], owner: Owner) -> Thing:
    given = _read("a message", line, _MESSAGE_FIELDS)
    role = given.setdefault("role", "")
    given.setdefault("event_type", f"{role}_message")
    given.setdefault("recorded_at", given.get("created_at"))
    _complete(Event, given, "a message", ("user",))
    given.setdefault("content_hash", content_hash(role, given["content"]))
    if "provenance" not in given:
        given["provenance"] = Provenance(source_kind="import", session=given["session"], message_id=given.get("id"))
    return Event(user=owner.user, **{_RENAMED.get(name, name): value for name, value in given.items()})


def _tombstone(line: Mapping[str, Any], _: Owner) -> Thing:
    given = _read("a tombstone", line, _TOMBSTONE_FIELDS)
    _complete(Tombstone, given, "a tombstone")
    return Tombstone(**given)


def _read(what: str, line: Mapping[str, Any], checks: Mapping[str, Callable[[str, Any], Any]]) -> dict[str, Any]:
    """Returns the line's fields, checked. Raises `InvalidInput` for a field that isn't known."""
    if strangers := sorted(str(name)[:40] for name in line.keys() - checks.keys()):
        raise InvalidInput(f"{what} has a field {strangers[0]!r} that this germane doesn't know: upgrade germane, or remove it")
    return {name: checks[name](name, value) for name, value in line.items()}


def _complete(kind: type[Any], given: Mapping[str, Any], what: str, known: tuple[str, ...] = ()) -> None:
    """Raises `InvalidInput` where a field without a default is missing, but for those that are `known` otherwise."""
    for field in _WITHOUT_DEFAULT[kind]:
        name = _NAMES.get((kind, field), field)
        if field not in known and given.get(name) is None:
            raise InvalidInput(f"{what} lacks its {name}")


def _passed(_: str, value: Any) -> Any:
    return value


def _text(name: str, value: Any, limit: Limit, *, empty: bool = True) -> str:
    found = string(name, value, limit)
    if not found and not empty:
        raise InvalidInput(f"{name} is empty")
    return found


def _count(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < _COUNTS:
        raise InvalidInput(f"{name} must be a whole number from 0 to {_COUNTS - 1}, not {shown(value)}")
    return value


def _hash(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not -_HASHES <= value < _HASHES:
        raise InvalidInput(f"{name} must be a whole number of 64 bits, not {shown(value)}")
    return value


def _time(name: str, value: Any) -> datetime:
    if not isinstance(value, str):
        raise InvalidInput(f"{name} must be a time in ISO 8601, not {type(value).__name__}")
    return moment(name, value, "UTC")


def _role(name: str, value: Any) -> str:
    if value not in _ROLES or not isinstance(value, str):
        raise InvalidInput(f"{name} must be one of {', '.join(_ROLES[1:])}, or empty, not {shown(value)}")
    return value


def _conflict_reason(name: str, value: Any) -> str:
    if value not in CONFLICT_REASONS or not isinstance(value, str):
        raise InvalidInput(f"{name} must be one of {', '.join(CONFLICT_REASONS)}, not {shown(value)}")
    return value


def _what(name: str, value: Any) -> str:
    if value not in _TOMBSTONES:
        raise InvalidInput(f"{name} must be one of {', '.join(_TOMBSTONES)}, not {shown(value)}")
    return str(value)


def _raw(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{name} must be an object, not {type(value).__name__}")
    bounded(name, value)
    return slim(value)


def _provenance(name: str, value: Any) -> Provenance:
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{name} must be an object, not {type(value).__name__}")
    given = _read(name, value, {field.name: _passed for field in fields(Provenance)})
    return check_provenance(Provenance(**given))


def _message_provenance(name: str, value: Any) -> Provenance:
    """As `_provenance`; the id of a tool call is the provider's and may be longer than ids of callers."""
    called = value.get("tool_call_id") if isinstance(value, Mapping) else None
    if called is None:
        return _provenance(name, value)
    return replace(_provenance(name, {**value, "tool_call_id": None}), tool_call_id=_text("tool_call_id", called, MESSAGE_TEXT))


def _session_id(name: str, value: Any) -> str:
    Scope(session=_text(name, value, ID))
    return str(value)


def _or_none(check: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
    return lambda name, value: None if value is None else check(name, value)


def _attribute(name: str, value: Any) -> Any:
    return ATTRIBUTES[name](value, "UTC")


def _no_number(name: str) -> NoReturn:
    raise InvalidInput(f"{name} is no number of JSON")


def _position(name: str, value: Any) -> int:
    """A message's position, or that of an event that is none."""
    if isinstance(value, int) and not isinstance(value, bool) and FIRST_TYPED <= value < 0:
        return value
    return _count(name, value)


_ID = partial(_text, limit=ID, empty=False)
MEMORY_FIELDS: Mapping[str, Callable[[str, Any], Any]] = MappingProxyType(
    dict.fromkeys(ATTRIBUTES, _attribute)
    | {
        "id": _ID,
        "created_at": _time,
        "updated_at": _time,
        "superseded_by": _or_none(_ID),
        "stale_since": _or_none(_time),
        "derived_from": lambda name, value: entries(name, value, REFERENCES, ID),
        "helpful": _count,
        "harmful": _count,
        "retrieval_count": _count,
        "content_hash": _hash,
        "provenance": _provenance,
    }
)
"""The check of each field of a memory, but for those of its kind. A further field of `Memory` needs one here."""
_MESSAGE_FIELDS: Mapping[str, Callable[[str, Any], Any]] = MappingProxyType(
    {
        "session": _session_id,
        "position": _position,
        "id": _or_none(_ID),
        "germane_id": _ID,
        "event_type": partial(_text, limit=NAME, empty=False),
        "role": _role,
        "name": lambda name, value: "" if value is None else _text(name, value, NAME),
        "content": partial(_text, limit=MESSAGE_TEXT),
        "created_at": _time,
        "recorded_at": _time,
        "sensitivity": _attribute,
        "content_hash": _hash,
        "provenance": _message_provenance,
        "raw": _raw,
        "outcome": partial(_text, limit=NAME),
        "task": _or_none(_ID),
    }
)
_RENAMED = MappingProxyType({"germane_id": "id", "id": "message_id", "content": "text", "event_type": "type"})
"""The fields of a message's line that `Event` calls otherwise."""
_SESSION_FIELDS: Mapping[str, Callable[[str, Any], Any]] = MappingProxyType(
    {"session": _session_id, "next": _count, "length": _count, "started_at": _or_none(_time), "last_at": _or_none(_time)}
)
_CONTRADICTION_FIELDS: Mapping[str, Callable[[str, Any], Any]] = MappingProxyType(
    {
        "id": _ID,
        "reason": _conflict_reason,
        "older": _ID,
        "newer": _ID,
        "created_at": _time,
        "resolved_at": _or_none(_time),
        "kept": _or_none(_ID),
    }
)
_ENTRY_FIELDS: Mapping[str, Callable[[str, Any], Any]] = MappingProxyType(
    {"id": _ID, "text": partial(_text, limit=MEMORY_TEXT), "metadata": _raw, "created_at": _time}
)
_TOMBSTONE_FIELDS: Mapping[str, Callable[[str, Any], Any]] = MappingProxyType(
    {
        "id": _ID,
        "what": _what,
        "at": _time,
        "by": partial(_text, limit=REMARK),
        "reason": partial(_text, limit=REMARK),
    }
)
_NAMES = MappingProxyType(
    {(Event, new): old for old, new in _RENAMED.items()} | {(SessionRecord, "id"): "session"}  # by class and its own field
)
_WITHOUT_DEFAULT: Mapping[type[Any], tuple[str, ...]] = MappingProxyType(
    {
        kind: tuple(name for name, field in signature(kind).parameters.items() if field.default is Parameter.empty)
        for kind in (Memory, ContradictionRecord, ArchivalEntry, SessionRecord, Event, Tombstone)
    }
)
"""The fields of dataclasses and named tuples that have no default."""
_THINGS: Mapping[str, Callable[[Mapping[str, Any], Owner], Thing]] = MappingProxyType(
    {
        "directive": _directive,
        "memory": _memory,
        "contradiction": _contradiction,
        "block": _block,
        "entry": _entry,
        "session": _session,
        "message": _message,
        "entity": parsed_entity,
        "relation": parsed_relation,
        "pattern": parsed_pattern,
        "task": _task,
        "task_stack": _stack,
        "archived": lambda line, _: parsed_archived(line),
        "summary": lambda line, _: parsed_summary(line),
        "tombstone": _tombstone,
    }
)
