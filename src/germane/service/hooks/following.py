"""Following: records what is new in the transcripts of coding agents, from where the last reading ended.

Only a file inside the client's own folder is read. What is kept of a transcript beside its messages is a position, in a small
file of the service's folder. A reading that was interrupted is made again: messages have ids, so that each is stored once.
"""

from __future__ import annotations

import asyncio
import json
import os
import stat
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b
from os.path import realpath
from pathlib import Path
from time import time

from germane.api.agent import Agent
from germane.errors import GermaneError, InvalidInput
from germane.integrations.transcripts.rows import MessageRow, grown
from germane.integrations.transcripts.transcript import read_transcript
from germane.text.private import without_private_in

_PART = 4 << 20
"""Bytes that are read at once."""
_MAX_LINE = 64 << 20
_MAX_FIRST = 8 << 20
"""Bytes of a transcript that was never read before which are recorded: its end. An import reads the whole."""
_BATCH = 64
"""Messages of one call of `record`."""
_MAX_WAITING = 1_000
"""Transcripts that may wait to be read; of more, the oldest waits for its next event."""
_AGAIN = 1.0
"""Seconds after a turn at which its transcript is read once more: a client may write the last lines after the event."""
_KEPT_SECONDS = 90 * 86_400
"""How long the position in a transcript is kept that isn't read any more."""


@dataclass(frozen=True, slots=True)
class Position:
    """Where reading goes on: the byte behind the last line that was read of the file with this inode."""

    inode: int = 0
    offset: int = 0


@dataclass(frozen=True, slots=True)
class _Part:
    """Messages that were read, the position behind them, and whether there is more."""

    rows: tuple[MessageRow, ...]
    position: Position
    more: bool


@dataclass(slots=True, kw_only=True)
class _Wanted:
    """A reading that waits. `whole` says that nobody writes on the last message any more."""

    agent: Agent
    session: str
    format: str
    whole: bool
    done: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


Noted = Callable[[str, str, Sequence[str]], object]
"""Is told an agent, a session and the ids of what was stored of it."""


class FollowedTranscripts:
    """Reads one part after the other, in the order of the events. For the engine's loop. `folder` keeps the positions."""

    def __init__(self, folder: Path, noted: Noted) -> None:
        self._folder, self._noted = folder, noted
        self._waiting = dict[Path, _Wanted]()
        self._running: asyncio.Task[None] | None = None
        self._later = set[asyncio.Task[None]]()

    @property
    def busy(self) -> bool:
        """Whether anything is being read, or waits."""
        return bool(self._waiting or self._later) or (self._running is not None and not self._running.done())

    def follow(
        self, path: Path, format: str, agent: Agent, session: str, *, whole: bool, again: bool = False
    ) -> Awaitable[None]:
        """Has what is new recorded in the session, in the background; returns what is done once it was tried. With `again` it
        is read once more a second later."""
        wanted = self._waiting.pop(path, None) or _Wanted(agent=agent, session=session, format=format, whole=whole)
        wanted.whole = wanted.whole or whole
        self._waiting[path] = wanted
        while len(self._waiting) > _MAX_WAITING:
            self._waiting.pop(next(iter(self._waiting))).done.cancel()
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._run())
        if again:
            task = asyncio.create_task(self._again(path, format, agent, session))
            self._later.add(task)
            task.add_done_callback(self._later.discard)
        return asyncio.shield(wanted.done)

    async def _again(self, path: Path, format: str, agent: Agent, session: str) -> None:
        await asyncio.sleep(_AGAIN)
        await self.follow(path, format, agent, session, whole=True)

    async def close(self) -> None:
        """Ends what is read; it is read again after the next event."""
        ending = [*self._later, *([] if self._running is None else [self._running])]
        for task in ending:
            task.cancel()
        if ending:
            await asyncio.wait(ending)

    async def _run(self) -> None:
        while self._waiting:
            path = next(iter(self._waiting))
            wanted = self._waiting.pop(path)
            try:
                await self._read(path, wanted)
            except (GermaneError, OSError, ValueError, RecursionError):
                pass  # the position stays, so that the next event tries again
            finally:
                if not wanted.done.done():
                    wanted.done.set_result(None)

    async def _read(self, path: Path, wanted: _Wanted) -> None:
        kept = self._folder / blake2b(os.fsencode(path), digest_size=12).hexdigest()
        position, more = await asyncio.to_thread(_kept_position, kept), True
        while more:
            part = await asyncio.to_thread(read_part, path, position, wanted.format, whole=wanted.whole)
            for start in range(0, len(part.rows), _BATCH):
                await self._record(wanted, part.rows[start : start + _BATCH])
            if part.position != position:
                position = part.position
                await asyncio.to_thread(_keep, kept, position)
            more = part.more

    async def _record(self, wanted: _Wanted, rows: Sequence[MessageRow]) -> None:
        """A message that can't be recorded doesn't keep the others out; one that had been read before it was complete gets a
        name of its own for its present length."""
        try:
            recorded = await wanted.agent.record([row.raw or {} for row in rows], session=wanted.session)
        except InvalidInput:
            if len(rows) > 1:
                for row in rows:
                    await self._record(wanted, [row])
            elif (longer := grown(rows[0])) is not None:
                await self._record(wanted, [longer])
            return
        self._noted(wanted.agent.scope.agent, wanted.session, (*recorded.added, *recorded.extracted))


