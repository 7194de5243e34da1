"""Changes: a change of a settings file: shown, made in one step, remembered, and taken back to the byte.

What is remembered of a change is where the two versions differ and a hash of each. Where the file is still as it was written,
taking the change back gives the bytes from before.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import unified_diff
from hashlib import sha256
from pathlib import Path
from typing import Any

from germane.errors import InvalidInput

_SECRET = re.compile(r"\bgk_[A-Za-z0-9_-]+")
_MAX_FILE = 32 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """A file as it is and as it shall be; None for a file that isn't there."""

    path: Path
    before: bytes | None
    after: bytes | None

    @property
    def is_none(self) -> bool:
        return self.before == self.after

    def shown(self) -> str:
        """The change as a unified diff, without secrets."""
        before, after = _lines(self.before), _lines(self.after)
        diff = unified_diff(before, after, str(self.path), str(self.path), n=2)
        return _SECRET.sub("gk_…", "".join(line if line.endswith("\n") else f"{line}\n" for line in diff))

    def make(self) -> None:
        """Writes the file in one step, through symbolic links, with the permissions that it has; a new one is this person's
        alone. Raises `InvalidInput` where that can't be done, and where the file is no longer as it was read."""
        if self.is_none:
            return
        if file_bytes(self.path) != self.before:
            raise InvalidInput(f"{self.path} was changed meanwhile: run the command again")
        real = Path(os.path.realpath(self.path))
        try:
            if self.after is None:
                real.unlink(missing_ok=True)
                return
            real.parent.mkdir(parents=True, exist_ok=True)
            mode = real.stat().st_mode & 0o7777 if self.before is not None else 0o600
            written = real.with_name(f".{real.name}.{os.getpid()}.new")
            descriptor = os.open(written, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(self.after)
                    os.fchmod(file.fileno(), mode)
                    file.flush()
                    os.fsync(file.fileno())
                written.replace(real)
            except BaseException:
                written.unlink(missing_ok=True)
                raise
        except OSError as error:
            raise InvalidInput(f"{self.path} can't be written: {error.strerror or error}") from None


def file_bytes(path: Path) -> bytes | None:
    """Returns the file's content, None where there is none. Raises `InvalidInput` for what can't be read."""
    try:
        if path.stat().st_size > _MAX_FILE:
            raise InvalidInput(f"{path} has more than {_MAX_FILE:,} bytes: is it a settings file?")
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InvalidInput(f"{path} can't be read: {error.strerror or error}") from None


def text_of(path: Path, data: bytes) -> str:
    """Returns the text, with a mark of the byte order left in it. Raises `InvalidInput` for what isn't UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path} isn't UTF-8 at byte {error.start + 1}: it was left as it is") from None


def _lines(data: bytes | None) -> list[str]:
    return (data or b"").decode("utf-8", "replace").splitlines(keepends=True)


# What is remembered of a change, to take it back.


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeChange:
    """A change that was made: at `offset` stood `removed` and stands `inserted`. `was_there` is whether the file existed."""

    path: str
    was_there: bool
    before: str
    after: str
    offset: int
    removed: str
    inserted: str

    def undone(self, now: bytes | None) -> FileChange | None:
        """Returns the change back to the bytes from before; None where the file isn't as it was written."""
        if now is None or _hash(now) != self.after:
            return None
        removed, inserted = self.removed.encode("latin-1"), self.inserted.encode("latin-1")
        end = self.offset + len(inserted)
        if now[self.offset : end] != inserted:
            return None
        made = now[: self.offset] + removed + now[end:]
        if _hash(made) != self.before:
            return None
        return FileChange(path=Path(self.path), before=now, after=made if self.was_there else None)


def made_change(change: FileChange) -> MadeChange:
    """Returns what is remembered of the change."""
    before, after = change.before or b"", change.after or b""
    offset = _shared(before, after)
    room = min(len(before), len(after)) - offset
    tail = _shared(before[::-1][:room], after[::-1][:room])
    return MadeChange(
        path=str(change.path),
        was_there=change.before is not None,
        before=_hash(before),
        after=_hash(after),
        offset=offset,
        removed=before[offset : len(before) - tail].decode("latin-1"),
        inserted=after[offset : len(after) - tail].decode("latin-1"),
    )


def _shared(one: bytes, other: bytes) -> int:
    """The number of bytes that both begin with."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[low:middle] == other[low:middle] else (low, middle - 1)
    return low


def _hash(data: bytes) -> str:
    return sha256(data).hexdigest()


class ChangeRecord:
    """The changes that were made for one client, in a file of the service's folder."""

    def __init__(self, folder: Path, client: str) -> None:
        self._path = folder / "clients" / f"{client}.json"

    def read(self) -> dict[str, MadeChange]:
        """Returns the changes by the path of their file; nothing where the record can't be read."""
        try:
            found = json.loads(self._path.read_bytes())
            return {one["path"]: MadeChange(**one) for one in found["changes"]}
        except (OSError, ValueError, KeyError, TypeError):
            return {}

    def keep(self, changes: Sequence[FileChange]) -> None:
        """Remembers the changes, beside those of other files. A file that was written before, and not changed since, keeps what
        it was before that."""
        known = self.read()
        for change in changes:
            earlier = known.get(str(change.path))
            if earlier is not None and (back := earlier.undone(change.before)) is not None:
                change = replace(change, before=back.after)
            known[str(change.path)] = made_change(change)
        self._write(list(known.values()))

    def drop(self) -> None:
        """Forgets all of them, and where the client has its files."""
        for path in (self._path, self._path.with_suffix(".home")):
            path.unlink(missing_ok=True)

    def _write(self, changes: Sequence[MadeChange]) -> None:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        told: dict[str, Any] = {"changes": [{name: getattr(one, name) for name in one.__slots__} for one in changes]}
        written = self._path.with_suffix(".new")
        descriptor = os.open(written, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(told, file)
        written.replace(self._path)


def is_private(path: Path) -> bool:
    """Returns whether only this person can read the file, or could if it were there: by its own mode, or by that of a folder
    above it."""
    real = Path(os.path.realpath(path))
    try:
        if not real.exists() or not real.stat().st_mode & 0o077:
            return True
        return any(not folder.stat().st_mode & 0o011 for folder in _own(real.parents))
    except OSError:
        return False


def _own(folders: Sequence[Path]) -> Iterator[Path]:
    yield from (folder for folder in folders if folder.stat().st_uid == os.getuid())
