"""Detect format: recognises the format of a file by its content, and calls the reader for it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from io import BytesIO
from itertools import chain, islice
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any

from germane.cli.imports.archive import Document
from germane.cli.imports.chatgpt import read_chatgpt
from germane.cli.imports.claude import read_claude
from germane.cli.imports.claude_account import account_file, read_account
from germane.cli.imports.jsonl import objects, read_jsonl, read_messages
from germane.cli.imports.letta import is_letta, read_letta
from germane.cli.imports.locomo import read_locomo
from germane.cli.imports.markdown import is_instructions, read_markdown
from germane.cli.imports.mem0 import listed_memories, read_mem0
from germane.cli.imports.message_fields import MessageNaming
from germane.cli.imports.rows import BrokenRow, DirectiveRow, Remark, Row
from germane.cli.imports.transcript import TRANSCRIPTS, read_transcript, transcript_format
from germane.errors import InvalidInput

__all__ = ["FORMATS", "detect", "parse_json", "read", "read_all"]

FORMATS = ("jsonl", "chatgpt", "claude", *TRANSCRIPTS, "messages", "locomo", "mem0", "letta", "instructions", "notes")
_MARKDOWN = {"instructions", "notes"}
_ROW_TYPES = ("directive", "header", "memory", "message", "session", "tombstone")
"""The types of an export's lines that can be read as plain rows."""
_EXPECTED = (
    'expected are what germane export writes, JSON Lines of messages such as {"role": "user", "content": "…"}, '
    '{"messages": […]}, exports of ChatGPT and Claude, transcripts of Claude Code and Codex, memories of mem0, agent files of '
    "Letta, LoCoMo, and Markdown files"
)


def read_all(
    documents: Sequence[Document], session: str, format: str = "auto", *, directive: bool = False
) -> tuple[str, Iterator[Row]]:
    """Returns the format and the rows of the documents of one archive or folder. Documents in another format than the first one
    that can be read, and in no known format, become broken rows. Raises `InvalidInput` where none can be read."""
    found, chosen, unread = list[Iterator[Row]](), "", list[BrokenRow]()
    others = Counter(_file_kind(document.name) for document in documents if document.data is None)
    several = len(documents) - others.total() > 1
    for document in documents:
        if document.data is None:
            continue
        name = PurePosixPath(document.name).stem if several else session
        kind = account_file(document.name)
        try:
            if kind and chosen == "claude":
                found.append(read_account(kind, parse_json(document.data), document.name[-80:]))
                continue
            if kind and chosen:
                others[_file_kind(document.name)] += 1
                continue
            read_as, rows = read(document.data, name, format, name=document.name, directive=directive)
        except InvalidInput as error:
            unread.append(BrokenRow(document.name[-80:], str(error)))
            continue
        chosen = chosen or read_as
        if read_as == chosen or {read_as, chosen} == _MARKDOWN:
            found.append(rows)
        else:
            unread.append(BrokenRow(document.name[-80:], f"is in the format {read_as}: import it by itself"))
    if not found:
        raise InvalidInput(f"{unread[0].where}: {unread[0].why}" if unread else "there is nothing in it that could be read")
    return chosen, chain(*found, unread, (Remark(what, count) for what, count in sorted(others.items())))


def _file_kind(name: str) -> str:
    """What is said of a file of an export that isn't read: its name, or its kind where there may be many."""
    path = PurePosixPath(name)
    return path.name[:80] if path.suffix in (".json", ".html") else f"{path.suffix[:20] or 'other'} files"


def read(
    data: bytes, session: str, format: str = "auto", *, name: str = "", directive: bool = False
) -> tuple[str, Iterator[Row]]:
    """Returns the name of the format and the rows. A message that names no session belongs to `session`. The file's `name` says
    what a Markdown file holds: instructions, or notes; instructions may be read as a `directive`. Without it no row sets one:
    whoever wrote the file must not give the agent orders.

    Raises `InvalidInput` where the data is in none of `FORMATS`, or not in `format`."""
    read_as, rows = _read(data, session, format, name, directive=directive)
    return read_as, rows if directive else map(_undirected, rows)


def _undirected(row: Row) -> Row:
    return (
        BrokenRow("a directive", "is set only where that is asked for: --as directive")
        if isinstance(row, DirectiveRow)
        else row
    )


