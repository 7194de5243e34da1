"""Transcript: recognises the transcripts of coding agents, JSON Lines with a line for each step, and reads them line by line.

A transcript may be longer than the memory: no more than one message and its results are held.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from germane.cli.imports.claude_code import SkippedSteps, is_claude_code, read_claude_code
from germane.cli.imports.codex import is_codex, read_codex
from germane.cli.imports.jsonl import objects
from germane.cli.imports.rows import BrokenRow, Row
from germane.errors import InvalidInput

__all__ = ["TRANSCRIPTS", "read_transcript", "read_transcripts", "transcript_format", "transcript_of"]

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


def read_transcript(lines: Iterable[bytes], format: str, session: str) -> Iterator[Row]:
    """Rows of one transcript. What names no session belongs to `session`."""
    skipped = SkippedSteps()
    yield from _read(lines, format, session, skipped)
    yield from skipped.remarks()


def read_transcripts(paths: Iterable[tuple[Path, str]], named: str = "") -> Iterator[Row]:
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


def _read(lines: Iterable[bytes], format: str, session: str, skipped: SkippedSteps) -> Iterator[Row]:
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
