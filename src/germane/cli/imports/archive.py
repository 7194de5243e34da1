"""Archive: the documents in a zip archive or a folder, read in memory: nothing is extracted to disk, whatever it is called.

Of an export of a chat product its conversations are read, and what Claude's has beside them; the other files are named. Of
another archive all JSON and Markdown files are read, in a folder without installed packages. The number of entries, and their
sizes uncompressed, are bounded, so that a small file can't fill the memory.
"""

from __future__ import annotations

import os
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import BinaryIO, NamedTuple

from germane.cli.imports.claude_account import account_file
from germane.errors import InvalidInput

__all__ = ["Document", "in_archive", "in_folder", "is_readable", "names_in"]

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


def in_archive(stream: BinaryIO, *, max_entries: int = _MAX_ENTRIES, max_bytes: int = _MAX_BYTES) -> list[Document]:
    """Returns the documents of a zip archive, by name. Raises `InvalidInput` for what isn't one, is damaged, encrypted, or too
    large."""
    try:
        with zipfile.ZipFile(stream) as archive:
            entries = {entry.filename.replace("\\", "/"): entry for entry in archive.infolist() if not entry.is_dir()}
            if len(entries) > max_entries:
                raise InvalidInput(f"the archive has {len(entries):,} entries, {max_entries:,} are read: import its files")
            return _read(_chosen(entries), lambda name, left: _unpacked(archive, entries[name], left), max_bytes)
    except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, ValueError, OSError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput("it isn't a zip archive, or it is damaged: download it again") from None
    except (RuntimeError, NotImplementedError):  # how the library says so
        raise InvalidInput(
            "the archive is encrypted, or compressed in an unusual way: unpack it, and import the folder"
        ) from None


def in_folder(folder: Path, *, max_entries: int = _MAX_ENTRIES, max_bytes: int = _MAX_BYTES) -> list[Document]:
    """Returns the documents of a folder, by name. Links are not followed, and pipes not waited for. Raises `InvalidInput`."""
    names = names_in(folder, max_entries=max_entries)

    def content(name: str, left: int) -> bytes:
        with (folder / name).open("rb") as stream:
            return stream.read(left + 1)

    try:
        return _read(_chosen(names), content, max_bytes)
    except OSError as error:
        raise InvalidInput(f"{error.filename} can't be read: {error.strerror}") from None


def names_in(folder: Path, *, max_entries: int = _MAX_ENTRIES) -> list[str]:
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


def _read(chosen: tuple[list[str], list[str]], content: Callable[[str, int], bytes], max_bytes: int) -> list[Document]:
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


def _unpacked(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, left: int) -> bytes:
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise NotImplementedError
    if entry.file_size > _UNSUSPICIOUS and entry.file_size > _MAX_RATIO * entry.compress_size:
        raise InvalidInput("a file in the archive is more than 200 times larger than its compressed form: unpack it yourself")
    with archive.open(entry) as stream:
        return stream.read(min(left, entry.file_size) + 1)
