"""HTTP connection: sends requests to a service over HTTP, and turns its problem details into germane's errors.

A request is sent once: never again after a failure, never to where a redirect points, and never by a proxy of the environment.
What is received is bounded.
"""

from __future__ import annotations

import asyncio
import io
import json
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from tempfile import NamedTemporaryFile
from threading import Lock
from time import monotonic
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

from germane.api.remote.fallback import Fallback
from germane.api.remote.operation_call import Pem, check_pair, checked_key, read_pem
from germane.api.workers.threads import Loop
from germane.errors import (
    Conflict,
    ConsentNeeded,
    EmbedderError,
    GermaneError,
    InvalidInput,
    LLMError,
    MissingExtra,
    NotFound,
    NotPermitted,
    Stale,
    StoreCorrupt,
    StoreTooNew,
    StoreUnavailable,
    UnknownName,
)
from germane.settings.values import Address

if TYPE_CHECKING:
    import aiohttp

_MAX_ANSWER = 64 << 20
"""Bytes of one answer, and of one line of an export."""
_IN_ONE_PIECE = 1 << 20
"""Bytes of a body that are sent from memory; aiohttp reads a larger one in parts, so that the event loop goes on."""
_KEEP_ALIVE = 10.0
"""Seconds that an unused connection is kept: less than the service keeps it, which would otherwise close it under a request."""
_RAISED: Mapping[str, type[GermaneError]] = MappingProxyType(
    {
        "conflict": Conflict,
        "embedder-error": EmbedderError,
        "invalid-input": InvalidInput,
        "not-found": NotFound,
        "not-permitted": NotPermitted,
        "stale": Stale,
        "store-corrupt": StoreCorrupt,
        "store-too-new": StoreTooNew,
        "store-unavailable": StoreUnavailable,
        "unknown-name": UnknownName,
    }
)
"""The errors by the last part of a problem's type. `ConsentNeeded` and `LLMError` take more than a text."""
_LATER = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)
"""Statuses of an answer that the service may give otherwise a little later."""


@dataclass(frozen=True, slots=True)
class HttpReply:
    """What the service answered with status 200. `headers` are in lower case."""

    headers: Mapping[str, str]
    body: bytes


class Refusal(Fallback):
    """The service answered with another `status` than 200. `error` says what that means to a caller."""

    def __init__(self, status: int, error: GermaneError) -> None:
        super().__init__(f"http_error:{status}", str(error)[:200])
        self.status, self.error = status, error


