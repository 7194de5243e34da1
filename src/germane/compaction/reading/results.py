"""Results: what a tool's result reports: its error, and the facts that stay when its output is masked (HIST-5)."""

from __future__ import annotations

import re
from typing import NamedTuple

from germane.compaction.reading.statements import ids_in, json_ids
from germane.extraction.archetypes.extractors import error_in, lines_of
from germane.types.message import ToolResult

_MAX_HEAD, _MAX_TAIL = 2_000, 4_000
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
    if len(text) > _MAX_HEAD + _MAX_TAIL:
        text = f"{text[:_MAX_HEAD]}\n{text[-_MAX_TAIL:]}"
    return result.error or any(mark in text for mark in _MARKS)


def error_of_result(result: ToolResult, *, ran: bool) -> str:
    """Returns the error that a result reports, its type and message on one line; '' for a success. `ran` says that the tool ran
    a command, whose whole output then counts; of another tool's result, which may well be a file about errors, only its
    beginning does. Reads 6,000 characters."""
    text = result.text
    head = text[:_MAX_HEAD]
    if not may_report_error(result):
        return ""
    failed = result.error or _FAILS.match(head) is not None
    tail = text[max(0, len(text) - _MAX_TAIL) :] if len(text) > _MAX_HEAD else head
    if not failed and ran:
        failed = _EXIT.search(tail) is not None or _FAILED.search(tail) is not None or "Traceback (most recent" in tail
    return _named(head, tail) if failed else ""


def reported_error(text: str) -> str:
    """Returns the error that a user's text holds, as of a pasted traceback; '' where there is none. Reads 4,000 characters."""
    return error_in(lines_of(text[-_MAX_TAIL:])) if "rror" in text or "xception" in text else ""


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


# Facts for the line that stands in the place of a masked output. A masked output is read again when its exchange leaves
# the prompt, also by callers who go on with what they were given: an error and the ids that only this output held must
# then still be there.


MAX_FACTS = 260
"""Characters of the facts of one output."""
FACTS = r"(?:; (?:error|says) [^;\n]{1,170})?(?:; ids [^;\n]{1,70})?"
"""An expression for them, as `OutputFacts.text` writes them."""
_FACTS = re.compile(r"(?:; (?P<how>error|says) (?P<error>[^;\n]{1,170}))?(?:; ids (?P<ids>[^;\n]{1,70}))?")
_MAX_IDS, _MAX_ID, _MAX_READ, _MAX_SHORT = 3, 60, 4_000, 600


class OutputFacts(NamedTuple):
    """The error that an output reports, "" for none, and its first ids. `sure` is false where the output is an error only if it
    is that of a command: it may be a text about one."""

    error: str = ""
    ids: tuple[str, ...] = ()
    sure: bool = True

    @property
    def text(self) -> str:
        """The facts as they stand in a line: `; error …; ids …`, at most 260 characters; "" where there are none."""
        kept, room = list[str](), 70
        for name in self.ids:
            if len(name) + 2 <= room:
                kept.append(name)
                room -= len(name) + 2
        error = f"; {'error' if self.sure else 'says'} {self.error}" if self.error else ""
        return error + (f"; ids {', '.join(kept)}" if kept else "")


def facts_of(result: ToolResult) -> OutputFacts:
    """Returns what an output says. Reads some 10,000 characters; linear."""
    text = result.text[:_MAX_READ]
    named = json_ids(text) if text[:1] in ("{", "[") else ids_in(text) if len(result.text) <= _MAX_SHORT else []
    ids = tuple(name for name in map(_plain, named[:_MAX_IDS]) if 0 < len(name) <= _MAX_ID and ", " not in name)
    if not may_report_error(result):
        return OutputFacts("", ids)
    sure = error_of_result(result, ran=False)
    return OutputFacts(_plain(sure or error_of_result(result, ran=True)), ids, bool(sure))


def read_facts(text: str) -> OutputFacts | None:
    """Returns the facts that `OutputFacts.text` wrote; None for any other text."""
    found = _FACTS.fullmatch(text)
    if found is None:
        return None
    return OutputFacts(found["error"] or "", tuple(found["ids"].split(", ")) if found["ids"] else (), found["how"] != "says")


def _plain(text: str) -> str:
    """The text on one line, without the mark between facts."""
    return " ".join(text.replace(";", ",").split())


def error_of_outcome(result: ToolResult, facts: OutputFacts | None, *, ran: bool) -> str:
    """Returns the error on one line; '' for a success. `facts` are those of the line that masks the output, None for an output
    that isn't masked; `ran` says that the tool ran a command."""
    if facts is None:
        return error_of_result(result, ran=ran)
    return facts.error if facts.sure or ran else ""
