"""Results: whether a tool's result reports an error, and which."""

from __future__ import annotations

import re

from germane.archetypes.reading import error_in, lines_of
from germane.types.message import ToolResult

__all__ = ["error_of_result", "may_report_error", "reported_error"]

_HEAD, _TAIL = 2_000, 4_000
_FAILS = re.compile(
    r"\s*(?:<(?:tool_use_)?error>|error\b|err!|exception\b|traceback \(|fatal\b|failed\b|failure\b"
    r"|\{\s?\"(?:error|err)\"\s?:\s?+(?!null|false|\"\"|\[\])"
    r"|\{\s?\"(?:success|ok)\"\s?:\s?false|(?:command )?(?:exited|exit(?:ed)? with)? ?(?:code|status):? [1-9])",
    re.IGNORECASE,
)
_EXIT = re.compile(
    r"(?:exit(?:ed)?(?: with)?(?: code| status)?|exit_code\"?|returncode|return code)\s?[:=]?\s?-?([1-9]\d{0,4})\b",
    re.IGNORECASE,
)
_FAILED = re.compile(
    r"\b[1-9]\d{0,5} (?:failed|errors?|failing)\b|^FAILED |\bFAILURES\b|^FAIL\b|\bBUILD FAILED\b|^panic: ", re.MULTILINE
)
_MARKS = (
    "rror",
    "xception",
    "ailed",
    "AIL",
    "atal",
    "xit",
    "anic",
    "annot",
    "not found",
    "efused",
    "enied",
    "return code",
    "returncode",
)
_MESSAGE = re.compile(r"\"(?:error|message|detail|err)\"\s?:\s?\"([^\"\\\n]{2,300})")
_SIGN = re.compile(
    r"(?:^|\s)(?:[\w.]{0,80}(?:Error|Exception)\b|error\b|fatal\b|failed\b|E  +\S|cannot |can't |unable )", re.IGNORECASE
)
_VARIES = re.compile(r"0x[0-9a-fA-F]{4,16}")
_MAX_NAME = 160


def may_report_error(result: ToolResult) -> bool:
    """Returns whether an output holds anything that reports of errors have; most don't."""
    text = result.text
    if len(text) > _HEAD + _TAIL:
        text = f"{text[:_HEAD]}\n{text[-_TAIL:]}"
    return result.error or any(mark in text for mark in _MARKS)


def error_of_result(result: ToolResult, *, ran: bool) -> str:
    """Returns the error that a result reports, its type and message on one line; '' for a success. `ran` says that the tool ran
    a command, whose whole output then counts; of another tool's result, which may well be a file about errors, only its
    beginning does. Reads 6,000 characters."""
    text = result.text
    head = text[:_HEAD]
    if not may_report_error(result):
        return ""
    failed = result.error or _FAILS.match(head) is not None
    tail = text[max(0, len(text) - _TAIL) :] if len(text) > _HEAD else head
    if not failed and ran:
        failed = _EXIT.search(tail) is not None or _FAILED.search(tail) is not None or "Traceback (most recent" in tail
    return _named(head, tail) if failed else ""


def reported_error(text: str) -> str:
    """Returns the error that a user's text holds, as of a pasted traceback; '' where there is none. Reads 4,000 characters."""
    return error_in(lines_of(text[-_TAIL:])) if "rror" in text or "xception" in text else ""


def _named(head: str, tail: str) -> str:
    """The error in its own words: what reads as an error last, else the message in JSON, else the first line that says one."""
    if found := error_in(lines_of(tail)) or error_in(lines_of(head)):
        return found
    if message := _MESSAGE.search(head):
        return _short(message[1])
    lines = [line for line in lines_of(head) if line.strip()]
    line = next((line for line in lines if _SIGN.search(line)), lines[0] if lines else "error")
    return _short(line)


def _short(line: str) -> str:
    plain = _VARIES.sub("…", " ".join(line.replace("<error>", "").replace("<tool_use_error>", "").split()))
    return plain if len(plain) <= _MAX_NAME else f"{plain[: _MAX_NAME - 1]}…"
