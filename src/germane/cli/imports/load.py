"""Load: reads what `germane import` takes, whatever it is: a file, a zip archive, a folder, standard input, or an export."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from germane.cli.files import open_bytes
from germane.cli.imports.archive import in_archive, in_folder, is_readable, names_in
from germane.cli.imports.detect_format import read, read_all
from germane.cli.imports.export_file import ExportFile, export_file
from germane.cli.imports.rows import Remark, Row
from germane.cli.imports.transcript import TRANSCRIPTS, read_transcripts, transcript_of
from germane.errors import InvalidInput

__all__ = ["Loaded", "load"]

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
                documents = in_archive(_whole(stream, first))
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
        names = [name for name in sorted(names_in(path)) if is_readable(name)]
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
        return read_all(in_folder(Path(folder)), session, format, directive=directive)
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
