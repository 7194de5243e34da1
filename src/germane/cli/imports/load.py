"""Load: reads what `germane import` takes: a file, a zip archive, a folder, standard input, or an export.

What `germane export` wrote is recognised and restored line by line, in constant memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from io import BytesIO
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from germane.cli.files import open_bytes
from germane.cli.imports.detect_format import archive_documents, folder_documents, folder_names, is_readable, read, read_all
from germane.cli.imports.rows import Row
from germane.cli.options import GlobalOptions
from germane.errors import InvalidInput
from germane.integrations.transcripts.rows import Remark
from germane.integrations.transcripts.transcript import TRANSCRIPTS, read_transcripts, transcript_of

if TYPE_CHECKING:
    from germane.api.germane import Germane
    from germane.api.verbs.transfer import Restored
    from germane.transfer.contents import Reach
    from germane.transfer.lines import Header


# A file that `germane export` wrote.


_MAX_LINE = 256 << 20
"""Bytes of one line: more than a message of the largest size takes."""
_MARK = b'"germane-export"'


class ExportFile:
    """An export that is being read. `first` is its first line, which has been read from `stream` already."""

    def __init__(self, stream: BinaryIO, first: bytes, header: Header, max_line: int = _MAX_LINE) -> None:
        self.reach, self.total = header.reach, header.contents.total
        self._stream, self._first, self._max_line = stream, first, max_line

    def close(self) -> None:
        self._stream.close()

    def target(self, options: GlobalOptions, into: bool) -> Reach | None:
        """Returns the scope that the lines go into; None where each goes where it came from. Raises `InvalidInput` where the
        options name another scope than that of the export and `into` is false."""
        named = {name: getattr(options, name) for name in sorted(options.named)}
        if not named:
            if into:
                raise InvalidInput("--into needs the scope that the export goes into: name it with --org, --agent or --user")
            return None
        wrong = [name for name, value in named.items() if getattr(self.reach, name) != value]
        if not wrong:
            return None
        if not into:
            raise InvalidInput(
                f"the export is of {self.reach}, not of --{wrong[0]} {named[wrong[0]]}: leave --{wrong[0]} out to import it "
                "where it came from, or add --into to import it there"
            )
        if self.reach.agent is None or (self.reach.all_users and "user" in named):
            raise InvalidInput(
                f"the export is of {self.reach}: only that of one agent, or of one user, can go into another scope"
            )
        scope = {name: named.get(name, getattr(self.reach, name)) for name in ("org", "agent", "user")}
        return replace(self.reach, all_users=False, **scope)

    async def restore(
        self, germane: Germane, target: Reach | None, *, skip_conflicts: bool, advance: Callable[[int], object]
    ) -> Restored:
        """Stores what the export holds. `advance` is called with the number of lines read."""
        lines = self._lines(advance)
        if target is None:
            return await germane.restore(lines, skip_conflicts=skip_conflicts)
        agent = germane.agent(target.agent or "", org=target.org or "", user=target.user)
        return await agent.restore(lines, into=True, skip_conflicts=skip_conflicts)

    def _lines(self, advance: Callable[[int], object]) -> Iterator[bytes]:
        yield self._first
        for number in count(2):
            line = self._stream.readline(self._max_line + 1)
            if not line:
                return
            if len(line) > self._max_line:
                raise InvalidInput(f"line {number} is longer than {self._max_line:,} bytes: it isn't a line of an export")
            advance(1)
            yield line


def export_file(stream: BinaryIO, first: bytes) -> ExportFile | None:
    """Returns the export whose first line is `first`, None where that isn't the header of one. Raises `InvalidInput` for an
    export that this germane can't read."""
    first = first.removeprefix(b"\xef\xbb\xbf")
    if _MARK not in first[:200]:
        return None
    from germane.transfer.lines import Header, parse_line, read_line

    try:
        header = parse_line(read_line(first))
    except InvalidInput as error:
        raise InvalidInput(f"line 1: {error}") from None
    return ExportFile(stream, first, header) if isinstance(header, Header) else None


_FIRST_LINE = 1 << 20
"""Bytes that are read to recognise an export."""
_ZIP = b"PK\x03\x04", b"PK\x05\x06"

Loaded = ExportFile | tuple[str, Iterable[Row]]
"""An export, or a format with its rows: a list, or for transcripts an iterator that reads them as it goes."""


def load(file: str, session: str | None = None, format: str = "auto", *, directive: bool = False) -> Loaded:
    """Returns an export or transcripts that are still to be read, or a file's format and its rows. A message that names no
    session belongs to `session`, by default the file's name, which a shell's `<(…)` hasn't. `directive` as in `read`. Raises
    `InvalidInput`, which names the file."""
    stem = "" if file == "-" else Path(file).stem[:200]
    default_session = session or ("import" if not stem or (stem.isdigit() and Path(file).is_fifo()) else stem)
    try:
        if file != "-" and not directive and (found := _transcripts(Path(file), format, session or "")):
            return found
        if file != "-" and Path(file).is_dir():
            return _rows(_folder(file, default_session, format, directive))
        stream = open_bytes(file)
        with ExitStack() as stack:
            stack.enter_context(stream)
            first = stream.readline(_FIRST_LINE)
            if format == "auto" and (export := export_file(stream, first)) is not None:
                stack.pop_all()
                return export
            if first.startswith(_ZIP) or file.lower().endswith(".zip"):
                documents = archive_documents(_whole(stream, first))
                return _rows(read_all(documents, default_session, format, directive=directive))
            name = "" if file == "-" else file
            return _rows(read(first + stream.read(), default_session, format, name=name, directive=directive))
    except InvalidInput as error:
        text = str(error)
        raise InvalidInput(text if file in text else f"{'standard input' if file == '-' else file}: {text}") from None
    except OSError as error:
        raise InvalidInput(f"{file} can't be read: {error.strerror or error}") from None


def _transcripts(path: Path, format: str, session: str) -> tuple[str, Iterable[Row]] | None:
    """The transcripts in a file or folder; None where there are none."""
    if format not in ("auto", *TRANSCRIPTS) or not path.exists() or path.is_fifo():
        return None
    if path.is_dir():
        names = [name for name in sorted(folder_names(path)) if is_readable(name)]
        found = [(path / name, kind) for name in names if name.endswith(".jsonl") and (kind := transcript_of(path / name))]
        unread = len(names) - len(found)
    else:
        found, unread = [(path, kind)] if (kind := transcript_of(path)) else [], 0
    found = [(one, kind) for one, kind in found if format in ("auto", kind)]
    if not found:
        return None
    kinds = sorted({kind for _, kind in found})
    rows = read_transcripts(found, session)
    return " and ".join(kinds), chain(
        rows, [Remark("files that are no transcripts: import them by themselves", unread)] if unread else ()
    )


def _folder(folder: str, session: str, format: str, directive: bool) -> tuple[str, Iterator[Row]]:
    try:
        return read_all(folder_documents(Path(folder)), session, format, directive=directive)
    except InvalidInput as error:
        raise InvalidInput(f"the directory {folder}: {error}") from None


def _whole(stream: BinaryIO, first: bytes) -> BinaryIO:
    """The stream from its beginning; an archive is read from its end."""
    if not stream.seekable():
        return BytesIO(first + stream.read())
    stream.seek(0)
    return stream


def _rows(found: tuple[str, Iterator[Row]]) -> tuple[str, list[Row]]:
    return found[0], list(found[1])
