"""Sibling link: the connection on which one worker asks another to answer a call."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from itertools import count
from pathlib import Path
from struct import Struct

import grpc

from germane.grpc.handover.frames import CANCEL, Frames
from germane.grpc.refusals import Refused

__all__ = ["TIMES", "SiblingLink", "SiblingLost"]

TIMES = Struct("!dd")
"""In front of a request: when it arrived and its caller's deadline, by the clock that the processes of a machine share; NaN for
no deadline."""
_NONE = float("nan")
_PAUSE = 1.0
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
            self._frames.send(number, kind, TIMES.pack(arrived, _NONE if ends is None else ends) + request)
            await asyncio.wait([answer], timeout=seconds)
        finally:
            del self._waiting[number]
            if not answer.done():
                answer.cancel()
                if self._frames is not None:
                    self._frames.send(number, CANCEL)
        if answer.cancelled():
            self._paused_until = loop.time() + _PAUSE
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
