"""LLM server: a local server that speaks both protocols of language models, and misbehaves as a test says."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

__all__ = ["LLMServer", "Reply", "cut", "dropped", "garbage", "hangs", "says", "serving_llm", "status", "too_long"]

Reply = Callable[[dict[str, Any]], web.StreamResponse | Awaitable[web.StreamResponse]]


class LLMServer:
    """Answers with `text`, in the protocol that it is asked in; `script` holds replies to give first. `asked` are the payloads,
    `headers` what they came with."""

    def __init__(self) -> None:
        self.text = '{"memories": []}'
        self.script: list[Reply] = []
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.slept: list[float] = []
        self.url = ""

    async def sleep(self, seconds: float) -> None:
        """In place of `asyncio.sleep`."""
        self.slept.append(seconds)

    async def chat(self, request: web.Request) -> web.StreamResponse:
        return await self._reply(request, openai)

    async def messages(self, request: web.Request) -> web.StreamResponse:
        return await self._reply(request, anthropic)

    async def _reply(self, request: web.Request, good: Callable[[dict[str, Any], str], dict[str, Any]]) -> web.StreamResponse:
        payload = await request.json()
        self.asked.append(payload)
        self.headers.append(dict(request.headers))
        if self.script:
            try:
                reply = self.script.pop(0)(payload)
                return await reply if inspect.isawaitable(reply) else reply
            except ConnectionResetError:
                assert request.transport is not None
                request.transport.close()
                return web.Response()
        return web.json_response(good(payload, self.text))


def openai(payload: dict[str, Any], text: str, **changes: Any) -> dict[str, Any]:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}} | changes
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    return {"object": "chat.completion", "model": payload["model"] + "-2024", "choices": [choice], "usage": usage}


def anthropic(payload: dict[str, Any], text: str, **changes: Any) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "text", "text": text}
    if "tools" in payload:
        block = {"type": "tool_use", "id": "t", "name": payload["tools"][0]["name"], "input": json.loads(text)}
    stop = "tool_use" if "tools" in payload else "end_turn"
    usage = {"input_tokens": 90, "cache_read_input_tokens": 10, "output_tokens": 20}
    answer = {"type": "message", "role": "assistant", "content": [block], "stop_reason": stop, "usage": usage}
    return answer | {"model": payload["model"] + "-2024"} | changes


def status(code: int, **headers: str) -> Reply:
    """An error that quotes what it was sent, as some do."""
    return lambda payload: web.json_response({"error": payload}, status=code, headers=headers)


def says(body: object) -> Reply:
    return lambda _: web.Response(text=body if isinstance(body, str) else json.dumps(body))


def dropped(_: dict[str, Any]) -> web.StreamResponse:
    """Closes the connection without an answer."""
    raise ConnectionResetError


def cut(_: dict[str, Any]) -> web.StreamResponse:
    """Half of an answer: fewer bytes than the header says."""
    return web.Response(body=b'{"choices": [{"mess', headers={"Content-Length": "19"})


def garbage(_: dict[str, Any]) -> web.StreamResponse:
    """Bytes that are no text."""
    return web.Response(body=bytes(range(128, 256)) * 4, content_type="application/json")


def too_long(payload: dict[str, Any]) -> web.StreamResponse:
    """What both providers answer to a prompt that the model's window doesn't take, each in its own words."""
    message = "This model's maximum context length is 4096 tokens." if "system" not in payload else "prompt is too long"
    kind = {"type": "invalid_request_error", "code": "context_length_exceeded", "message": message}
    return web.json_response({"type": "error", "error": kind}, status=400)


async def hangs(_: dict[str, Any]) -> web.StreamResponse:
    """Takes the request and never answers."""
    await asyncio.Event().wait()
    return web.Response()


@asynccontextmanager
async def serving_llm() -> AsyncIterator[LLMServer]:
    """Yields a running server. Its `url` is the base for the OpenAI protocol, without `/v1` for Anthropic's."""
    server = LLMServer()
    application = web.Application()
    application.router.add_post("/v1/chat/completions", server.chat)
    application.router.add_post("/v1/messages", server.messages)
    async with TestServer(application) as running:
        server.url = str(running.make_url("")).rstrip("/")
        yield server
