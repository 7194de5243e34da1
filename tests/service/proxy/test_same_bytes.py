"""Generated requests and answers are the same through the proxy as in a direct call, but for what belongs to one connection."""

from __future__ import annotations

import asyncio
import gzip
import random
from dataclasses import dataclass

import pytest

from support.examples import whole
from support.proxying import Headers, Message, bare_upstream, exchanged, proxying, upstreams_of

pytestmark = [pytest.mark.requirement("PROXY-1", "PROXY-3"), pytest.mark.soak]

OF_CONNECTION = {b"connection", b"keep-alive", b"proxy-connection", b"te", b"trailer", b"transfer-encoding", b"upgrade"}
NAMES = b"""Accept accept-encoding User-Agent anthropic-beta Anthropic-Version OpenAI-Organization Cookie Content-Type Range Via
X-Stainless-Retry-Count Idempotency-Key If-None-Match X-Forwarded-For""".split()
TOLD = b"""Date Server Set-Cookie Retry-After retry-after-ms X-Should-Retry request-id Location Content-Type Cache-Control ETag
Alt-Svc Vary x-ratelimit-remaining-tokens Content-Range""".split()
STATUSES = [200, 200, 200, 201, 202, 204, 206, 301, 302, 304, 307, 400, 401, 404, 408, 409, 429, 451, 500, 502, 503, 529, 599]
REASONS = [b"OK", b"", b"Not Modified", b"Fine, thank you", b"\xc3\xa9trange", b"two  spaces"]
PATHS = b"v1 chat completions messages files a%20b %2F %C3%A9 %ff %25 x:y ~ a;b=c ... ..a %E2%80%AE m(1) ' @ $&+ * %2ea".split()
PATHS.append(b"")
VALUES = [b"", b"1", b"a, b;q=0.5", b'"x"', b"caf\xe9", "é…🙂".encode(), b"a  b\tc", b"\x01\x7f", b"x" * 3000]
QUERIES = [b"", b"?", b"?a=b", b"?a=b&a=c", b"?limit=10&after=%2F..%2F", b"??", b"?q=a%20b+c", b"?x=//evil/", b'?"<>^`{|}']


@dataclass
class Case:
    """One exchange: the request behind its target, and what the upstream answers to it."""

    method: bytes
    target: bytes
    head: bytes
    body: bytes
    answers: list[bytes]
    bodiless: bool
    closes: bool

    def request(self, before: bytes, port: int) -> bytes:
        return b"%b %b%b HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n%b\r\n%b" % (
            self.method,
            before,
            self.target,
            port,
            self.head,
            self.body,
        )


def made(number: int) -> Case:
    """The case of this number, always the same."""
    chance = random.Random(number)
    method = chance.choice([b"GET", b"POST", b"POST", b"PUT", b"PATCH", b"DELETE", b"HEAD", b"OPTIONS", b"post", b"M-SEARCH"])
    first = [chance.choice(PATHS[:5])]
    target = b"/" + b"/".join(first + chance.choices(PATHS, k=chance.randrange(5))) + chance.choice(QUERIES)
    headers = [(b"X-Case", b"%d" % number), *some_headers(chance, NAMES)]
    if chance.random() < 0.3:
        headers += [(b"Connection", b"X-Hop, keep-alive"), (b"x-hop", b"1"), (b"TE", b"trailers")]
    content = some_bytes(chance)
    framing = chance.choice(["none", "length", "length", "chunks"])
    if framing == "none":
        body = b""
    elif framing == "length":
        headers.insert(
            chance.randrange(len(headers) + 1), (chance.choice([b"Content-Length", b"content-length"]), b"%d" % len(content))
        )
        body = content
    else:
        headers.insert(chance.randrange(len(headers) + 1), (b"Transfer-Encoding", b"chunked"))
        body = in_chunks(chance, content)
    return Case(method, target, lines(headers), body, *answered(chance, method))


