"""The OpenAI-compatible embedder against a server that speaks the protocol, and misbehaves."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from germane.errors import EmbedderError, InvalidInput
from germane.models.embedders.openai import OpenAICompatible

KEY = "sk-very-secret"
Answer = Callable[[dict[str, Any]], web.StreamResponse]


class Endpoint:
    """Answers embeddings of two numbers: the text's length and 1. `script` holds answers to give first, instead."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.encodings: list[str | None] = []
        self.script: list[Answer] = []
        self.slept: list[float] = []
        self.url = ""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        payload = await request.json()
        self.asked.append(payload)
        self.keys.append(request.headers.get("Authorization"))
        self.encodings.append(request.headers.get("Accept-Encoding"))
        return (self.script.pop(0) if self.script else embeddings)(payload)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    def embedder(self, **options: Any) -> OpenAICompatible:
        return OpenAICompatible(self.url, "m", KEY, sleep=self.sleep, jitter=lambda: 0.5, **options)


def embeddings(payload: dict[str, Any]) -> web.Response:
    """A good answer, out of order, encoded as asked."""
    data = []
    for index, text in reversed(list(enumerate(payload["input"]))):
        vector: Any = [float(len(text)), 1.0]
        if payload["encoding_format"] == "base64":
            vector = base64.b64encode(np.array(vector, "<f4").tobytes()).decode()
        data.append({"object": "embedding", "index": index, "embedding": vector})
    return web.json_response({"object": "list", "data": data, "model": payload["model"]})


def status(code: int, **headers: str) -> Answer:
    """An error answer that quotes what it was sent, as some do."""
    return lambda payload: web.json_response({"error": payload["input"]}, status=code, headers=headers)


def says(body: object) -> Answer:
    return lambda _: web.Response(text=body if isinstance(body, str) else json.dumps(body))


def reset(_: dict[str, Any]) -> web.StreamResponse:
    """Closes the connection without an answer."""
    raise ConnectionResetError


@pytest.fixture
async def endpoint() -> AsyncIterator[Endpoint]:
    endpoint = Endpoint()

    async def drop(request: web.Request) -> web.StreamResponse:
        try:
            return await endpoint.handle(request)
        except ConnectionResetError:
            assert request.transport is not None
            request.transport.close()
            return web.Response()

    application = web.Application()
    application.router.add_post("/v1/embeddings", drop)
    async with TestServer(application) as server:
        endpoint.url = str(server.make_url("/v1/"))
        yield endpoint


@pytest.fixture
async def opened(endpoint: Endpoint) -> AsyncIterator[Callable[..., OpenAICompatible]]:
    embedders: list[OpenAICompatible] = []

    def make(**options: Any) -> OpenAICompatible:
        embedders.append(endpoint.embedder(**options))
        return embedders[-1]

    yield make
    for embedder in embedders:
        await embedder.close()


Opened = Callable[..., OpenAICompatible]


@pytest.mark.parametrize("encoding", ["base64", "float"])
async def test_rows_come_in_the_order_of_the_texts_at_unit_length(endpoint: Endpoint, opened: Opened, encoding: str) -> None:
    """By index, whatever the order of the answer; blank texts are zero rows and aren't sent."""
    vectors = await opened(encoding=encoding).embed(["abc", " ", "a"])
    assert vectors.dtype == np.float32
    assert vectors == pytest.approx(np.array([[3, 1], [0, 0], [1, 1]]) / [[10**0.5], [1], [2**0.5]])
    assert endpoint.asked[0] == {"model": "m", "encoding_format": encoding, "input": ["abc", "a"]}
    assert endpoint.keys == [f"Bearer {KEY}"]


async def test_requests_are_bounded_by_number_and_characters(endpoint: Endpoint, opened: Opened) -> None:
    """At most 256 texts, 200,000 characters, 8,000 of each text."""
    texts = [str(n) for n in range(300)] + ["x" * 9_000] * 30
    vectors = await opened().embed(texts)
    assert vectors.shape == (330, 2)
    assert [len(asked["input"]) for asked in endpoint.asked] == [256, 68, 6]
    assert max(len(text) for asked in endpoint.asked for text in asked["input"]) == 8_000


