"""Detect format: recognises the format of a file by its content, and calls its reader; opens zip archives and folders.

Documents of an archive are read in memory: nothing is extracted to disk. From the export of a chat product its
conversations are read, and what Claude's has beside them; the other files are named. From another archive all JSON and
Markdown files are read, in a folder without installed packages. The number of entries, and their sizes uncompressed, are
bounded, so that a small file can't fill the memory.
"""

from __future__ import annotations

import json
import os
import re
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from itertools import chain, islice
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any, BinaryIO, NamedTuple

from germane.cli.imports.chat_exports import account_file, read_account, read_chatgpt, read_claude
from germane.cli.imports.locomo import read_locomo
from germane.cli.imports.memory_files import is_instructions, is_letta, listed_memories, read_letta, read_markdown, read_mem0
from germane.cli.imports.rows import DirectiveRow, Row, read_jsonl, read_messages
from germane.errors import InvalidInput
from germane.integrations.transcripts.rows import BrokenRow, MessageNaming, Remark, objects
from germane.integrations.transcripts.transcript import TRANSCRIPTS, read_transcript, transcript_format

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
    read_as, rows = _read_format(data, session, format, name, directive=directive)
    return read_as, rows if directive else map(_undirected, rows)


def _undirected(row: Row) -> Row:
    return (
        BrokenRow("a directive", "is set only where that is asked for: --as directive")
        if isinstance(row, DirectiveRow)
        else row
    )


def _read_format(data: bytes, session: str, format: str, name: str, *, directive: bool) -> tuple[str, Iterator[Row]]:
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


# The documents in a zip archive or a folder.


_MAX_ENTRIES = 200_000
_MAX_BYTES = 1 << 30
"""Uncompressed bytes of all documents together."""
_MAX_RATIO, _UNSUSPICIOUS = 200, 1 << 20
"""How many times larger a document may be than its compressed form, and the size up to which that isn't looked at."""
_CONVERSATIONS = re.compile(r"(?:^|/)conversations(?:[-_.]?\d+)?\.json$")
_INSTALLED = frozenset({".git", ".venv", "bower_components", "node_modules", "site-packages", "venv"})
_READABLE = (".json", ".jsonl", ".md", ".af")


class Document(NamedTuple):
    """A file in an archive or a folder: its path there, with `/`, and its content; None for one that isn't read."""

    name: str
    data: bytes | None


def archive_documents(stream: BinaryIO, *, max_entries: int = _MAX_ENTRIES, max_bytes: int = _MAX_BYTES) -> list[Document]:
    """Returns the documents of a zip archive, by name. Raises `InvalidInput` for what isn't one, is damaged, encrypted, or too
    large."""
    try:
        with zipfile.ZipFile(stream) as archive:
            entries = {entry.filename.replace("\\", "/"): entry for entry in archive.infolist() if not entry.is_dir()}
            if len(entries) > max_entries:
                raise InvalidInput(f"the archive has {len(entries):,} entries, {max_entries:,} are read: import its files")
            return _read_documents(_chosen(entries), lambda name, left: _unpack(archive, entries[name], left), max_bytes)
    except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, ValueError, OSError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput("it isn't a zip archive, or it is damaged: download it again") from None
    except (RuntimeError, NotImplementedError):  # how the library says so
        raise InvalidInput(
            "the archive is encrypted, or compressed in an unusual way: unpack it, and import the folder"
        ) from None


def folder_documents(folder: Path, *, max_entries: int = _MAX_ENTRIES, max_bytes: int = _MAX_BYTES) -> list[Document]:
    """Returns the documents of a folder, by name. Links are not followed, and pipes not waited for. Raises `InvalidInput`."""
    names = folder_names(folder, max_entries=max_entries)

    def content(name: str, left: int) -> bytes:
        with (folder / name).open("rb") as stream:
            return stream.read(left + 1)

    try:
        return _read_documents(_chosen(names), content, max_bytes)
    except OSError as error:
        raise InvalidInput(f"{error.filename} can't be read: {error.strerror}") from None


def folder_names(folder: Path, *, max_entries: int = _MAX_ENTRIES) -> list[str]:
    """Returns the paths of a folder's files, with `/`, without links, pipes and installed packages. Raises `InvalidInput`."""
    names = list[str]()
    for where, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _INSTALLED)
        paths = (Path(where) / file for file in files)
        names += [path.relative_to(folder).as_posix() for path in paths if path.is_file() and not path.is_symlink()]
        if len(names) > max_entries:
            raise InvalidInput(f"the folder holds more than {max_entries:,} files: name the files to import")
    return names


def is_readable(name: str) -> bool:
    """Returns whether a file of this name may be one that can be imported."""
    return name.endswith(_READABLE)


def _chosen(names: Iterable[str]) -> tuple[list[str], list[str]]:
    """The conversations of a chat product's export where there are some, else all that could be read; and the other files of
    the export."""
    found = sorted(name for name in names if not name.startswith("__MACOSX/"))
    talks = [name for name in found if _CONVERSATIONS.search(name)]
    if not talks:
        return [name for name in found if is_readable(name)], []
    beside = [name for name in found if account_file(name)]
    read = {*talks, *beside}
    return [*talks, *beside], [name for name in found if name not in read]


def _read_documents(
    chosen: tuple[list[str], list[str]], content: Callable[[str, int], bytes], max_bytes: int
) -> list[Document]:
    names, others = chosen
    documents, left = list[Document](), max_bytes
    for name in names:
        data = content(name, left)
        left -= len(data)
        if left < 0:
            raise InvalidInput(f"its files hold more than {max_bytes:,} bytes uncompressed: import them one by one")
        documents.append(Document(name, data))
    if not documents:
        raise InvalidInput(
            "there is nothing in it that could be read: no conversations.json, and no other JSON or Markdown file"
        )
    return [*documents, *(Document(name, None) for name in others)]


def _unpack(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, left: int) -> bytes:
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise NotImplementedError
    if entry.file_size > _UNSUSPICIOUS and entry.file_size > _MAX_RATIO * entry.compress_size:
        raise InvalidInput("a file in the archive is more than 200 times larger than its compressed form: unpack it yourself")
    with archive.open(entry) as stream:
        return stream.read(min(left, entry.file_size) + 1)
