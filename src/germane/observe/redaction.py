"""Redaction: what may be in a log. A list of what is allowed, field by field, and what each may hold; all else is dropped.

Content can't get in by accident: no field takes free text. Words come from small sets or have the form of a name in code. For
the id of an org or an agent stands a keyed hash of six bytes, for an exception its type and place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from germane.observe.failure import Failure
from germane.observe.traffic import REASONS

__all__ = ["CODES", "EVENTS", "Literally", "Pseudonym", "allowed"]

EVENTS = frozenset(
    {
        *("request", "started", "stopping", "stopped", "ready", "not_ready", "loop_blocked", "loop_free", "lines_lost"),
        *("worker_started", "worker_ended", "listening", "foreign", "uncaught", "settings", "reloaded"),
        *("refused", "saturated", "unsaturated"),
    }
)
"""What may have happened. Another goes here first: the name of an event is no place for text either."""

REDACTED = "redacted"
"""Stands where a value was that its field may not hold."""


class Literally(str):
    """A text that stands so in somebody's code, found out by who makes one: it can't be content."""

    __slots__ = ()


Pseudonym = Callable[[str], str]
"""From an id to what stands for it in the log (`Germane.pseudonym`)."""


class _Id(str):
    """An id, for which a pseudonym is to be written."""

    __slots__ = ()


def _form(pattern: str) -> Callable[[object], object]:
    fits = re.compile(pattern, re.ASCII).fullmatch

    def check(value: object) -> object:
        return str(value) if isinstance(value, str) and fits(value) else REDACTED

    return check


def _one_of(words: Iterable[str]) -> Callable[[object], object]:
    known = frozenset(words)
    return lambda value: value if isinstance(value, str) and value in known else REDACTED


def _number(value: object) -> object:
    """Numbers are rounded to microseconds, where they are milliseconds."""
    if isinstance(value, float):
        return round(value, 3)
    return value if isinstance(value, bool | int) and abs(value) < 2**53 else REDACTED


def _id(value: object) -> object:
    return _Id(value) if isinstance(value, str) else REDACTED


_PLAIN = re.compile(r"[A-Za-z0-9._:-]{1,64}", re.ASCII)


def _request_id(value: object) -> object:
    """As the caller made it, or a pseudonym where it is longer or has other signs than an id needs."""
    return value if isinstance(value, str) and _PLAIN.fullmatch(value) else _id(value)


def _statuses(value: object) -> object:
    """Sources by status, `{"messages": "timeout"}`: names as in code."""
    if not isinstance(value, Mapping) or len(value) > 32:
        return REDACTED
    return {_source(source): _status(status) for source, status in value.items()}


def _several(check: Callable[[object], object]) -> Callable[[object], object]:
    return lambda value: [check(one) for one in value[:16]] if isinstance(value, tuple | list) else REDACTED


def _literal(value: object) -> object:
    return str(value)[:200] if isinstance(value, Literally) else REDACTED


_name = _form(r"[A-Za-z_][A-Za-z0-9_]{0,60}")
_source = _form(r"[A-Za-z_][A-Za-z_-]{0,40}\d{0,2}")
_status = _one_of(("ok", "timeout", "error", "skipped"))
_place = _form(r"[\w./+-]{1,120}:\d{1,7}")
CODES = (
    *(
        "OK",
        "CANCELLED",
        "UNKNOWN",
        "INVALID_ARGUMENT",
        "DEADLINE_EXCEEDED",
        "NOT_FOUND",
        "ALREADY_EXISTS",
        "PERMISSION_DENIED",
    ),
    *("RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE"),
    *("DATA_LOSS", "UNAUTHENTICATED"),
)
"""How a call can end, as gRPC names it."""
_REASON = r"|assembly_timeout|assembly_error:[A-Za-z_]\w{0,60}|shed|messages_exceed_window|grpc_error:[A-Z_]{2,20}"
_NOT_READY = ("starting", "stopping", "store_not_answering", "loop_lag", "saturated")

FIELDS: Mapping[str, Callable[[object], object]] = MappingProxyType(
    {
        "address": _form(r"[\w.-]{1,100}:\d{1,5}|\[[0-9a-fA-F:.]{2,45}\]:\d{1,5}"),
        "agent": _id,
        "at": _place,
        "cause": _name,
        "code": _one_of(CODES),
        "count": _number,
        "degradation_level": _number,
        "error": lambda value: REDACTED,
        "event": _one_of(EVENTS),
        "fallback_reason": _form(_REASON),
        "lag_ms": _number,
        "level": _one_of(("debug", "info", "warning", "error", "critical")),
        "logger": _form(r"[A-Za-z_][\w.]{0,80}"),
        "memories": _number,
        "method": _form(r"[A-Z][A-Za-z]{2,40}"),
        "milliseconds": _number,
        "not_ready": _several(_one_of(_NOT_READY)),
        "org": _id,
        "process": _number,
        "reason": _one_of(REASONS),
        "request_id": _request_id,
        "seconds": _number,
        "signal": _form(r"SIG[A-Z0-9]{2,10}"),
        "sources": _statuses,
        "stack": _several(_place),
        "text": _literal,
        "time": _form(r"[0-9T:.+-]{10,40}"),
        "tokens": _number,
        "trace_id": _form(r"[0-9a-f]{32}"),
        "version": _form(r"[0-9][\w.+-]{0,30}"),
        "workers": _number,
    }
)
"""Every field of a log, and what it may hold."""


def allowed(fields: Mapping[str, object], pseudonym: Pseudonym) -> dict[str, object]:
    """What of `fields` may be written, with pseudonyms in place of ids. An exception under `error` becomes its type and place;
    `dropped` counts the fields that nobody allowed."""
    found: dict[str, object] = {}
    dropped = 0
    for name, value in fields.items():
        if name == "error" and isinstance(value, BaseException):
            failure = Failure.of(value)
            told = (("at", failure.at), ("cause", failure.cause), ("stack", failure.stack[1:]))
            found |= {"error": _name(failure.error)} | {part: FIELDS[part](said) for part, said in told if said}
        elif (check := FIELDS.get(name)) is not None:
            if value is not None and value != "":
                said = check(value)
                found[name] = pseudonym(str(said)) if isinstance(said, _Id) else said
        else:
            dropped += 1
    if dropped:
        found["dropped"] = dropped
    return found