def answered(chance: random.Random, method: bytes) -> tuple[list[bytes], bool, bool]:
    """The pieces in which an answer is written, whether it has no body, and whether the connection ends behind it."""
    status, reason = chance.choice(STATUSES), chance.choice(REASONS)
    headers, content = some_headers(chance, TOLD), some_bytes(chance)
    if chance.random() < 0.2:
        content = gzip.compress(content)
        headers.append((b"Content-Encoding", b"gzip"))
    if chance.random() < 0.2:
        headers += [(b"Connection", b"x-hop"), (b"X-Hop", b"1"), (b"Keep-Alive", b"timeout=5")]
    bodiless, closes = method.upper() == b"HEAD" or status in (204, 304), False
    match chance.choice(["length", "chunks", "end"]):
        case "length":
            headers.append((chance.choice([b"Content-Length", b"CONTENT-LENGTH"]), b"%d" % len(content)))
            written = b"" if bodiless else content
            if status == 204:
                headers.pop()
        case "chunks" if not bodiless:
            headers.append((b"Transfer-Encoding", b"chunked"))
            written = in_chunks(chance, content)
        case _:
            closes, written = not bodiless, b"" if bodiless else content
            headers += [(b"Connection", b"close")] * closes
    early = chance.choice([b"", b"", b"", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", b"HTTP/1.1 100 Continue\r\n\r\n"])
    whole = early + b"HTTP/1.1 %d %b\r\n%b\r\n%b" % (status, reason, lines(headers), written)
    cuts = sorted(chance.sample(range(len(whole)), min(len(whole), chance.randrange(4))))
    return [whole[start:end] for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True)], bodiless, closes


def some_headers(chance: random.Random, names: list[bytes]) -> Headers:
    """Headers in any case, some of them repeated, with values of any bytes."""
    found = []
    for name in chance.choices(names, k=chance.randrange(8)):
        written = chance.choice([name, name.lower(), name.upper(), name.swapcase()])
        value = chance.choice(
            [b"", b"1", b"a, b;q=0.5", b'"x"', b"caf\xe9", "é…🙂".encode(), b"a  b\tc", b"\x01\x7f", b"x" * 3000]
        )
        found += [(written, value)] * chance.choice([1, 1, 1, 2])
    chance.shuffle(found)
    return found


def some_bytes(chance: random.Random) -> bytes:
    size = chance.choice([0, 1, 17, 300, 300, 5000, 200_000 if chance.random() < 0.1 else 40])
    return chance.choice(
        [chance.randbytes(size), b'{"model":"m","messages":[]}', b"data: {}\n\n" * (size // 10), b"\xff" * size]
    )


def in_chunks(chance: random.Random, content: bytes) -> bytes:
    found, start = b"", 0
    while start < len(content):
        size = chance.choice([1, 2, 100, 70_000]) if len(content) < 1000 else chance.choice([5000, 70_000])
        piece = content[start : start + size]
        extension = chance.choice([b"", b";a=b", b";x"])
        found += b"%x%b\r\n%b\r\n" % (len(piece), extension, piece)
        start += size
    return found + b"0\r\n" + chance.choice([b"", b"", b"X-Trailer: 1\r\n"]) + b"\r\n"


def lines(headers: Headers) -> bytes:
    return b"".join(b"%b: %b\r\n" % header for header in headers)


def comparable(message: Message) -> tuple[bytes, Headers, bytes, bool]:
    """Everything in a message that belongs to its two ends."""
    hops = {one.strip().lower() for value in message.header(b"connection") for one in value.split(b",")} | OF_CONNECTION
    return message.first, [one for one in message.headers if one[0].lower() not in hops], message.body, message.whole


async def test_generated_exchanges_are_the_same_as_direct_ones() -> None:
    """20,000 of them in the soak. Also in chunks where they came in chunks, and without where without."""
    cases = [made(number) for number in range(20_000 if whole() else 600)]

    async def answer(message: Message, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        case = cases[int(message.header(b"x-case")[0])]
        for piece in case.answers:
            writer.write(piece)
            await writer.drain()
        return not case.closes

    async with bare_upstream(answer) as upstream, proxying(upstreams_of(local=upstream.url), limit=100_000) as proxy:
        for number, case in enumerate(cases):
            direct = await exchanged(upstream.port, case.request(b"", upstream.port), bodiless=case.bodiless)
            relayed = await exchanged(proxy.port, case.request(b"/proxy/local", proxy.port), bodiless=case.bodiless)
            assert comparable(relayed) == comparable(direct), number
            came, sent = upstream.received[-2:]
            assert comparable(sent) == comparable(came), number
            assert sent.header(b"transfer-encoding") == came.header(b"transfer-encoding"), number
        assert [one.ended for one in proxy.relayed] == ["whole"] * len(cases)
