"""Port: the server's gRPC options, its address with TLS, and the event loop that it runs on.

The options limit message sizes, connections and keep-alive.
"""

from __future__ import annotations

import asyncio
import resource
import sys
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from threading import Lock, Thread
from typing import Any, Generic, TypeVar

import grpc
import grpc.aio

from germane.errors import InvalidInput
from germane.settings.serving import ServiceSettings
from germane.settings.values import Address

LOOKAHEAD_BYTES = 64 * 1024
"""Bytes of a request that gRPC accepts before the key is verified. They come together with the headers and stay in memory until
the call is refused or its request is read. A larger request counts as arrived when all of it has."""
_MAX_ADDED_BYTES = 1024**2
"""By how much a response may be larger than a request: it holds the request's messages and what was added."""
_MAX_HEADER_BYTES = 8 * 1024
"""Size of a call's metadata. gRPC refuses some calls above it, and all calls above twice as much."""
_MIN_PING_MS = 5000
"""gRPC closes the connection of a client that twice sends keep-alive pings more often."""
_HANDSHAKE_MS = 10_000
"""Time-out for a new connection, until its first HTTP/2 frames; includes TLS."""
_MAX_IDLE_MS, _MAX_AGE_MS, _AGE_GRACE_MS = 5 * 60_000, 60 * 60_000, 5 * 60_000
"""When a connection without calls is closed; when any connection is, after which clients reconnect by themselves; and how long
its calls may go on then. The grace period ends calls whose caller never reads the responses."""
_MAX_CONNECTIONS = 10_000
_CONNECTION_SHARE = 0.5
"""Share of the process's file descriptors that connections may take; the rest is for the store and for HTTP."""


def options(settings: ServiceSettings, *, shared: bool) -> list[tuple[str, int]]:
    """Returns gRPC's channel arguments. With `shared`, several processes may listen on the port."""
    return [
        ("grpc.max_receive_message_length", settings.max_message_bytes),
        ("grpc.max_send_message_length", settings.max_message_bytes + _MAX_ADDED_BYTES),
        ("grpc.max_concurrent_streams", settings.max_concurrent_streams),
        ("grpc.http2.lookahead_bytes", LOOKAHEAD_BYTES),
        ("grpc.http2.bdp_probe", 0),  # it would raise the look-ahead, to megabytes on a fast network
        ("grpc.max_metadata_size", _MAX_HEADER_BYTES),
        ("grpc.absolute_max_metadata_size", 2 * _MAX_HEADER_BYTES),
        ("grpc.max_allowed_incoming_connections", _max_connections()),
        ("grpc.server_handshake_timeout_ms", _HANDSHAKE_MS),
        ("grpc.max_connection_idle_ms", _MAX_IDLE_MS),
        ("grpc.max_connection_age_ms", _MAX_AGE_MS),
        ("grpc.max_connection_age_grace_ms", _AGE_GRACE_MS),
        ("grpc.keepalive_time_ms", int(settings.keepalive_seconds * 1000)),
        ("grpc.keepalive_timeout_ms", int(settings.keepalive_timeout_seconds * 1000)),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.min_ping_interval_without_data_ms", _MIN_PING_MS),
        ("grpc.http2.max_ping_strikes", 2),
        ("grpc.so_reuseport", int(shared)),
    ]


def _max_connections() -> int:
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        return _MAX_CONNECTIONS
    return max(1, min(_MAX_CONNECTIONS, int(_CONNECTION_SHARE * files)))


def bind(server: grpc.aio.Server, settings: ServiceSettings) -> Address:
    """Binds the server to the address of the settings and returns the address, with the port that the system chose for port 0.

    Raises `InvalidInput` for an address or certificate that can't be used. No error text holds anything of the TLS key.
    """
    where, credentials = settings.grpc, _credentials(settings)
    try:
        if credentials is None:
            port = server.add_insecure_port(str(where))
        else:
            port = server.add_secure_port(str(where), credentials)
    except RuntimeError:
        why = "it is in use, or isn't this machine's" + (", or tls_cert and tls_key don't fit" if credentials else "")
        raise InvalidInput(f"can't be listened on: {why}", path=f"grpc.{where}") from None
    return Address(host=where.host, port=port)


def _credentials(settings: ServiceSettings) -> grpc.ServerCredentials | None:
    if settings.tls_cert is None or settings.tls_key is None:
        return None
    authority = settings.tls_client_ca
    return grpc.ssl_server_credentials(
        [(_read("tls_key", settings.tls_key), _read("tls_cert", settings.tls_cert))],
        root_certificates=None if authority is None else _read("tls_client_ca", authority),
        require_client_auth=authority is not None,
    )


def _read(name: str, path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"{name}: {path} can't be read: {error.strerror}") from None


# An event loop and a thread for the port alone, and the way to run work on the engine's loop. gRPC accepts one new call
# in a few turns of its loop, and a turn of a loop that assembles takes milliseconds. With one loop for both, calls
# would wait before the port can refuse them, and no time-out would fire while something computes. So the port's loop
# only accepts calls, reads, writes and watches the clock; all work that needs the store runs on the engine's loop.


T = TypeVar("T")
Work = Callable[[], Coroutine[Any, Any, T]]

_SWITCH_SECONDS = 0.0005
"""The interpreter's switch interval while a port is open. With the default of 5 ms one switch of threads could cost as much as
a whole call may take."""
_BATCH = 64
"""Items of a stream that cross between the loops at once."""


