"""ChatCompletions: a language model at any endpoint with the OpenAI protocol for chats (`POST {base}/chat/completions`)."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from germane.errors import LLMError
from germane.llms.answer import failure, max_bytes, read_answer, tokens
from germane.ports.json_endpoint import JsonEndpoint
from germane.ports.llm import Completion

__all__ = ["ChatCompletions"]

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
            raise LLMError(f"the LLM at {self._endpoint.host} answered no text", spent=spent)
        said = model if isinstance(model, str) and model else self._model
        return Completion(text=text, input_tokens=spent[0], output_tokens=spent[1], model=said)
