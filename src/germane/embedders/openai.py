"""OpenAICompatible: an embedder for any endpoint with the OpenAI embeddings protocol (`POST {base}/embeddings`)."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from germane.embedders.reply import read_vectors, wait_asked_for
from germane.errors import EmbedderError, InvalidInput, MissingExtra

if TYPE_CHECKING:
    import aiohttp

__all__ = ["OpenAICompatible"]

_MAX_TEXTS, _MAX_CHARS, _MAX_TEXT_CHARS = 256, 200_000, 8_000
"""Texts in one request, characters in one request, and characters sent of one text."""
_LARGE = 65_536
"""Bytes from which a response is parsed in a thread."""
_HEADROOM, _PER_TEXT, _PER_NUMBER = 65_536, 1_024, 64
"""Bytes that a response may have: in all, for each text, and for each number of a vector (24 at most, and some indentation)."""
_ASSUMED_DIMENSION = 8_192
"""Dimension assumed for that limit before the first response: twice the largest in use."""
_RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""Status codes after which a request is retried."""


class OpenAICompatible:
    """Unit-length vectors of `model` at `base_url`, such as `https://api.openai.com/v1` or a local server's.

    A request holds at most 256 texts and 200,000 characters; of each text the first 8,000 characters are sent. Connection
    errors and the status codes 408, 409, 425, 429, 500, 502, 503, 504 and 529 are retried `retries` times, after the time that
    the endpoint asks for or an exponentially growing one, at most 30 s. A caller with a deadline gives up long before;
    embedding in the background gets its vectors. Redirects aren't followed. A response that is compressed, or longer than its
    vectors can be, is refused. Errors name the host and the status, never the key, the request or the response.

    `dimension` is checked against the responses. Left out, it is known after the first response; until then `identity` and
    `dimension` raise `EmbedderError` (`await probe()` asks for it). `shorten` asks the endpoint for vectors of `dimension`
    numbers. `encoding` is the encoding asked for; both are understood. `timeout` is in seconds and applies to each attempt.
    `sleep` and `jitter` (0 to 1) can be replaced in tests. Raises `InvalidInput` for an option that can't be used, and
    `MissingExtra` without aiohttp.
    """

    quick = False
    contextual = True

    def __init__(
        self,
        base_url: str,
        model: str,
        api_key: str | None = None,
        dimension: int | None = None,
        timeout: float = 30.0,
        *,
        shorten: bool = False,
        encoding: Literal["base64", "float"] = "base64",
        retries: int = 4,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        parts = urlsplit(base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidInput("base_url of the embedder must be an http or https address, such as 'https://api.openai.com/v1'")
        if dimension is not None and dimension < 1:
            raise InvalidInput(f"dimension of the embedder must be 1 or more, not {dimension}")
        if shorten and dimension is None:
            raise InvalidInput("shorten needs the dimension to shorten to")
        if api_key is not None and not (api_key.isascii() and api_key.isprintable()):
            raise InvalidInput("api_key of the embedder must be printable ASCII")
        try:
            import aiohttp
        except ImportError as error:
            raise MissingExtra("openai", "aiohttp") from error
        self._url = base_url.rstrip("/") + "/embeddings"
        self._host = parts.hostname
        self._headers = {"Accept-Encoding": "identity"} | ({"Authorization": f"Bearer {api_key}"} if api_key else {})
        self._model, self._dimension = model, dimension
        self._fields = {"model": model, "encoding_format": encoding} | ({"dimensions": dimension} if shorten else {})
        self._timeout = aiohttp.ClientTimeout(total=timeout)
        self._faults = (aiohttp.ClientError, TimeoutError, OSError)
        self._retries, self._sleep, self._jitter = retries, sleep, jitter
        self._session: aiohttp.ClientSession | None = None
        self._closed = False

    @property
    def family(self) -> str:
        return f"openai/{self._model}"

    @property
    def identity(self) -> str:
        return f"{self.family}/{self.dimension}"

    @property
    def dimension(self) -> int:
        if self._dimension is None:
            raise EmbedderError(
                f"the dimension of {self._model} isn't known before its first answer: give dimension=, or await probe()"
            )
        return self._dimension

    async def probe(self) -> int:
        """Returns the dimension; embeds one word to learn it, if it isn't known yet. Raises `EmbedderError`."""
        if self._dimension is None:
            await self._vectors(["dimension"])
        return self.dimension

    async def prepare(self) -> None:
        """Asks for one word, without retries: whether the endpoint answers, and with which dimension. Raises
        `EmbedderError`."""
        await self._vectors(["dimension"], retries=0)

    def assume(self, dimension: int) -> None:
        self._dimension = self._dimension or dimension

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Raises `EmbedderError` when the endpoint refuses, doesn't answer, or answers with anything but vectors."""
        sent = [_sendable(text) for text in texts]
        filled = [row for row, text in enumerate(sent) if text]
        answers = [(batch, await self._vectors([sent[row] for row in batch])) for batch in _batches(filled, sent)]
        vectors = np.zeros((len(texts), await self.probe() if texts else self._dimension or 0), dtype=np.float32)
        for batch, answer in answers:
            vectors[batch] = answer
        return vectors

    def embed_now(self, texts: Sequence[str]) -> NDArray[np.float32]:
        raise EmbedderError(f"the embedder at {self._host} is across a network and is never run in place: await embed()")

    async def close(self) -> None:
        """Ends the connections; later requests raise `EmbedderError`. Idempotent."""
        session, self._session, self._closed = self._session, None, True
        if session is not None:
            await session.close()

    def __repr__(self) -> str:
        return f"<OpenAICompatible {self._model}/{self._dimension or '?'} at {self._host}>"

    async def _vectors(self, texts: list[str], *, retries: int | None = None) -> NDArray[np.float32]:
        max_bytes = _HEADROOM + len(texts) * (_PER_TEXT + _PER_NUMBER * (self._dimension or _ASSUMED_DIMENSION))
        body = await self._post(self._fields | {"input": texts}, max_bytes, self._retries if retries is None else retries)
        try:
            if len(body) > _LARGE:
                vectors = await asyncio.to_thread(read_vectors, body, len(texts))
            else:
                vectors = read_vectors(body, len(texts))
        except ValueError as error:
            raise EmbedderError(f"the embedder at {self._host} answered something else than vectors: {error}") from None
        if self._dimension is None:
            self._dimension = vectors.shape[1]
        if vectors.shape[1] != self._dimension:
            raise EmbedderError(
                f"the embedder at {self._host} answered vectors of {vectors.shape[1]} numbers, not {self._dimension}: "
                "is it still the same model?"
            )
        return vectors

    async def _post(self, payload: dict[str, object], max_bytes: int, retries: int) -> bytes:
        """Returns the body of a successful response, retrying as the class says."""
        attempt = 0
        while True:
            asked_for: float | None = None
            try:
                async with self._open().post(
                    self._url, json=payload, headers=self._headers, timeout=self._timeout, allow_redirects=False
                ) as response:
                    if response.status == HTTPStatus.OK:
                        return await self._body(response, max_bytes)
                    failure, retried = f"answered {response.status}", response.status in _RETRIED
                    asked_for = wait_asked_for(response.headers.get("Retry-After"), response.headers.get("Date"))
            except self._faults as error:
                failure, retried = f"didn't answer: {type(error).__name__}", True
            if not retried or attempt >= retries:
                tries = f" {attempt + 1} times" if attempt else ""
                raise EmbedderError(f"the embedder at {self._host} {failure}{tries}{_advice(failure)}")
            growing = 0.5 * 2**attempt * (0.5 + self._jitter())
            await self._sleep(min(30.0, growing if asked_for is None else asked_for))
            attempt += 1

    async def _body(self, response: aiohttp.ClientResponse, max_bytes: int) -> bytes:
        """Reads at most `max_bytes`. Nothing is decompressed, so that a few bytes can't become many."""
        if response.headers.get("Content-Encoding", "identity").lower() != "identity":
            raise EmbedderError(f"the embedder at {self._host} answered compressed, which it wasn't asked for")
        body = bytearray()
        async for piece in response.content.iter_any():
            body += piece
            if len(body) > max_bytes:
                response.close()
                raise EmbedderError(
                    f"the embedder at {self._host} answered more than {max_bytes:,} bytes: no vectors are that long"
                )
        return bytes(body)

    def _open(self) -> aiohttp.ClientSession:
        if self._closed:
            raise EmbedderError(f"the embedder at {self._host} is closed: open another")
        if self._session is None or self._session.closed:
            import aiohttp

            self._session = aiohttp.ClientSession(auto_decompress=False)
        return self._session


def _advice(failure: str) -> str:
    if failure.endswith((" 401", " 403")):
        return ": check the API key"
    if failure.endswith(" 404"):
        return ": check the base URL and the model's name"
    return ""


def _sendable(text: str) -> str:
    return text.strip()[:_MAX_TEXT_CHARS].encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _batches(rows: Sequence[int], texts: Sequence[str]) -> Iterator[list[int]]:
    """Splits `rows`, which are indexes into `texts`, into one list for each request."""
    batch: list[int] = []
    chars = 0
    for row in rows:
        if batch and (len(batch) == _MAX_TEXTS or chars + len(texts[row]) > _MAX_CHARS):
            yield batch
            batch, chars = [], 0
        batch.append(row)
        chars += len(texts[row])
    if batch:
        yield batch