class HttpConnection:
    """The connections to the service at `url`, such as `https://memory.example.com`; a path in it stands before those of the
    service. `key` is sent with each request, without TLS to this machine only, unless `plaintext` is true. `roots` are the
    certificates that the service's is verified with, in the place of the system's; `certificate` and `certificate_key` are the
    caller's own, where the service asks for one. Belongs to the event loop that runs when it is opened.

    Raises `InvalidInput` for an argument that can't be used, and `MissingExtra` without aiohttp.
    """

    def __init__(
        self,
        url: str,
        *,
        key: str | None,
        plaintext: bool = False,
        roots: Pem | None = None,
        certificate: Pem | None = None,
        certificate_key: Pem | None = None,
    ) -> None:
        try:
            import aiohttp
        except ImportError as error:
            raise MissingExtra("remote", "aiohttp") from error
        self.url, self.secure, local = _checked_url(url)
        self.key = checked_key(key)
        self._tls = _client_context(roots, certificate, certificate_key)
        if self._tls is not None and not self.secure:
            raise InvalidInput("is http://, and certificates belong to https://", path="url")
        if key is not None and not (self.secure or plaintext or local):
            raise InvalidInput(
                "{} isn't this machine, and without TLS the key could be read on its way",
                self.url,
                path="url",
                advice="give https://, or plaintext=True where the network itself can be trusted",
            )
        self._faults = (aiohttp.ClientError, OSError, ValueError)
        self._session: aiohttp.ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def open(self) -> None:
        """Begins a pool of connections on the running event loop; the first request connects. Idempotent."""
        import aiohttp

        if self._session is None:
            self._loop = asyncio.get_running_loop()
            headers = {"accept-encoding": "identity", "user-agent": "germane"}
            if self.key is not None:
                headers["authorization"] = f"Bearer {self.key}"
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(keepalive_timeout=_KEEP_ALIVE, ssl=self._tls or True),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers=headers,
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
                auto_decompress=False,
                trust_env=False,
            )

    def now(self) -> float:
        """Returns seconds on the clock of the event loop, by which time limits are kept."""
        return asyncio.get_running_loop().time()

    async def close(self) -> None:
        """Closes the connections. Idempotent."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def post(self, path: str, query: Mapping[str, str], body: bytes, seconds: float) -> HttpReply:
        """Sends a JSON body and returns the answer. Raises `Refusal` for any status but 200, else `Fallback` where there is no
        whole answer within `seconds`."""
        with self._as_fallbacks():
            async with asyncio.timeout(seconds), self._request("POST", path, query, body) as response:
                return await self._reply(response)

    async def get(self, path: str, seconds: float) -> HttpReply:
        """As `post`, without a body."""
        with self._as_fallbacks():
            async with asyncio.timeout(seconds), self._request("GET", path, {}) as response:
                return await self._reply(response)

    async def lines(self, path: str, query: Mapping[str, str], seconds: float) -> AsyncGenerator[bytes, None]:
        """Yields the lines of an answer. Raises as `post` does; `seconds` bound the wait for each part of it."""
        with self._as_fallbacks():
            async with asyncio.timeout(seconds):
                response = await self._request("POST", path, query)
            async with response:
                async with asyncio.timeout(seconds):
                    await self._check(response)
                waiting, size = list[bytes](), 0
                while True:
                    async with asyncio.timeout(seconds):
                        part = await response.content.readany()
                    first, *others = part.split(b"\n")
                    waiting.append(first)
                    size += len(first)
                    for other in others:
                        yield b"".join(waiting)
                        waiting, size = [other], len(other)
                    if size > _MAX_ANSWER:
                        raise Fallback("http_error:OVERSIZED")
                    if not part:
                        break
        if size:
            yield b"".join(waiting)

    @contextmanager
    def raising(self) -> Iterator[None]:
        """Raises germane's errors in the place of `Fallback`."""
        try:
            yield
        except Refusal as error:
            raise error.error from None
        except Fallback as error:
            hint = f" ({error.hint})" if error.hint else ""
            raise StoreUnavailable(f"the service can't be asked: {error}{hint}") from None

    def _request(
        self, method: str, path: str, query: Mapping[str, str], body: bytes | None = None
    ) -> aiohttp.client._RequestContextManager:
        if self._session is None:
            raise Fallback("client_error:closed", "open it with  async with Germane.connect(…) as germane:")
        if self._loop is not asyncio.get_running_loop():
            raise Fallback("client_error:other_loop")
        url = self.url + path + (f"?{urlencode(query)}" if query else "")
        headers = {} if body is None else {"content-type": "application/json"}
        data = io.BytesIO(body) if body is not None and len(body) > _IN_ONE_PIECE else body
        return self._session.request(method, url, data=data, headers=headers, allow_redirects=False)

    async def _reply(self, response: aiohttp.ClientResponse) -> HttpReply:
        await self._check(response)
        headers = {name.lower(): value for name, value in response.headers.items()}
        return HttpReply(headers, await _bounded(response))

    async def _check(self, response: aiohttp.ClientResponse) -> None:
        """Raises `Refusal` for any status but 200."""
        if response.status == HTTPStatus.OK:
            return
        told: Any = None
        if response.content_type == "application/problem+json":
            told = json.loads(await _bounded(response))
        known = told if isinstance(told, dict) else {}
        kind = str(known.get("type", "")).rpartition(":")[2]
        raise Refusal(response.status, _error(response.status, kind, known))

    @contextmanager
    def _as_fallbacks(self) -> Iterator[None]:
        """Raises `Fallback` in the place of aiohttp's errors. Their texts hold nothing that was sent."""
        try:
            yield
        except TimeoutError:
            raise Fallback("http_error:DEADLINE_EXCEEDED") from None
        except self._faults as error:
            raise Fallback("http_error:UNAVAILABLE", f"{type(error).__name__}: {error}"[:200]) from None


class BlockingConnection:
    """As `HttpConnection`, for any number of threads: its requests run on an event loop in a daemon thread, which `open`
    starts."""

    def __init__(self, url: str, **given: Any) -> None:
        self._awaited = HttpConnection(url, **given)
        self._running: Loop | None = None
        self._lock = Lock()

    @property
    def url(self) -> str:
        return self._awaited.url

    @property
    def key(self) -> str | None:
        return self._awaited.key

    def open(self) -> None:
        """Starts the thread; the first request connects. Idempotent."""
        with self._lock:
            if self._running is None:
                self._running = Loop(self._opened())

    def close(self) -> None:
        """Closes the connections and ends the thread. Idempotent."""
        with self._lock:
            loop, self._running = self._running, None
        if loop is not None:
            loop.close()

    def now(self) -> float:
        """Returns seconds on the clock of event loops."""
        return monotonic()

    def post(self, path: str, query: Mapping[str, str], body: bytes, seconds: float) -> HttpReply:
        """See `HttpConnection.post`."""
        return self._loop.call(self._awaited.post, path, query, body, seconds)

    def get(self, path: str, seconds: float) -> HttpReply:
        """See `HttpConnection.get`."""
        return self._loop.call(self._awaited.get, path, seconds)

    def lines(self, path: str, query: Mapping[str, str], seconds: float) -> Generator[bytes, None, None]:
        """See `HttpConnection.lines`."""
        yield from self._loop.each(self._awaited.lines(path, query, seconds))

    def raising(self) -> AbstractContextManager[None]:
        """See `HttpConnection.raising`."""
        return self._awaited.raising()

    @property
    def _loop(self) -> Loop:
        if (loop := self._running) is None:
            raise Fallback("client_error:closed", "open it with  with Germane.connect(…) as germane:")
        return loop

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[None]:
        self._awaited.open()
        try:
            yield
        finally:
            await self._awaited.close()


