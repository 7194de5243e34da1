"""Claude Code reader: reads transcripts of Claude Code as sessions, one for each of its sessions, named after the project.

A line holds one content block; lines with the same message id are one message. Results that come between the lines of a message
stand behind it. Steps of subagents, summaries, thinking and the client's own lines are left out and counted: nobody typed them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from germane.api.provider_messages import MessagePiece, joined, read_message
from germane.cli.imports.rows import BrokenRow, MessageRow, Remark, Row
from germane.errors import InvalidInput

__all__ = ["SkippedSteps", "is_claude_code", "project_session", "read_claude_code"]

_THINKING = ("thinking", "redacted_thinking")
_LEFT_OUT = {
    "isSidechain": "steps of subagents",
    "isMeta": "messages of the client's own",
    "isCompactSummary": "summaries of what stands above them",
    "isApiErrorMessage": "errors of the API",
}
_MAX_SESSION = 256
"""Characters."""


class _Place(NamedTuple):
    """Where a step stands: its line, session and id; `broken` says why it can't be read."""

    line: str
    session: str = ""
    step: str = ""
    broken: str = ""


class SkippedSteps:
    """Mutable. What is left out of one import's transcripts, and which steps were read."""

    def __init__(self) -> None:
        self.counts = Counter[str]()
        self.read = set[str]()

    def remarks(self) -> Iterator[Row]:
        yield from (Remark(what, count) for what, count in sorted(self.counts.items()))


def is_claude_code(line: Mapping[str, Any]) -> bool:
    """Returns whether the line is a step of a transcript."""
    return line.get("type") in ("user", "assistant") and isinstance(line.get("message"), Mapping) and "role" not in line


def project_session(folder: Any, id: str) -> str:
    """Returns the name of a session: the last part of the project's folder, and the session's own id."""
    project = PurePosixPath(folder.replace("\\", "/")).name if isinstance(folder, str) else ""
    return f"{project[:100]}/{id}"[:_MAX_SESSION] if project else id[:_MAX_SESSION]


def read_claude_code(
    lines: Iterable[tuple[int, Mapping[str, Any] | str]], session: str, skipped: SkippedSteps
) -> Iterator[Row]:
    """Rows of a transcript. What names no session belongs to `session`."""
    done = set[tuple[str, str]]()
    for piece in joined(_pieces(lines, session, skipped)):
        place: _Place = piece.where
        if place.broken:
            yield BrokenRow(place.line, place.broken)
            continue
        fields = piece.fields
        if piece.key in done and place.step:  # its message had gone on with the user's next words
            fields = {**fields, "id": place.step}
        if piece.key is not None:
            done.add(piece.key)
        if not fields["content"]:
            continue
        try:
            yield MessageRow(place.session, read_message(fields, "anthropic"), fields)
        except InvalidInput as error:
            yield BrokenRow(place.line, str(error))


def _pieces(
    lines: Iterable[tuple[int, Mapping[str, Any] | str]], session: str, skipped: SkippedSteps
) -> Iterator[MessagePiece]:
    projects = dict[str, str]()
    for number, line in lines:
        place = _Place(f"line {number}")
        if isinstance(line, str):
            yield MessagePiece({}, None, place._replace(broken=line))
            continue
        if not is_claude_code(line):
            continue
        step = line.get("uuid")
        step = step if isinstance(step, str) else ""
        if step and step in skipped.read:
            continue
        skipped.read.add(step)
        if what := next((what for key, what in _LEFT_OUT.items() if line.get(key) is True), None):
            skipped.counts[what] += 1
            continue
        own = next((line[key] for key in ("sessionId", "session_id") if isinstance(line.get(key), str) and line[key]), session)
        into = projects.setdefault(own, project_session(line.get("cwd"), own))
        place = place._replace(session=into, step=step)
        fields = _fields(line, step)
        if fields is None:
            yield MessagePiece({}, None, place._replace(broken="its message has no content that is text or a list of blocks"))
            continue
        id = line["message"].get("id") if line["type"] == "assistant" else None
        yield (
            MessagePiece({**fields, "id": id}, (into, id), place)
            if isinstance(id, str) and id
            else MessagePiece(fields, None, place)
        )


def _fields(line: Mapping[str, Any], step: Any) -> dict[str, Any] | None:
    """The message as the Messages API takes it, without thinking; None where it can't be read."""
    content = line["message"].get("content")
    if isinstance(content, list):
        content = [one for one in content if not (isinstance(one, Mapping) and one.get("type") in _THINKING)]
    elif isinstance(content, str):
        content = [{"type": "text", "text": content}] if line["type"] == "assistant" else content
    else:
        return None
    fields = {"role": line["type"], "content": content, "created_at": line.get("timestamp")}
    return fields | ({"id": step} if isinstance(step, str) and step else {})
