"""Model server: answers calls of a model in as little time as possible, and tells when they came. A process of its own.

    python -m bench.model_server

It prints its port. A body with `"stream":true` gets as many events as the header `x-events` says, one each `x-pause` seconds,
each with the time at which it was written; any other gets the text in the header `x-reply`. All times are those of the
machine's monotonic clock, in nanoseconds, so that a client on it can compare them. Headers of each answer: `x-came`, when the
request's head had come; `x-kept`, bytes of the messages of the last request on this connection and session that stand at the
start of this one; `x-before`, bytes of all of them.
"""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

__all__ = ["main"]

_SSE = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n{told}\r\n"
_JSON = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {size}\r\n{told}\r\n"


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def _kept(before: list[Any], messages: list[Any]) -> tuple[int, int]:
    """Bytes of the messages before that are the beginning of these, and of all of them."""
    written = [len(json.dumps(one)) for one in before]
    same = next((number for number, (one, other) in enumerate(zip(before, messages, strict=False)) if one != other), None)
    count = min(len(before), len(messages)) if same is None else same
    return sum(written[:count]), sum(written)


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
            came = time.monotonic_ns()
            headers = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            told = f"x-came: {came}\r\nx-asked: {int(headers.get('x-mark', '') in body.decode())}\r\n"
            if b'"stream":true' in body:
                writer.write(_SSE.format(told=told).encode())
                for _ in range(int(headers.get("x-events", "1"))):
                    event = {"choices": [{"index": 0, "delta": {"content": f"{time.monotonic_ns()} "}}]}
                    writer.write(_chunk(f"data: {json.dumps(event)}\n\n".encode()))
                    await writer.drain()
                    await asyncio.sleep(float(headers.get("x-pause", "0")))
                writer.write(_chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n")
            else:
                if (session := headers.get("x-of")) is not None:
                    messages = json.loads(body)["messages"]
                    kept, before = _kept(_LAST.get(session, []), messages)
                    _LAST[session] = messages
                    told += f"x-kept: {kept}\r\nx-before: {before}\r\n"
                reply = bytes.fromhex(headers.get("x-reply", "")).decode() or "Yes."
                message = {"role": "assistant", "content": reply}
                answer = json.dumps(
                    {"id": "chatcmpl-1", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
                )
                writer.write((_JSON.format(size=len(answer.encode()), told=told) + answer).encode())
            await writer.drain()
    except (EOFError, ConnectionError):
        writer.close()


_LAST: dict[str, list[Any]] = {}


async def _run() -> None:
    server = await asyncio.start_server(_serve, "127.0.0.1", 0, limit=1 << 24)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def main() -> None:
    asyncio.run(_run())


if __name__ == "__main__":
    main()