async def _bounded(response: aiohttp.ClientResponse) -> bytes:
    """Returns the body. Raises `Fallback` for one of more than `_MAX_ANSWER` bytes."""
    found = bytearray()
    async for part in response.content.iter_any():
        found += part
        if len(found) > _MAX_ANSWER:
            raise Fallback("http_error:OVERSIZED")
    return bytes(found)


def _client_context(roots: Pem | None, certificate: Pem | None, certificate_key: Pem | None) -> ssl.SSLContext | None:
    """Returns what a client with certificates of its own speaks TLS with, None where none are given. Raises `InvalidInput`."""
    check_pair(certificate, certificate_key)
    known, own = read_pem("roots", roots), read_pem("certificate", certificate)
    key = read_pem("certificate_key", certificate_key)
    if known is None and own is None:
        return None
    try:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if known is not None else ssl.create_default_context()
        if known is not None:
            context.load_verify_locations(cadata=known.decode("ascii"))
    except (OSError, ValueError):
        raise InvalidInput("hold no certificate that can be read", path="roots") from None
    if own is not None and key is not None:
        with NamedTemporaryFile() as file:  # ssl reads files only; this one only its owner can read
            file.write(own.rstrip() + b"\n" + key)
            file.flush()
            try:
                context.load_cert_chain(file.name, password=lambda: b"")  # never ask at a terminal
            except (OSError, ValueError):
                raise InvalidInput("can't be used, or isn't the key of certificate", path="certificate_key") from None
    return context


def _checked_url(given: object) -> tuple[str, bool, bool]:
    """Returns the URL without a slash at its end, whether it has TLS, and whether it is of this machine. Raises
    `InvalidInput`."""
    wrong = InvalidInput("must be a web address such as 'https://memory.example.com'", path="url")
    if not isinstance(given, str):
        raise wrong
    try:
        parts = urlsplit(given.strip())
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise wrong from None
    plain = given.strip().isascii() and given.strip().isprintable() and " " not in given.strip()
    if parts.scheme not in ("http", "https") or not host or not plain or parts.query or parts.fragment:
        raise wrong
    if "@" in parts.netloc:
        raise InvalidInput("can't hold a name or a password", path="url", advice="give the API key as key=…")
    return given.strip().rstrip("/"), parts.scheme == "https", Address(host=host, port=port or 0).loopback


def _error(status: int, kind: str, told: Mapping[str, Any]) -> GermaneError:
    """Returns the error of a problem. `kind` is the last part of its type, empty for what is no problem."""
    said = {name: value for name, value in told.items() if isinstance(value, str)}
    detail = said.get("detail", "") or "no more is said"
    if kind == "consent-needed":
        return ConsentNeeded(detail, request=said.get("consent_request", ""), asked_of=said.get("asked_of", ""))
    if kind == "llm-error":
        return LLMError(detail)
    raised = _RAISED.get(kind)
    if raised is not None and issubclass(raised, InvalidInput):
        return _invalid(raised, detail, said.get("path", ""), said.get("advice", ""))
    if raised is not None:
        return raised(detail)
    if 300 <= status < 400:
        return StoreUnavailable(f"what answers there is elsewhere ({status}), and no redirect is followed: give its address")
    name = kind.upper().replace("-", "_") or str(status)
    if not kind:
        return StoreUnavailable(f"what answers there is no service of germane's, or a proxy before it: {name}")
    return (StoreUnavailable if status in _LATER else GermaneError)(f"{name}: {detail}")


def _invalid(raised: type[InvalidInput], detail: str, path: str, advice: str) -> InvalidInput:
    """Returns the error whose text is `detail`, which begins with the path and ends with the advice."""
    problem = detail.removesuffix(f": {advice}") if advice else detail
    if path and problem.startswith(f"{path}: "):
        return raised(problem.removeprefix(f"{path}: "), advice=advice).within(path)
    if path and problem.startswith(f"{path} "):
        return raised(problem.removeprefix(f"{path} "), path=path, advice=advice)
    return raised(problem, advice=advice)
