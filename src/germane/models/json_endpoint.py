"""JSON endpoint: posts JSON to an HTTP address, with retries, and reads answers of bounded length."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from germane.errors import GermaneError, InvalidInput, MissingExtra

if TYPE_CHECKING:
    import aiohttp


_RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""Status codes after which a request is retried."""
_MAX_WAIT = 30.0
"""Seconds between two attempts at most."""


class JsonEndpoint:
    """`address` of the `role`, such as "embedder", which errors name together with the host; they hold neither the key nor the
    request nor the response. `failed(message, status)` makes the error that is raised; `status` is None where no answer came.

    Connection errors and the status codes 408, 409, 425, 429, 500, 502, 503, 504 and 529 are retried `retries` times, after the
    time that the endpoint asks for or an exponentially growing one, at most 30 s. Redirects aren't followed. A response that is
    compressed or too long is refused. `timeout` is in seconds and applies to each attempt. `sleep` and `jitter` (0 to 1) can be
    replaced in tests. Raises `InvalidInput` for an address or a key that can't be used, and `MissingExtra` without aiohttp.
    """

    def __init__(
        self,
        base_url: str,
        path: str,
        *,
        role: str,
        extra: str,
        headers: Mapping[str, str],
        failed: Callable[[str, int | None], GermaneError],
        timeout: float = 30.0,
        retries: int = 4,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        parts = urlsplit(base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidInput(f"base_url of the {role} must be an http or https address, such as 'https://api.openai.com/v1'")
        if not all(value.isascii() and value.isprintable() for value in headers.values()):
            raise InvalidInput(f"api_key of the {role} must be printable ASCII")
        try:
            import aiohttp
        except ImportError as error:
            raise MissingExtra(extra, "aiohttp") from error
        self.host: str = parts.hostname
        self._url = base_url.rstrip("/") + path
        self._role, self._failed = f"the {role} at {parts.hostname}", failed
        self._headers = {"Accept-Encoding": "identity", **headers}
        self._timeout = aiohttp.ClientTimeout(total=timeout)
        self._faults = (aiohttp.ClientError, TimeoutError, OSError)
        self._retries, self._sleep, self._jitter = retries, sleep, jitter
        self._session: aiohttp.ClientSession | None = None
        self._closed = False

    async def post(self, payload: Mapping[str, object], max_bytes: int, retries: int | None = None) -> bytes:
        """Returns the body of a successful response, of at most `max_bytes`. `retries` overrides the endpoint's own."""
        attempt, retries = 0, self._retries if retries is None else retries
        while True:
            asked_for: float | None = None
            status: int | None = None
            try:
                async with self._open().post(
                    self._url, json=payload, headers=self._headers, timeout=self._timeout, allow_redirects=False
                ) as response:
                    status = response.status
                    if status == HTTPStatus.OK:
                        return await self._body(response, max_bytes)
                    failure, retried = f"answered {status}", status in _RETRIED
                    asked_for = wait_asked_for(response.headers.get("Retry-After"), response.headers.get("Date"))
            except self._faults as error:
                failure, retried, status = f"didn't answer: {type(error).__name__}", True, None
            if not retried or attempt >= retries:
                tries = f" {attempt + 1} times" if attempt else ""
                raise self._failed(f"{self._role} {failure}{tries}{_advice(failure)}", status)
            growing = 0.5 * 2**attempt * (0.5 + self._jitter())
            await self._sleep(min(_MAX_WAIT, growing if asked_for is None else asked_for))
            attempt += 1

    async def close(self) -> None:
        """Ends the connections; later requests raise. Idempotent."""
        session, self._session, self._closed = self._session, None, True
        if session is not None:
            await session.close()

    async def _body(self, response: aiohttp.ClientResponse, max_bytes: int) -> bytes:
        """Nothing is decompressed, so that a few bytes can't become many."""
        if response.headers.get("Content-Encoding", "identity").lower() != "identity":
            raise self._failed(f"{self._role} answered compressed, which it wasn't asked for", response.status)
        body = bytearray()
        async for piece in response.content.iter_any():
            body += piece
            if len(body) > max_bytes:
                response.close()
                raise self._failed(f"{self._role} answered more than {max_bytes:,} bytes: no answer is that long", 200)
        return bytes(body)

    def _open(self) -> aiohttp.ClientSession:
        if self._closed:
            raise self._failed(f"{self._role} is closed: open another", None)
        if self._session is None or self._session.closed:
            import aiohttp

            self._session = aiohttp.ClientSession(auto_decompress=False)
        return self._session


def wait_asked_for(retry_after: str | None, date: str | None) -> float | None:
    """Returns the seconds that a `Retry-After` header asks for (RFC 9110, 10.2.3); None without a readable one. A date is
    compared with the response's own `Date` header, so the local clock doesn't matter."""
    if not retry_after:
        return None
    try:
        if retry_after.strip().isdecimal():
            return float(retry_after)
        later, sent = parsedate_to_datetime(retry_after), parsedate_to_datetime(date or "")
        return max(0.0, (later - sent).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return None


def _advice(failure: str) -> str:
    if failure.endswith((" 401", " 403")):
        return ": check the API key"
    if failure.endswith(" 404"):
        return ": check the base URL and the model's name"
    return ""
