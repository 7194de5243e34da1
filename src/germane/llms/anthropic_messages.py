"""AnthropicMessages: a language model at an endpoint with Anthropic's protocol (`POST {base}/v1/messages`)."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from germane.errors import LLMError
from germane.llms.answer import failure, max_bytes, read_answer, tokens
from germane.ports.json_endpoint import JsonEndpoint
from germane.ports.llm import Completion

__all__ = ["AnthropicMessages"]

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