async def test_an_endpoint_that_answers_in_lists_is_asked_for_less_at_a_time(endpoint: Endpoint, opened: Opened) -> None:
    """A long list of numbers keeps the interpreter from answering anybody while it is read; base64 doesn't."""

    def answers(lists: bool) -> Answer:
        vector: Any = [0.12345678] * 1_024 if lists else base64.b64encode(bytes(4_096)).decode()
        return lambda payload: web.json_response({"data": [{"embedding": vector} for _ in payload["input"]]})

    embedder = opened()
    endpoint.script = [answers(lists=True)] * 6 + [answers(lists=False)] * 2
    await embedder.probe()
    for _ in range(2):
        assert (await embedder.embed(["x"] * 40)).shape == (40, 1_024)
    assert [len(asked["input"]) for asked in endpoint.asked] == [1, 16, 16, 8, 16, 16, 8]
    await embedder.embed(["x"] * 40)
    assert len(endpoint.asked[-1]["input"]) == 40


@pytest.mark.requirement("SEARCH-3")
async def test_the_dimension_is_known_from_the_first_answer(opened: Opened) -> None:
    """Until then there is no identity, rather than a wrong one."""
    embedder = opened()
    with pytest.raises(EmbedderError, match="probe"):
        _ = embedder.identity
    assert await embedder.probe() == 2
    assert (embedder.identity, embedder.dimension, embedder.quick) == ("openai/m/2", 2, False)


@pytest.mark.requirement("SEARCH-3")
async def test_vectors_of_another_dimension_are_refused(opened: Opened) -> None:
    """Vectors of different spaces are never compared."""
    with pytest.raises(EmbedderError, match="2 numbers, not 3"):
        await opened(dimension=3).embed(["a"])


async def test_a_shorter_dimension_is_asked_for_only_when_wanted(endpoint: Endpoint, opened: Opened) -> None:
    """Many endpoints refuse unknown fields."""
    await opened(dimension=2).embed(["a"])
    await opened(dimension=2, shorten=True).embed(["a"])
    assert [asked.get("dimensions") for asked in endpoint.asked] == [None, 2]


@pytest.mark.parametrize("passing", [status(429), status(500), status(503), status(529), reset])
async def test_what_may_pass_is_asked_again(endpoint: Endpoint, opened: Opened, passing: Answer) -> None:
    """The wait grows with each retry."""
    endpoint.script = [passing, passing]
    assert (await opened().embed(["a"])).shape == (1, 2)
    assert endpoint.slept == [0.5, 1.0]


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After": "86400"}, 30.0),
        ({"Retry-After": "Tue, 10 Mar 2026 12:00:05 GMT", "Date": "Tue, 10 Mar 2026 12:00:00 GMT"}, 5.0),
        ({"Retry-After": "soon"}, 0.5),
    ],
)
async def test_the_endpoint_says_how_long_to_wait(
    endpoint: Endpoint, opened: Opened, headers: dict[str, str], seconds: float
) -> None:
    """In seconds or as a moment, at most 30 s; nonsense is ignored."""
    endpoint.script = [status(429, **headers)]
    await opened().embed(["a"])
    assert endpoint.slept == [seconds]


@pytest.mark.parametrize("code", [400, 401, 403, 404, 302])
async def test_what_will_not_pass_is_asked_once(endpoint: Endpoint, opened: Opened, code: int) -> None:
    """And the error names the status, never the text or the key."""
    endpoint.script = [status(code, Location="http://localhost:1/")]
    with pytest.raises(EmbedderError, match=str(code)) as raised:
        await opened().embed(["my private thought"])
    assert "private" not in str(raised.value)
    assert KEY not in str(raised.value)
    assert (len(endpoint.asked), endpoint.slept) == (1, [])


async def test_it_gives_up_after_so_many_tries(endpoint: Endpoint, opened: Opened) -> None:
    """The error says how many."""
    endpoint.script = [status(503)] * 9
    with pytest.raises(EmbedderError, match="503 3 times"):
        await opened(retries=2).embed(["a"])
    assert len(endpoint.asked) == 3


