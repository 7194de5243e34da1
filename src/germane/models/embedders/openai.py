"""OpenAICompatible: an embedder for any endpoint with the OpenAI embeddings protocol (`POST {base}/embeddings`)."""

from __future__ import annotations

import asyncio
import base64
import json
import random
from collections.abc import Awaitable, Callable, Sequence
from itertools import accumulate, takewhile
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from germane.errors import EmbedderError, InvalidInput
from germane.models.json_endpoint import JsonEndpoint
from germane.types.checks import check_whole_number

_MAX_TEXTS, _MAX_CHARS, _MAX_TEXT_CHARS = 256, 200_000, 8_000
"""Texts in one request, characters in one request, and characters sent of one text."""
_MAX_LISTED, _LISTED_BYTES = 16_384, 8
"""Numbers in one response of an endpoint that writes vectors as lists, whatever it was asked for: reading them keeps other
threads from working for some 5 ms. And bytes for each number from which a response has lists; in base64 a number has 5.4."""
_MIN_THREADED = 65_536
"""Bytes from which a response is parsed in a thread."""
_HEADROOM, _PER_TEXT, _PER_NUMBER = 65_536, 1_024, 64
"""Bytes that a response may have: in all, for each text, and for each number of a vector (24 at most, and some indentation)."""
_ASSUMED_DIMENSION = 8_192
"""Dimension assumed for that limit before the first response: twice the largest in use."""


class OpenAICompatible:
    """Unit-length vectors of `model` at `base_url`, such as `https://api.openai.com/v1` or a local server's.

    A request holds at most 256 texts and 200,000 characters, and fewer texts where the endpoint answers in lists of numbers,
    which take long to read; of each text the first 8,000 characters are sent. Failures are retried as `JsonEndpoint` says. A
    caller with a deadline gives up long before; embedding in the background gets its vectors.
    A response that is longer than its vectors can be is refused.

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
        if dimension is not None:
            check_whole_number("dimension", dimension, 1)
        if shorten and dimension is None:
            raise InvalidInput("needs the dimension to shorten to", path="shorten")
        self._endpoint = JsonEndpoint(
            base_url,
            "/embeddings",
            role="embedder",
            extra="openai",
            headers={"Authorization": f"Bearer {api_key}"} if api_key else {},
            failed=lambda message, _: EmbedderError(message),
            timeout=timeout,
            retries=retries,
            sleep=sleep,
            jitter=jitter,
        )
        self._host = self._endpoint.host
        self._model, self._dimension = model, dimension
        self._lists = False
        self._fields = {"model": model, "encoding_format": encoding} | ({"dimensions": dimension} if shorten else {})

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
        answers, done = list[tuple[list[int], NDArray[np.float32]]](), 0
        while done < len(filled):
            batch = _batch(filled[done : done + self._most_texts], sent)
            answers.append((batch, await self._vectors([sent[row] for row in batch])))
            done += len(batch)
        vectors = np.zeros((len(texts), await self.probe() if texts else self._dimension or 0), dtype=np.float32)
        for batch, answer in answers:
            vectors[batch] = answer
        return vectors

    def embed_now(self, texts: Sequence[str]) -> NDArray[np.float32]:
        raise EmbedderError(f"the embedder at {self._host} is across a network and is never run in place: await embed()")

    async def close(self) -> None:
        """Ends the connections; later requests raise `EmbedderError`. Idempotent."""
        await self._endpoint.close()

    def __repr__(self) -> str:
        return f"<OpenAICompatible {self._model}/{self._dimension or '?'} at {self._host}>"

    @property
    def _most_texts(self) -> int:
        """Texts in the next request at most."""
        return max(1, _MAX_LISTED // self._dimension) if self._lists and self._dimension else _MAX_TEXTS

    async def _vectors(self, texts: list[str], *, retries: int | None = None) -> NDArray[np.float32]:
        max_bytes = _HEADROOM + len(texts) * (_PER_TEXT + _PER_NUMBER * (self._dimension or _ASSUMED_DIMENSION))
        body = await self._endpoint.post({**self._fields, "input": texts}, max_bytes, retries)
        try:
            if len(body) > _MIN_THREADED:
                vectors = await asyncio.to_thread(read_vectors, body, len(texts))
            else:
                vectors = read_vectors(body, len(texts))
        except ValueError as error:
            raise EmbedderError(f"the embedder at {self._host} answered something else than vectors: {error}") from None
        self._lists = len(body) > _LISTED_BYTES * vectors.size + _PER_TEXT * len(texts)
        if self._dimension is None:
            self._dimension = vectors.shape[1]
        if vectors.shape[1] != self._dimension:
            raise EmbedderError(
                f"the embedder at {self._host} answered vectors of {vectors.shape[1]} numbers, not {self._dimension}: "
                "is it still the same model?"
            )
        return vectors


def _sendable(text: str) -> str:
    return text.strip()[:_MAX_TEXT_CHARS].encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _batch(rows: Sequence[int], texts: Sequence[str]) -> list[int]:
    """The first of `rows`, which are indexes into `texts`, as far as one request may be long; at least one."""
    ends = takewhile(lambda chars: chars <= _MAX_CHARS, accumulate(len(texts[row]) for row in rows))
    return list(rows[: max(1, sum(1 for _ in ends))])


# Strict parsing of the response of an embeddings endpoint; error messages quote nothing of the response.


def read_vectors(body: bytes, count: int) -> NDArray[np.float32]:
    """Returns unit-length vectors in the order of the inputs, shape (count, dimension); a zero vector stays zero.

    Entries are ordered by their `index` where they have one. Each `embedding` is a list of numbers, or base64 of little-endian
    float32. Raises `ValueError` for any other shape, for another number of entries, and for numbers that aren't finite.
    """
    try:
        data = json.loads(body)["data"]
        found = len(data)
        entries = enumerate(data[:count])  # reads no more entries than were requested
        by_index = {int(entry.get("index", position)): _vector(entry["embedding"]) for position, entry in entries}
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError, RecursionError) as error:
        raise ValueError(f"not the shape of the protocol ({type(error).__name__})") from None
    if found != count or by_index.keys() != set(range(count)):
        raise ValueError(f"{found} entries for {count} texts")
    if len({vector.size for vector in by_index.values()}) != 1 or not by_index[0].size:
        raise ValueError("vectors of different or no length")
    vectors = np.stack([by_index[index] for index in range(count)])
    with np.errstate(all="ignore"):
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(lengths).all():
        raise ValueError("numbers that aren't finite")
    unit = np.zeros(vectors.shape, dtype=np.float32)
    np.divide(vectors, lengths, out=unit, where=lengths > 0, casting="same_kind")
    return unit


def _vector(embedding: object) -> NDArray[np.float64]:
    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4").astype(np.float64)
    vector = np.array(embedding, dtype=np.float64)
    if vector.ndim != 1:
        raise ValueError("not a flat list")
    return vector
