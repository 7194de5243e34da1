"""Attack: a client without an API key that attacks a service, as a program of its own; `bench.port` starts it and measures.

    python -m bench.attack streams HOST:PORT [--count 2000] [--connections 8] [--seconds 20]
    python -m bench.attack bodies HOST:PORT [--megabytes 2000] [--abreast 130] [--seconds 20]
    python -m bench.attack silent HOST:PORT [--count 1000] [--seconds 20]

streams   `--count` open calls: Health/Watch, Health/Check and AssembleContext whose request message never comes. A call that
          the service ends is opened again after `--pause`, until the time is over
bodies    requests of 15 MB, every eighth to Health/Check, `--abreast` at once, until `--megabytes` were sent or the time is
          over
silent    `--count` HTTP connections: half send nothing, half send the head of a request byte by byte. A connection that the
          service closes is opened again

The attack is limited in number and time and accepts only addresses of this machine. It prints its counts as JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

import grpc
import grpc.aio

from germane.settings.values import Address

__all__ = ["main"]

_ASSEMBLE = "/germane.context.v1.ContextAssemblyService/AssembleContext"
_CHECK, _WATCH = "/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch"
_BODY = 15_000_000
_HEAD = b"GET /health HTTP/1.1\r\nHost: germane\r\nX-Slow: " + b"x" * 4000
_AGAIN = 0.1
"""Seconds between two bytes of a slow head, and before a closed connection is opened again."""


class Attack:
    """`seen` counts how calls and connections ended, by name."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.seen: Counter[str] = Counter()
        self.most = self._open = 0
        self._ends: float = time.monotonic() + options.seconds

    @property
    def on(self) -> bool:
        return time.monotonic() < self._ends

    async def streams(self) -> None:
        async with _channels(self.options.address, self.options.connections) as channels:
            kinds = (_WATCH, _ASSEMBLE, _WATCH, _CHECK)
            ways = [self._held(channels[n % len(channels)], kinds[n % len(kinds)]) for n in range(self.options.count)]
            await self._together(ways)

    async def _held(self, channel: grpc.aio.Channel, method: str) -> None:
        """Holds one call open and opens it again when it ends."""
        left = self._ends - time.monotonic()
        while self.on:
            if method == _WATCH:
                call: Any = channel.unary_stream(method)(b"", timeout=left)  # type: ignore[arg-type]
            else:
                call = channel.stream_unary(method)(timeout=left)  # nothing is ever written to it
            await self._counted(method, call)
            await asyncio.sleep(self.options.pause)

    async def _counted(self, method: str, call: Any) -> None:
        self._open += 1
        self.most = max(self.most, self._open)
        try:
            if method == _WATCH:
                async for _ in call:
                    pass
            else:
                await call
            self.seen["OK"] += 1
        except grpc.aio.AioRpcError as error:
            self.seen[f"{method.rpartition('/')[2]} {error.code().name}"] += 1
        finally:
            self._open -= 1

    async def bodies(self) -> None:
        """Each caller sends its next request as soon as the last is refused."""
        body, left = b"\x0a\xfb\x00" + bytes(_BODY), self.options.megabytes * 1_000_000
        async with _channels(self.options.address, self.options.connections) as channels:

            async def offering(channel: Any, number: int) -> None:
                nonlocal left
                method = _CHECK if number % 8 == 0 else _ASSEMBLE
                while self.on and left > 0:
                    left -= _BODY
                    self.seen["megabytes offered"] += _BODY // 1_000_000
                    await self._counted(method, channel.unary_unary(method)(body, timeout=self.options.seconds))

            await self._together([offering(channels[n % len(channels)], n) for n in range(self.options.abreast)])

    async def silent(self) -> None:
        await self._together([self._connected(slow=bool(n % 2)) for n in range(self.options.count)])

    async def _connected(self, *, slow: bool) -> None:
        address = self.options.address
        while self.on:
            try:
                reader, writer = await asyncio.open_connection(address.host, address.port)
            except OSError as error:
                self.seen[f"connect {type(error).__name__}"] += 1
                await asyncio.sleep(_AGAIN)
                continue
            self._open += 1
            self.most = max(self.most, self._open)
            ended = asyncio.ensure_future(reader.read())
            with suppress(OSError):
                for at in range(len(_HEAD)):
                    if not self.on or ended.done():
                        break
                    if slow:
                        writer.write(_HEAD[at : at + 1])
                    await asyncio.wait([ended], timeout=_AGAIN)
            self.seen["closed by the server" if ended.done() else "open to the end"] += 1
            self._open -= 1
            ended.cancel()
            writer.close()
            with suppress(OSError, asyncio.CancelledError):
                await ended
            await asyncio.sleep(_AGAIN)

    async def _together(self, ways: list[Coroutine[Any, Any, None]]) -> None:
        tasks = [asyncio.create_task(way) for way in ways]
        await asyncio.wait(tasks, timeout=max(0.0, self._ends - time.monotonic()) + 1)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks, timeout=5)


class _channels:  # noqa: N801
    """Opens that many channels, each with a connection of its own."""

    def __init__(self, address: Address, count: int) -> None:
        own = (("grpc.use_local_subchannel_pool", 1), ("grpc.enable_retries", 0), ("grpc.max_send_message_length", -1))
        self._channels = [grpc.aio.insecure_channel(str(address), options=own) for _ in range(count)]

    async def __aenter__(self) -> list[grpc.aio.Channel]:
        return self._channels

    async def __aexit__(self, *_: object) -> None:
        await asyncio.gather(*(channel.close() for channel in self._channels))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.attack", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("kind", choices=("streams", "bodies", "silent"))
    parser.add_argument("address", type=Address.parse)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--abreast", type=int, default=130)
    parser.add_argument("--megabytes", type=int, default=2000)
    parser.add_argument("--pause", type=float, default=1.0, help="seconds until a call that was ended is begun again")
    parser.add_argument("--seconds", type=float, default=20.0)
    options = parser.parse_args()
    if not options.address.loopback:
        parser.error(f"{options.address} isn't this machine: nobody else is attacked")
    attack = Attack(options)
    kinds: dict[str, Callable[[], Coroutine[Any, Any, None]]] = {
        "streams": attack.streams,
        "bodies": attack.bodies,
        "silent": attack.silent,
    }
    asyncio.run(kinds[options.kind]())
    print(json.dumps({"most_at_once": attack.most, **dict(attack.seen.most_common())}))


if __name__ == "__main__":
    main()
