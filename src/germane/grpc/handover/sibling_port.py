"""Sibling port: the Unix socket on which a worker answers the calls of its siblings."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from germane.grpc.handover.frames import CANCEL, Frames
from germane.grpc.handover.sibling_link import TIMES
from germane.grpc.refusals import refusal

__all__ = ["SiblingPort", "Take"]

Take = Callable[[bytes, float, float | None], Awaitable[bytes]]
"""Answers one request: its bytes, when it arrived, and its caller's deadline. The siblings number their methods alike."""


class SiblingPort:
    """Listens on `path` from `open` to `close`. For the port's loop."""

    def __init__(self, path: Path, takes: Sequence[Take]) -> None:
        self._path, self._takes = path, takes
        self._server: asyncio.Server | None = None
        self._connections: set[Frames] = set()
        self._tasks: dict[tuple[Frames, int], asyncio.Task[None]] = {}

    async def open(self) -> None:
        """Raises `OSError` where the socket can't be made."""
        self._path.unlink(missing_ok=True)  # of a worker that was killed
        self._server = await asyncio.get_running_loop().create_unix_server(self._connected, str(self._path))

    async def close(self) -> None:
        """Ends the connections and the calls that still run. Idempotent."""
        server, self._server = self._server, None
        if server is None:
            return
        server.close()
        self._path.unlink(missing_ok=True)
        for task in self._tasks.values():
            task.cancel()
        for frames in tuple(self._connections):
            frames.close()

    def _connected(self) -> Frames:
        frames = Frames(self._asked, self._lost)
        self._connections.add(frames)
        return frames

    def _asked(self, frames: Frames, number: int, kind: int, payload: bytes) -> None:
        if kind == CANCEL:
            if (task := self._tasks.get((frames, number))) is not None:
                task.cancel()
            return
        task = self._tasks[frames, number] = asyncio.get_running_loop().create_task(self._answer(frames, number, kind, payload))
        task.add_done_callback(lambda _: self._tasks.pop((frames, number), None))

    async def _answer(self, frames: Frames, number: int, kind: int, payload: bytes) -> None:
        arrived, ends = TIMES.unpack_from(payload)
        try:
            response = await self._takes[kind](payload[TIMES.size :], arrived, None if math.isnan(ends) else ends)
        except Exception as error:
            code, text = refusal(error)
            frames.send(number, code.value[0], text.encode("utf-8", "replace"))
        else:
            frames.send(number, 0, response)

    def _lost(self, frames: Frames) -> None:
        self._connections.discard(frames)
        for (other, _), task in tuple(self._tasks.items()):
            if other is frames:
                task.cancel()