def own_transcript(path: str, *folders: Path) -> Path | None:
    """Returns the real path of a transcript; None for one outside of the client's folders, also by a symbolic link, and for
    what is no transcript by its name."""
    if not path.startswith("/") or not path.endswith(".jsonl") or "\0" in path:
        return None
    real = Path(realpath(path))
    return real if any(real.is_relative_to(realpath(folder)) for folder in folders) else None


def read_part(path: Path, position: Position, format: str, *, whole: bool) -> _Part:
    """Returns the next messages of a transcript. A line that isn't complete waits, and so does the last message where more of
    it may come, unless `whole`. What is private is left out. Linear in what is read."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.getuid():
            return _Part((), position, more=False)
        if position.inode != found.st_ino or position.offset > found.st_size:
            position = Position(found.st_ino, max(0, found.st_size - _MAX_FIRST))
        file.seek(position.offset)
        data = file.read(_PART)
        if b"\n" not in data and len(data) == _PART:
            data += file.readline(_MAX_LINE)
        is_last = position.offset + len(data) >= found.st_size
    end = data.rfind(b"\n") + 1
    if not end and not is_last:  # a line longer than any that is read
        end = len(data)
    lines = data[:end].splitlines(keepends=True)
    if not whole and is_last:
        lines = lines[: _complete(lines)] if format == "claude-code" else lines
    position = replace(position, offset=position.offset + sum(map(len, lines)))
    return _Part(tuple(_rows(lines, format)), position, more=not is_last and bool(lines))


def _complete(lines: Sequence[bytes]) -> int:
    """The number of lines before the last message of the model, of which more lines may come."""
    for line in reversed(lines):
        if b'"assistant"' not in line:
            continue
        with suppress(ValueError, RecursionError, AttributeError, KeyError, TypeError):
            step = json.loads(line)
            id = (
                step["message"].get("id") if step.get("type") == "assistant" and isinstance(step.get("message"), dict) else None
            )
            if isinstance(id, str) and id:
                mark = json.dumps(id).encode()
                return next(number for number, each in enumerate(lines) if mark in each or each is line)
    return len(lines)


def _rows(lines: Sequence[bytes], format: str) -> Iterator[MessageRow]:
    for row in read_transcript(lines, format, "session"):
        if isinstance(row, MessageRow) and row.raw is not None:
            raw = without_private_in(row.raw)
            if raw is None or ("content" in raw and not raw["content"]):
                continue
            yield row._replace(raw=raw)


def _kept_position(path: Path) -> Position:
    try:
        fields = json.loads(path.read_bytes())
        return Position(int(fields["inode"]), int(fields["offset"]))
    except (OSError, ValueError, KeyError, TypeError):
        return Position()


def _keep(path: Path, position: Position) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    written = path.with_suffix(".new")
    written.write_text(json.dumps(asdict(position)), "utf-8")
    written.replace(path)


def forget_old_positions(folder: Path) -> None:
    """Removes the positions of transcripts that weren't read for 90 days."""
    limit = time() - _KEPT_SECONDS
    with suppress(OSError):
        for path in folder.iterdir():
            with suppress(OSError):
                if path.stat().st_mtime < limit:
                    path.unlink()
