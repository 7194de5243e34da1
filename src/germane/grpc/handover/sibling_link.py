"""Sibling link: the connection on which one worker asks another to answer a call.

The messages on it are frames: the number of a call, a kind, and bytes.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from struct import Struct

import grpc

from germane.grpc.server.refusals import Refused, refusal

TIMES = Struct("!dd")
"""In front of a request: when it arrived and its caller's deadline, by the clock that the processes of a machine share; NaN for
no deadline."""
_NO_DEADLINE = float("nan")
_PAUSE_SECONDS = 1.0
"""Seconds without a call for a sibling that didn't answer in time."""
_CODES = {code.value[0]: code for code in grpc.StatusCode}


class SiblingLost(Exception):
    """The sibling doesn't answer this call: it has ended, or is late."""


class SiblingLink:
    """The connection to the worker that listens on `path`. For the port's loop."""

    def __init__(self, index: int, path: Path) -> None:
        self.index = index
        self._path = path
        self._frames: Frames | None = None
        self._waiting: dict[int, asyncio.Future[tuple[int, bytes]]] = {}
        self._numbers = count()
        self._paused_until = 0.0

    @property
    def usable(self) -> bool:
        """Whether the sibling is connected and answered lately."""
        return self._frames is not None and asyncio.get_running_loop().time() >= self._paused_until

    @property
    def waiting(self) -> int:
        """Calls that the sibling hasn't answered yet."""
        return len(self._waiting)

    async def connect(self) -> None:
        """Connects where that is possible now; raises nothing."""
        if self._frames is None:
            with suppress(OSError):
                loop = asyncio.get_running_loop()
                _, self._frames = await loop.create_unix_connection(lambda: Frames(self._answered, self._lost), str(self._path))

    async def ask(self, kind: int, request: bytes, *, arrived: float, ends: float | None, seconds: float) -> bytes:
        """Returns the sibling's response. Raises `Refused` where the sibling refuses the call, and `SiblingLost` where it has
        ended or takes longer than `seconds`; it gets no calls for a second then."""
        if self._frames is None:
            raise SiblingLost
        loop, number = asyncio.get_running_loop(), next(self._numbers)
        answer: asyncio.Future[tuple[int, bytes]] = loop.create_future()
        self._waiting[number] = answer
        try:
            self._frames.send(number, kind, TIMES.pack(arrived, _NO_DEADLINE if ends is None else ends) + request)
            await asyncio.wait([answer], timeout=seconds)
        finally:
            del self._waiting[number]
            if not answer.done():
                answer.cancel()
                if self._frames is not None:
                    self._frames.send(number, CANCEL_KIND)
        if answer.cancelled():
            self._paused_until = loop.time() + _PAUSE_SECONDS
            raise SiblingLost
        code, payload = answer.result()
        if code:
            raise Refused(_CODES[code], payload.decode())
        return payload

    def close(self) -> None:
        """Ends the connection; calls that wait raise `SiblingLost`. Idempotent."""
        if self._frames is not None:
            self._frames.close()

    def _answered(self, frames: Frames, number: int, kind: int, payload: bytes) -> None:
        if (answer := self._waiting.get(number)) is not None and not answer.done():
            answer.set_result((kind, payload))

    def _lost(self, frames: Frames) -> None:
        self._frames = None
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(SiblingLost())


# The Unix socket on which a worker answers the calls of its siblings.


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
        if kind == CANCEL_KIND:
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


# The messages between two workers.


_HEAD = Struct("!IQB")
"""Bytes of the payload, number of the call, kind of the frame."""
CANCEL_KIND = 255
"""The kind of a frame that gives a call up. Other kinds are the asker's methods and the answerer's gRPC status codes."""


class Frames(asyncio.Protocol):
    """One connection. `on_frame(frames, number, kind, payload)` is called for each whole frame, `on_lost` once at the end. Both
    ends are workers of the same service and trust each other."""

    def __init__(self, on_frame: Callable[[Frames, int, int, bytes], None], on_lost: Callable[[Frames], None]) -> None:
        self._on_frame, self._on_lost = on_frame, on_lost
        self._transport: asyncio.WriteTransport | None = None
        self._buffer = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        start = 0
        while len(self._buffer) >= start + _HEAD.size:
            length, number, kind = _HEAD.unpack_from(self._buffer, start)
            end = start + _HEAD.size + length
            if len(self._buffer) < end:
                break
            payload = bytes(self._buffer[start + _HEAD.size : end])
            start = end
            self._on_frame(self, number, kind, payload)
        del self._buffer[:start]

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._on_lost(self)

    def send(self, number: int, kind: int, payload: bytes = b"") -> None:
        """Sends one frame; does nothing on a connection that has ended."""
        if self._transport is not None:
            self._transport.write(_HEAD.pack(len(payload), number, kind) + payload)

    def close(self) -> None:
        """Ends the connection. Idempotent."""
        if self._transport is not None:
            self._transport.abort()
