"""Transcript: reads the transcripts of coding agents (Claude Code, Codex), JSON Lines with a line for each step.

A transcript may be longer than the memory: it is read line by line, and no more than one message and its results are held.
Sessions are named after the project.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, NamedTuple

from germane.api.arguments import MessagePiece, joined, read_message
from germane.errors import InvalidInput
from germane.integrations.transcripts.rows import BrokenRow, MessageNaming, MessageRow, Remark, objects

TranscriptRow = MessageRow | BrokenRow | Remark
TRANSCRIPTS = ("claude-code", "codex")
_HEAD = 50
"""Lines that are read to recognise a transcript: before the first step stand lines of the client's."""
_BEGINNING = 1024
_MAX_LINE = 64 << 20
"""Bytes of one line."""


def transcript_format(head: Iterable[Mapping[str, Any]]) -> str:
    """Returns the format of the transcript that begins with these lines; "" for another file."""
    for line in head:
        if is_claude_code(line):
            return "claude-code"
        if is_codex(line):
            return "codex"
    return ""


def transcript_of(path: Path) -> str:
    """Returns the format of a file that is a transcript; "" for another file, and for one that can't be read."""
    try:
        with path.open("rb") as stream:
            if not stream.peek(_BEGINNING)[:_BEGINNING].removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{"):
                return ""  # such as a zip archive, or a list on one line
            head = (line for _, line in objects(islice(_lines(stream), _HEAD)) if isinstance(line, Mapping))
            return transcript_format(head)
    except OSError:
        return ""


def read_transcript(lines: Iterable[bytes], format: str, session: str) -> Iterator[TranscriptRow]:
    """Rows of one transcript. What names no session belongs to `session`."""
    skipped = SkippedSteps()
    yield from _read(lines, format, session, skipped)
    yield from skipped.remarks()


def read_transcripts(paths: Iterable[tuple[Path, str]], named: str = "") -> Iterator[TranscriptRow]:
    """Rows of the files, each with its format, one after the other. A step that stands in several files of one session, as in
    those of a session that was resumed, is read once. `named` is the session of what names none."""
    skipped = SkippedSteps()
    for path, format in paths:
        try:
            with path.open("rb") as stream:
                yield from _read(_lines(stream), format, named or path.stem[:200], skipped)
        except OSError as error:
            yield BrokenRow(str(path)[-80:], f"can't be read: {error.strerror or error}")
    yield from skipped.remarks()


def _read(lines: Iterable[bytes], format: str, session: str, skipped: SkippedSteps) -> Iterator[TranscriptRow]:
    if format not in TRANSCRIPTS:
        raise InvalidInput(f"{format} is no format of transcripts")
    read = read_claude_code if format == "claude-code" else read_codex
    return read(objects(lines), session, skipped)


def _lines(stream: BinaryIO) -> Iterator[bytes]:
    """The lines of a file. Of one that is too long only the beginning is given, which is no JSON."""
    while line := stream.readline(_MAX_LINE):
        yield line
        while len(line) == _MAX_LINE and not line.endswith(b"\n"):
            line = stream.readline(_MAX_LINE)


# Claude Code: a line holds one content block; lines with the same message id are one message. Results that come between
# the lines of a message are put behind it. Steps of subagents, summaries, thinking and the client's own lines are left
# out and counted: nobody typed them.


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

    def remarks(self) -> Iterator[TranscriptRow]:
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
) -> Iterator[TranscriptRow]:
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


# Codex (rollouts): a line wraps an item of the Responses API in `payload`; in older files it is the item itself.
# Reasoning, summaries, and what the client tells the model of itself are left out and counted; its events repeat the
# items.


_WRAPPED = ("compacted", "event_msg", "response_item", "session_meta", "turn_context")
_ITEMS = (
    "custom_tool_call", "custom_tool_call_output", "function_call", "function_call_output", "local_shell_call",
    "local_shell_call_output", "message", "reasoning", "web_search_call",
)  # fmt: skip
"""The types of the items in older files."""
_LEFT_OUT_ITEMS = ("compaction", "ghost_snapshot", "other", "reasoning")
_OF_CLIENT = ("<environment_context>", "<user_instructions>", "<INSTRUCTIONS>", "# AGENTS.md instructions", "<turn_aborted>")


def is_codex(line: Mapping[str, Any]) -> bool:
    """Returns whether the line is one of a transcript: wrapped, or the first of an older file."""
    wrapped = line.get("type") in _WRAPPED and isinstance(line.get("payload"), Mapping)
    return wrapped or ("type" not in line and {"id", "timestamp", "instructions"} <= set(line))


def read_codex(
    lines: Iterable[tuple[int, Mapping[str, Any] | str]], session: str, skipped: SkippedSteps
) -> Iterator[TranscriptRow]:
    """Rows of a transcript. Without the line that names its session it belongs to `session`."""
    naming = MessageNaming()
    for number, line in lines:
        if isinstance(line, str):
            yield BrokenRow(f"line {number}", line)
            continue
        payload = line.get("payload")
        kind = line.get("type")
        if (kind == "session_meta" and isinstance(payload, Mapping)) or (kind is None and "id" in line):
            meta = payload if isinstance(payload, Mapping) else line
            session = (
                project_session(meta.get("cwd"), meta["id"]) if isinstance(meta.get("id"), str) and meta["id"] else session
            )
            continue
        if kind == "compacted":
            skipped.counts["summaries of what stands above them"] += 1
        item = payload if kind == "response_item" and isinstance(payload, Mapping) else line if kind in _ITEMS else None
        if item is None or item.get("type") in _LEFT_OUT_ITEMS:
            continue
        try:
            if row := _row(item, line.get("timestamp"), session, naming, skipped):
                yield row
        except InvalidInput as error:
            yield BrokenRow(f"line {number}", str(error))


def _row(item: Mapping[str, Any], time: Any, session: str, naming: MessageNaming, skipped: SkippedSteps) -> MessageRow | None:
    given = {key: value for key, value in item.items() if key not in ("id", "created_at")}
    message = read_message(given, "openai-responses")
    if message.role == "user" and message.text.lstrip().startswith(_OF_CLIENT):
        skipped.counts["messages of the client's own"] += 1
        return None
    if not message.content.strip():
        return None
    told = f"{time}\0{message.content}" if isinstance(time, str) else message.content  # the same id wherever reading begins
    named = {**item, "id": naming.name(session, message.role, told)}
    if isinstance(time, str):
        named["created_at"] = time
    return MessageRow(session, read_message(named, "openai-responses"), named)