@pytest.mark.parametrize(
    "body",
    [
        "<html>private</html>",
        [],
        {"data": []},
        {"data": "private"},
        {"data": [{"index": 0}]},
        {"data": [{"index": 1, "embedding": [1, 2]}]},
        {"data": [{"index": 0, "embedding": []}]},
        {"data": [{"index": 0, "embedding": [[1, 2]]}]},
        {"data": [{"index": 0, "embedding": ["private", 2]}]},
        {"data": [{"index": 0, "embedding": [1e999, 2]}]},
        {"data": [{"index": 0, "embedding": "priv%te"}]},
        {"data": [{"index": 0, "embedding": "AAAA"}]},
        {"data": [{"index": 0, "embedding": [1]}, {"index": 1, "embedding": [1]}]},
        {"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [1]}]},
    ],
)
async def test_an_answer_that_is_not_vectors_is_an_error(endpoint: Endpoint, opened: Opened, body: object) -> None:
    """Typed, and quoting nothing of it."""
    endpoint.script = [says(body)]
    with pytest.raises(EmbedderError, match="something else than vectors") as raised:
        await opened().embed(["a"])
    assert "priv" not in str(raised.value)


@pytest.mark.parametrize(
    "body",
    [
        {"data": [{"index": 1e999, "embedding": [1, 2]}]},
        {"data": [{"index": 0, "embedding": [10**400, 2]}]},
        '{"data": ' + "[" * 60_000,
        '{"data": [{"embedding": ' + "[" * 900 + "1" + "]" * 900 + "}]}",
        {"data": [{"embedding": [1, 2]}] * 5_000},
    ],
    ids=["infinite index", "huge number", "never closed", "deep", "too many"],
)
async def test_garbage_that_breaks_arithmetic_or_nesting_is_an_error_too(endpoint: Endpoint, opened: Opened, body: Any) -> None:
    """No exception but its own, whatever is in the numbers."""
    endpoint.script = [says(body)]
    with pytest.raises(EmbedderError, match=r"something else than vectors|more than"):
        await opened(dimension=2).embed(["a"])


@pytest.mark.parametrize("told", [True, False], ids=["of a length that is told", "in pieces"])
async def test_an_answer_is_read_no_further_than_vectors_can_be_long(endpoint: Endpoint, opened: Opened, told: bool) -> None:
    """An endpoint that never ends is left at that point, once."""
    sent = 0

    async def endless(request: web.Request) -> web.StreamResponse:
        nonlocal sent
        response = web.StreamResponse(headers={"Content-Length": str(2**40)} if told else {})
        await response.prepare(request)
        with suppress(ConnectionError):
            for _ in range(2_000):
                await response.write(b" " * 65_536)
                sent += 65_536
        return response

    application = web.Application()
    application.router.add_post("/v1/embeddings", endless)
    async with TestServer(application) as server:
        endpoint.url = str(server.make_url("/v1/"))
        with pytest.raises(EmbedderError, match=r"answered more than 66,688 bytes"):
            await opened(dimension=2).embed(["a"])
    assert sent < 32 * 2**20  # what sockets hold, of 128 MB


async def test_a_large_answer_that_was_asked_for_is_read_whole(endpoint: Endpoint, opened: Opened) -> None:
    """Vectors of any dimension, as many texts as go into a request, written with room between."""

    def generous(payload: dict[str, Any]) -> web.Response:
        data = [{"index": at, "embedding": [0.12345678901234567] * 4_096} for at in range(len(payload["input"]))]
        return web.Response(text=json.dumps({"data": data}, indent=6))

    for dimension in (4_096, None):
        endpoint.script = [generous]
        assert (await opened(dimension=dimension).embed(["x"] * 50)).shape == (50, 4_096)


async def test_nothing_is_unpacked(endpoint: Endpoint, opened: Opened) -> None:
    """A few bytes could become a thousand times as many; it asks for none, and takes none."""
    packed = gzip.compress(b" " * 10_000_000)
    endpoint.script = [lambda _: web.Response(body=packed, headers={"Content-Encoding": "gzip"})]
    with pytest.raises(EmbedderError, match="compressed"):
        await opened(dimension=2).embed(["a"])
    assert endpoint.encodings == ["identity"]


async def test_nobody_there_is_an_error_that_names_the_host() -> None:
    """A refused connection, after all retries."""

    async def sleep(_: float) -> None: ...

    embedder = OpenAICompatible("http://127.0.0.1:9/v1", "m", retries=1, sleep=sleep)
    with pytest.raises(EmbedderError, match=r"127\.0\.0\.1 didn't answer: .* 2 times"):
        await embedder.embed(["a"])
    await embedder.close()


@pytest.mark.parametrize(
    "options",
    [
        {"base_url": "localhost:1234"},
        {"base_url": "file:///etc/passwd"},
        {"dimension": 0},
        {"shorten": True},
        {"api_key": "key\r\nX-Evil: 1"},
    ],
)
def test_options_that_can_not_work_are_refused_at_once(options: dict[str, Any]) -> None:
    """Before anything is sent."""
    with pytest.raises(InvalidInput):
        OpenAICompatible(**({"base_url": "https://localhost/v1", "model": "m"} | options))


async def test_it_is_never_run_in_place(opened: Opened) -> None:
    """A network has no place inside a transaction."""
    with pytest.raises(EmbedderError, match="await"):
        opened().embed_now(["a"])