def _read(data: bytes, session: str, format: str, name: str, *, directive: bool) -> tuple[str, Iterator[Row]]:
    if format in ("instructions", "notes") or (format == "auto" and name.lower().endswith(".md")):
        instructions = format == "instructions" or (format == "auto" and (directive or is_instructions(name)))
        rows = read_markdown(data, name or session, instructions=instructions, directive=directive)
        return ("instructions" if instructions else "notes"), rows
    if format in ("auto", "jsonl"):
        first = [line for _, line in islice(objects(BytesIO(data)), 50)]
        lines = [line for line in first if isinstance(line, Mapping)]
        if not first:
            raise InvalidInput("nothing in it (give a file of messages)")
        if format == "auto" and (transcript := transcript_format(lines)):
            return transcript, read_transcript(BytesIO(data), transcript, session)
        if format == "jsonl" or (lines and not (len(first) == 1 and detect(lines[0]))):
            if not any(_is_row(line) for line in lines):
                raise InvalidInput(f"JSON with {_fields_of(lines)}: {_EXPECTED}")
            return "jsonl", read_jsonl(data, session)
    if format in TRANSCRIPTS:
        return format, read_transcript(BytesIO(data), format, session)
    if directive:
        raise InvalidInput("only a Markdown file (such as AGENTS.md) or JSON Lines can hold a directive")
    document = parse_json(data)
    detected = detect(document)
    if detected is None or format not in ("auto", detected):
        wanted = "a known format" if format == "auto" else format
        raise InvalidInput(f"not {wanted}, but JSON with {_fields_of(document)}: {_EXPECTED}")
    return detected, _READERS[detected](document, session)


def detect(document: Any) -> str | None:
    """The format of a JSON document; None where the document is in no known format."""
    if is_letta(document):
        return "letta"
    if listed_memories(document) is not None:
        return "mem0"
    if isinstance(document, Mapping):
        if isinstance(document.get("chat_messages"), list):
            return "claude"
        conversation = document.get("conversation")
        if isinstance(conversation, Mapping) and any(str(key).startswith("session_") for key in conversation):
            return "locomo"
        if isinstance(document.get("messages"), list):
            return "messages"
        return "chatgpt" if isinstance(document.get("mapping"), Mapping) else None
    if isinstance(document, list) and document:
        maps = [entry for entry in document if isinstance(entry, Mapping)]
        if any("mapping" in entry for entry in maps):
            return "chatgpt"
        if any("chat_messages" in entry for entry in maps):
            return "claude"
        if any("role" in entry or isinstance(entry.get("messages"), list) for entry in maps):
            return "messages"
    return None


def _is_row(line: Mapping[str, Any]) -> bool:
    return "role" in line or isinstance(line.get("messages"), list) or line.get("type") in _ROW_TYPES


def _fields_of(document: Any) -> str:
    """What is said of JSON of an unknown kind: the first names of its fields, which are no content."""
    first = next((one for one in document if isinstance(one, Mapping)), None) if isinstance(document, list) else document
    if not isinstance(first, Mapping):
        return "no objects"
    names = [str(name)[:30] for name in islice(first, 5)]
    return f"the fields {', '.join(names)}" if names else "no fields"


def parse_json(data: bytes) -> Any:
    """Parse one JSON document in UTF-8. Raises `InvalidInput`."""
    try:
        return json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InvalidInput(f"not UTF-8 at byte {error.start + 1} (save it as UTF-8)") from None
    except json.JSONDecodeError as error:
        if error.msg.startswith("Unterminated string") or error.pos >= len(error.doc.rstrip()):
            raise InvalidInput("it ends in the middle: it was cut when it was saved, so get it again") from None
        raise InvalidInput(f"not JSON at line {error.lineno}, column {error.colno}: {error.msg}") from None
    except (ValueError, RecursionError):
        raise InvalidInput("not JSON that can be read: nested too deep, or a number too long") from None


def _read_messages(document: Any, session: str) -> Iterator[Row]:
    """Rows of a list of messages, of an object with `messages`, or of a list of such objects."""
    naming = MessageNaming()
    if isinstance(document, list) and any(isinstance(entry, Mapping) and "role" in entry for entry in document):
        yield from read_messages(document, session, naming)
        return
    conversations = document if isinstance(document, list) else [document]
    for number, conversation in enumerate(conversations, start=1):
        fields = conversation if isinstance(conversation, Mapping) else {}
        messages, own_id = fields.get("messages"), fields.get("session") or fields.get("id")
        fallback = session if len(conversations) == 1 else f"{session}-{number}"
        prefix = "" if len(conversations) == 1 else f"conversation {number}, "
        yield from read_messages(
            messages if isinstance(messages, list) else [None], own_id if isinstance(own_id, str) else fallback, naming, prefix
        )


def _read_chatgpt(document: Any, session: str) -> Iterator[Row]:
    return read_chatgpt(document if isinstance(document, list) else [document], session)


def _read_claude(document: Any, session: str) -> Iterator[Row]:
    return read_claude(document if isinstance(document, list) else [document], session)


_READERS: Mapping[str, Callable[[Any, str], Iterator[Row]]] = MappingProxyType(
    {"locomo": read_locomo, "messages": _read_messages, "chatgpt": _read_chatgpt, "claude": _read_claude}
    | {"mem0": read_mem0, "letta": read_letta}
)