class _SwitchInterval:
    """The switch interval of the process, lowered while at least one bridge is open. Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._users = 0
        self._original = self._lowered = 0.0

    def lower(self) -> None:
        with self._lock:
            self._users += 1
            if self._users == 1:
                self._original = sys.getswitchinterval()
                sys.setswitchinterval(min(self._original, _SWITCH_SECONDS))
                self._lowered = sys.getswitchinterval()

    def restore(self) -> None:
        """Restores the original value for the last user, unless somebody else has set another value meanwhile."""
        with self._lock:
            self._users -= 1
            if self._users == 0 and sys.getswitchinterval() == self._lowered:
                sys.setswitchinterval(self._original)


_SWITCH_INTERVAL = _SwitchInterval()


class LoopBridge:
    """Made on the engine's loop. `open` starts the thread of the port's loop, which has the same type; `close` ends it.

    While a bridge is open, the switch interval of the whole process is lower.
    """

    def __init__(self) -> None:
        self._engine_loop = asyncio.get_running_loop()
        self._port_loop: asyncio.AbstractEventLoop | None = None
        self._ending: asyncio.Event | None = None
        self._thread: Thread | None = None
        self._lowers_interval = False

    async def open(self) -> None:
        """Starts the port's loop and returns when it runs."""
        opened: asyncio.Future[None] = self._engine_loop.create_future()
        self._thread = Thread(target=self._run, args=(opened,), name="germane-grpc", daemon=True)
        self._thread.start()
        await opened
        _SWITCH_INTERVAL.lower()
        self._lowers_interval = True

    async def close(self) -> None:
        """Cancels what still runs on the port's loop and ends its thread. Idempotent."""
        if self._thread is None or self._port_loop is None or self._ending is None:
            return
        with suppress(RuntimeError):
            self._port_loop.call_soon_threadsafe(self._ending.set)
        await asyncio.to_thread(self._thread.join)
        self._thread = None
        if self._lowers_interval:
            self._lowers_interval = False
            _SWITCH_INTERVAL.restore()

    async def on_port(self, work: Work[T]) -> T:
        """Called on the engine's loop: runs `work` on the port's and returns its result."""
        assert self._port_loop is not None
        return await _Crossing(self._port_loop, work).answer()

    async def on_engine(self, work: Work[T]) -> T:
        """Called on the port's loop: runs `work` on the engine's and returns its result. Cancelling it cancels the work and
        doesn't wait for that."""
        return await _Crossing(self._engine_loop, work).answer()

    async def stream(self, generate: Callable[[], AsyncGenerator[T, None]]) -> AsyncGenerator[T, None]:
        """Called on the port's loop: yields the items of a generator that runs on the engine's loop, in batches that are
        fetched only when the consumer needs them."""
        items = generate()
        try:
            while True:
                batch = await self.on_engine(lambda: _next_batch(items))
                for item in batch:
                    yield item
                if len(batch) < _BATCH:
                    return
        finally:
            asyncio.run_coroutine_threadsafe(_close(items), self._engine_loop)

    def _run(self, opened: asyncio.Future[None]) -> None:
        async def live() -> None:
            self._port_loop, self._ending = asyncio.get_running_loop(), asyncio.Event()
            self._engine_loop.call_soon_threadsafe(opened.set_result, None)
            await self._ending.wait()

        with asyncio.Runner(loop_factory=type(self._engine_loop)) as runner:
            runner.run(live())


class _Crossing(Generic[T]):
    """One piece of work on the loop `there`, waited for on the loop that runs. Shorter than asyncio's own way: a task and its
    two futures would cost three more turns of the loops."""

    __slots__ = ("_answered", "_here", "_task", "_there", "_work")

    def __init__(self, there: asyncio.AbstractEventLoop, work: Work[T]) -> None:
        self._here, self._there, self._work = asyncio.get_running_loop(), there, work
        self._answered: asyncio.Future[tuple[T, None] | tuple[Any, BaseException]] | None = self._here.create_future()
        self._task: asyncio.Task[None] | None = None

    async def answer(self) -> T:
        """Returns what the work returns, and raises what it raises. Cancelling it cancels the work, and doesn't wait."""
        answered = self._answered
        assert answered is not None
        self._there.call_soon_threadsafe(self._start)
        try:
            value, error = await answered
        except asyncio.CancelledError:
            with suppress(RuntimeError):  # the other loop is closed
                self._there.call_soon_threadsafe(self._cancel)
            raise
        if error is None:
            return value
        try:
            raise error
        finally:
            del error, answered  # the error's traceback holds this frame: else the two would wait for the garbage collector

    def _start(self) -> None:
        if (answered := self._answered) is not None and not answered.done():
            self._task = self._there.create_task(self._run())
            self._task.add_done_callback(self._ended)

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        """An error is passed on as a value: where the caller was cancelled, nobody retrieves the task's exception, and asyncio
        would log it with its text."""
        try:
            value = await self._work()
        except Exception as error:
            self._tell(None, error)
        else:
            self._tell(value, None)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Tells the end of a task that had no time to tell it."""
        if task.cancelled():
            self._tell(None, asyncio.CancelledError())
        elif (error := task.exception()) is not None:
            self._tell(None, error)

    def _tell(self, value: Any, error: BaseException | None) -> None:
        answered, self._answered = self._answered, None
        if answered is not None:
            with suppress(RuntimeError):  # the caller's loop is closed
                self._here.call_soon_threadsafe(_set, answered, value, error)


def _set(answered: asyncio.Future[Any], value: Any, error: BaseException | None) -> None:
    if answered.done():
        return
    if isinstance(error, asyncio.CancelledError):
        answered.cancel()
    else:
        answered.set_result((value, error))


async def _next_batch(items: AsyncGenerator[T, None]) -> list[T]:
    batch: list[T] = []
    async for item in items:
        batch.append(item)
        if len(batch) == _BATCH:
            break
    return batch


async def _close(items: AsyncGenerator[Any, None]) -> None:
    with suppress(Exception):
        await items.aclose()
