"""LLM endpoints: language models behind OpenAI's protocol for chats and Anthropic's for messages.

They post to `{base}/chat/completions` and to `{base}/v1/messages`.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from germane.errors import LLMError
from germane.models.json_endpoint import JsonEndpoint
from germane.ports.models import MAX_TOKENS, Completion

_NEWER = "api.openai.com"
"""The host that takes `max_completion_tokens`; the compatible ones take the older `max_tokens`."""
_UNKNOWN_FIELD = (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY)
"""Status codes of servers that don't know schemas."""


class ChatCompletions:
    """`model` at `base_url`. Where a server refuses a request with a schema, the request is repeated without it, and later ones
    are sent without: the caller's instructions say what shape the answer has, and the caller checks it. The other options are
    those of `JsonEndpoint`."""

    def __init__(
        self,
        base_url: str,
        model: str,
        api_key: str | None = None,
        timeout: float = 60.0,
        *,
        retries: int = 2,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.name = f"openai:{model}"
        self._model, self._schemas = model, True
        self._limit = "max_completion_tokens" if urlsplit(base_url).hostname == _NEWER else "max_tokens"
        self._endpoint = JsonEndpoint(
            base_url,
            "/chat/completions",
            role="LLM",
            extra="llm",
            headers={"Authorization": f"Bearer {api_key}"} if api_key else {},
            failed=failure,
            timeout=timeout,
            retries=retries,
            sleep=sleep,
            jitter=jitter,
        )

    async def complete(
        self, system: str, prompt: str, *, max_tokens: int, schema: Mapping[str, Any] | None = None
    ) -> Completion:
        payload: dict[str, object] = {
            "model": self._model,
            "messages": [{"role": "system", "content": system}, {"role": "user", "content": prompt}],
            self._limit: max_tokens,
        }
        size = max_bytes(max_tokens)
        if schema is None or not self._schemas:
            return self._read(await self._endpoint.post(payload, size))
        shape = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": schema}}
        try:
            return self._read(await self._endpoint.post({**payload, "response_format": shape}, size))
        except LLMError as error:
            if error.status not in _UNKNOWN_FIELD:
                raise
        answer = self._read(await self._endpoint.post(payload, size))
        self._schemas = False
        return answer

    async def close(self) -> None:
        await self._endpoint.close()

    def __repr__(self) -> str:
        return f"<ChatCompletions {self._model} at {self._endpoint.host}>"

    def _read(self, body: bytes) -> Completion:
        answer = read_answer(body, self._endpoint.host)
        usage = answer.get("usage")
        spent = tokens(usage, "prompt_tokens"), tokens(usage, "completion_tokens")
        choices = answer.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        message = choice.get("message") if isinstance(choice, Mapping) else None
        if not isinstance(choice, Mapping) or not isinstance(message, Mapping):
            raise LLMError(f"the LLM at {self._endpoint.host} answered something else than a completion", spent=spent)
        if message.get("refusal") or choice.get("finish_reason") == "content_filter":
            raise LLMError(f"the LLM at {self._endpoint.host} refused the request", spent=spent)
        if choice.get("finish_reason") == "length":
            raise LLMError(f"the LLM at {self._endpoint.host} answered more than was asked for: it was cut off", spent=spent)
        text, model = message.get("content"), answer.get("model")
        if not isinstance(text, str):
            raise LLMError(f"the LLM at {self._endpoint.host} returned an answer without text", spent=spent)
        said = model if isinstance(model, str) and model else self._model
        return Completion(text=text, input_tokens=spent[0], output_tokens=spent[1], model=said)


_VERSION = "2023-06-01"
"""Of the protocol."""
_INPUTS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_TOOL = "answer"
"""The tool that the model must call where a schema is asked for: its input is the answer."""


class AnthropicMessages:
    """`model` at `base_url`, such as `https://api.anthropic.com`. The other options are those of `JsonEndpoint`."""

    def __init__(
        self,
        base_url: str,
        model: str,
        api_key: str | None = None,
        timeout: float = 60.0,
        *,
        retries: int = 2,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.name = f"anthropic:{model}"
        self._model = model
        self._endpoint = JsonEndpoint(
            base_url,
            "/v1/messages",
            role="LLM",
            extra="llm",
            headers={"anthropic-version": _VERSION} | ({"x-api-key": api_key} if api_key else {}),
            failed=failure,
            timeout=timeout,
            retries=retries,
            sleep=sleep,
            jitter=jitter,
        )

    async def complete(
        self, system: str, prompt: str, *, max_tokens: int, schema: Mapping[str, Any] | None = None
    ) -> Completion:
        payload: dict[str, object] = {
            "model": self._model,
            "max_tokens": max_tokens,
            "system": system,
            "messages": [{"role": "user", "content": prompt}],
        }
        if schema is not None:
            payload["tools"] = [{"name": _TOOL, "description": "Gives the answer.", "input_schema": schema}]
            payload["tool_choice"] = {"type": "tool", "name": _TOOL}
        return self._read(await self._endpoint.post(payload, max_bytes(max_tokens)), structured=schema is not None)

    async def close(self) -> None:
        await self._endpoint.close()

    def __repr__(self) -> str:
        return f"<AnthropicMessages {self._model} at {self._endpoint.host}>"

    def _read(self, body: bytes, *, structured: bool) -> Completion:
        host = self._endpoint.host
        answer = read_answer(body, host)
        usage = answer.get("usage")
        spent = sum(tokens(usage, name) for name in _INPUTS), tokens(usage, "output_tokens")
        blocks = answer.get("content")
        if not isinstance(blocks, list) or not all(isinstance(block, Mapping) for block in blocks):
            raise LLMError(f"the LLM at {host} answered something else than a message", spent=spent)
        if answer.get("stop_reason") == "refusal":
            raise LLMError(f"the LLM at {host} refused the request", spent=spent)
        if answer.get("stop_reason") == "max_tokens":
            raise LLMError(f"the LLM at {host} answered more than was asked for: it was cut off", spent=spent)
        if structured:
            inputs = [block.get("input") for block in blocks if block.get("type") == "tool_use"]
            text = json.dumps(inputs[0], ensure_ascii=False) if len(inputs) == 1 else None
        else:
            text = "".join(str(block.get("text", "")) for block in blocks if block.get("type") == "text") or None
        if text is None:
            raise LLMError(f"the LLM at {host} answered nothing that was asked for", spent=spent)
        model = answer.get("model")
        said = model if isinstance(model, str) and model else self._model
        return Completion(text=text, input_tokens=spent[0], output_tokens=spent[1], model=said)


# What the answers of both have in common: JSON of bounded length, counts of tokens, and the error for a status.


_HEADROOM, _PER_TOKEN = 65_536, 64
"""Bytes that an answer may have: in all, and for each token."""
_OF_ENDPOINT = frozenset({401, 402, 403, 404, 429})
"""Status codes that any request would get: a wrong key, no credit, an unknown model, a rate limit."""


def failure(message: str, status: int | None) -> LLMError:
    """Returns the error for an answer with this status (None: no answer)."""
    return LLMError(message, status=status, of_endpoint=status is None or status in _OF_ENDPOINT)


def max_bytes(max_tokens: int) -> int:
    """Returns how long an answer of that many tokens may be."""
    return _HEADROOM + _PER_TOKEN * max_tokens


def read_answer(body: bytes, host: str) -> Mapping[str, Any]:
    """Returns the JSON object of an answer. Raises `LLMError`."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        raise LLMError(f"the LLM at {host} answered something else than a JSON object")
    return answer


def tokens(usage: object, name: str) -> int:
    """Returns the count called `name` of an answer's `usage`; 0 where it is missing or no count."""
    count = usage.get(name) if isinstance(usage, Mapping) else None
    return count if isinstance(count, int) and not isinstance(count, bool) and 0 <= count < MAX_TOKENS else 0
