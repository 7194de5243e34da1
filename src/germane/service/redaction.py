"""Redaction: the closed list of log fields, and the values that each may hold; everything else is dropped.

Content can't get into the log by accident, since no field takes free text. Words come from small sets or have the form of a
name in code. The ids of orgs and agents are replaced by pseudonyms (a keyed hash of six bytes), exceptions by type and
place.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from types import FrameType, MappingProxyType, TracebackType

from germane.types.traffic import REASONS, UNRECORDED

EVENTS = frozenset(
    {
        *("request", "started", "stopping", "stopped", "ready", "not_ready", "loop_blocked", "loop_free", "lines_lost"),
        *("worker_started", "worker_ended", "listening", "foreign", "uncaught", "settings", "reloaded"),
        *("refused", "saturated", "unsaturated", "unrecorded"),
        *("embedder_failing", "embedder_answers", "llm_failing", "llm_answers"),
    }
)
"""Every event that can be logged; another name is replaced by `redacted`, so that an event can't carry text."""

_REDACTED = "redacted"
"""Replaces a value that its field may not hold."""


class LiteralText(str):
    """A text that its maker found as a string constant in code, so that it can't be content."""

    __slots__ = ()


Pseudonym = Callable[[str], str]
"""Returns what is logged in place of an id (`Germane.pseudonym`)."""


class _Id(str):
    """An id that `redact` replaces by its pseudonym."""

    __slots__ = ()


def _form(pattern: str) -> Callable[[object], object]:
    """A check for texts that match the whole of `pattern`, in ASCII."""
    fits = re.compile(pattern, re.ASCII).fullmatch

    def check(value: object) -> object:
        return str(value) if isinstance(value, str) and fits(value) else _REDACTED

    return check


def _one_of(words: Iterable[str]) -> Callable[[object], object]:
    known = frozenset(words)
    return lambda value: value if isinstance(value, str) and value in known else _REDACTED


def _number(value: object) -> object:
    """Numbers; fractions are rounded to three digits, which is microseconds for a value in milliseconds."""
    if isinstance(value, float):
        return round(value, 3)
    return value if isinstance(value, bool | int) and abs(value) < 2**53 else _REDACTED


def _id(value: object) -> object:
    return _Id(value) if isinstance(value, str) else _REDACTED


_PLAIN = re.compile(r"[A-Za-z0-9._:-]{1,64}", re.ASCII)


def _request_id(value: object) -> object:
    """The caller's request id, or its pseudonym if it is over 64 characters or has characters that ids don't need."""
    return value if isinstance(value, str) and _PLAIN.fullmatch(value) else _id(value)


def _statuses(value: object) -> object:
    """The status of each source, such as `{"messages": "timeout"}`."""
    if not isinstance(value, Mapping) or len(value) > 32:
        return _REDACTED
    return {_source(source): _status(status) for source, status in value.items()}


def _list_of(check: Callable[[object], object]) -> Callable[[object], object]:
    return lambda value: [check(element) for element in value[:16]] if isinstance(value, tuple | list) else _REDACTED


def _literal(value: object) -> object:
    return str(value)[:200] if isinstance(value, LiteralText) else _REDACTED


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
"""gRPC's status codes."""
_FALLBACK_REASON = (
    r"|assembly_timeout|assembly_error:[A-Za-z_]\w{0,60}|shed|hurried|shallow|messages_exceed_window|grpc_error:[A-Z_]{2,20}"
    r"|denied|key_unverified|invalid_input"
)
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
        "error": lambda value: _REDACTED,
        "event": _one_of(EVENTS),
        "fallback_reason": _form(_FALLBACK_REASON),
        "lag_ms": _number,
        "level": _one_of(("debug", "info", "warning", "error", "critical")),
        "logger": _form(r"[A-Za-z_][\w.]{0,80}"),
        "memories": _number,
        "method": _form(r"[A-Z][A-Za-z]{2,40}|[a-z][a-z_.]{2,40}"),
        "milliseconds": _number,
        "not_ready": _list_of(_one_of(_NOT_READY)),
        "org": _id,
        "process": _number,
        "reason": _one_of((*REASONS, *UNRECORDED)),
        "request_id": _request_id,
        "seconds": _number,
        "signal": _form(r"SIG[A-Z0-9]{2,10}"),
        "sources": _statuses,
        "stack": _list_of(_place),
        "text": _literal,
        "time": _form(r"[0-9T:.+-]{10,40}"),
        "tokens": _number,
        "trace_id": _form(r"[0-9a-f]{32}"),
        "version": _form(r"[0-9][\w.+-]{0,30}"),
        "workers": _number,
    }
)
"""Every field of a log line, with the check that returns its value or `redacted`."""


def redact(fields: Mapping[str, object], pseudonym: Pseudonym) -> dict[str, object]:
    """Returns what may be logged of `fields`, with pseudonyms in place of ids. An exception under `error` becomes its type,
    place, cause and stack. `dropped` counts the fields that aren't on the list."""
    kept: dict[str, object] = {}
    dropped = 0
    for name, value in fields.items():
        if name == "error" and isinstance(value, BaseException):
            failure = Failure.of(value)
            parts = (("at", failure.place), ("cause", failure.cause), ("stack", failure.stack[1:]))
            kept |= {"error": _name(failure.error)} | {part: FIELDS[part](text) for part, text in parts if text}
        elif (check := FIELDS.get(name)) is not None:
            if value is not None and value != "":
                checked = check(value)
                kept[name] = pseudonym(str(checked)) if isinstance(checked, _Id) else checked
        else:
            dropped += 1
    if dropped:
        kept["dropped"] = dropped
    return kept


# An exception as type and source line, without its message, which may quote content or a key.


_MAX_PLACES = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """`error` is the type's name, `place` where it was raised, `stack` the frames (`file.py:line`, innermost first) and `cause`
    the type of the exception that led to it."""

    error: str
    place: str = ""
    stack: tuple[str, ...] = ()
    cause: str = ""

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        cause = error.__cause__ or error.__context__
        stack = places(error.__traceback__)
        return cls(
            error=type(error).__name__,
            place=stack[0] if stack else "",
            stack=stack,
            cause=type(cause).__name__ if cause is not None else "",
        )


def places(of: TracebackType | FrameType | None) -> tuple[str, ...]:
    """The frames of a stack or traceback as `folder/file.py:line`, innermost first, at most 12."""
    if of is None:
        return ()
    frames = traceback.walk_stack(of) if isinstance(of, FrameType) else reversed(list(traceback.walk_tb(of)))
    found = [f"{_short(frame.f_code.co_filename)}:{line}" for frame, line in frames]
    return tuple(found[:_MAX_PLACES])


def _short(file: str) -> str:
    """The last two parts of the path: a whole path could name a machine or its owner."""
    return "/".join(PurePath(file).parts[-2:]).replace("<", "").replace(">", "")
