"""Reading: what extractors read of an event: a bounded part of its text, its lines, its command, its error."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from germane.events.event import Event
from germane.events.outcome import failed, succeeded
from germane.events.wording import action_of, content_of

__all__ = ["command_of", "error_in", "error_of", "is_failure", "is_success", "lines_of", "text_of"]

_HEAD, _TAIL = 24_576, 8_192
"""Characters of a text that are read: its beginning and its end, where errors stand."""
_LINE = 400
"""Characters of a line that are read."""
_MAX_NAME = 160
"""Characters of a command or an error, as a name."""
_EXECUTED = "Executed: `"
_ERROR = re.compile(
    r"(?:^|[\s:])((?:[\w.]{1,80}\.)?[A-Z]\w{0,60}(?:Error|Exception|Warning|Exit|Interrupt|Timeout)(?:: .{1,300})?)$"
    r"|((?:error|fatal)(?:\[[A-Z]\d{3,5}\])?: .{1,300})$|(error TS\d{3,5}: .{1,300})$"
    r"|(npm (?:ERR!|error) (?:code )?[A-Z][A-Z0-9_]{2,30})$|(.{0,80}: command not found)$|(\bE[A-Z]{4,12}\b.{0,100})"
)
_MARKS = ("Err", "Exc", "Warn", "Exit", "Inter", "Time", "error", "fatal", "ERR", ": command not", "E")
_VARIES = re.compile(r"0x[0-9a-fA-F]{4,16}|\b\d{5,}\b")
"""What differs each time: addresses and long numbers."""


def text_of(event: Event) -> str:
    """Returns the part of the event's text that extractors read: all of it up to 32,768 characters, else its beginning and its
    end."""
    text = event.text
    return text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]}\n{text[-_TAIL:]}"


def lines_of(text: str) -> list[str]:
    """Returns the lines of a text, each cut to 400 characters."""
    return [line[:_LINE].rstrip() for line in text.splitlines()]


def is_failure(event: Event) -> bool:
    """Whether the event is an error, or a command or test that failed."""
    action = action_of(event.type)
    return action == "error" or (action in ("execute", "test") and failed(event.outcome))


def is_success(event: Event) -> bool:
    """Whether the event is a command or a test that succeeded."""
    return action_of(event.type) in ("execute", "test") and succeeded(event.outcome)


def command_of(event: Event) -> str:
    """Returns the command that was executed, on one line, at most 160 characters of it; '' where there is none. A test event
    has one where its content names it."""
    action = action_of(event.type)
    given = None
    if action == "execute":
        head, _, rest = event.text.partition(_EXECUTED)
        given = "" if head else rest[: 4 * _MAX_NAME].partition("`\n")[0].removesuffix("`")
    elif action == "test" and isinstance(content := content_of(event.raw), Mapping):
        given = content.get("command")
    line = " ".join(given[: 4 * _MAX_NAME].split()) if isinstance(given, str) else ""
    return line if len(line) <= _MAX_NAME else f"{line[: _MAX_NAME - 1]}…"


def error_of(event: Event) -> str:
    """Returns the name of the error that an event reports, at most 160 characters on one line; '' where none can be told. Of an
    error event, the first line of its message; of a command or test that failed, the last line that reads as an error.
    Addresses and long numbers become `…`."""
    if not is_failure(event):
        return ""
    lines = lines_of(text_of(event))
    if action_of(event.type) == "error":
        first = lines[0].removeprefix("Error:") if lines else ""
        content = content_of(event.raw)
        kind = content.get("type") or content.get("name") if isinstance(content, Mapping) else None
        named = isinstance(kind, str) and kind.strip() and kind not in first and len(kind) <= 80
        return _name(f"{kind}: {first.strip()}" if named and first.strip() else first)
    return error_in(lines[1:])


def error_in(lines: Sequence[str]) -> str:
    """Returns the name of the last line that reads as an error, at most 160 characters of it; '' where none does. Addresses and
    long numbers become `…`."""
    for line in reversed(lines):
        if any(mark in line for mark in _MARKS) and (match := _ERROR.search(line)):
            return _name(next(group for group in match.groups() if group))
    return ""


def _name(line: str) -> str:
    plain = _VARIES.sub("…", " ".join(line.split()))
    return plain if len(plain) <= _MAX_NAME else f"{plain[: _MAX_NAME - 1]}…"
