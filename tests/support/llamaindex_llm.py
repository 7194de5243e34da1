"""LlamaIndex LLM: a language model for LlamaIndex's agents that speaks to a local provider by OpenAI's SDK.

LlamaIndex's own package for OpenAI needs an older SDK than germane's adapter for it, so both can't be installed together.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import openai
from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    ChatResponseAsyncGen,
    ChatResponseGen,
    CompletionResponse,
    LLMMetadata,
    ToolCallBlock,
)
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import ToolSelection

__all__ = ["OpenAI"]


class OpenAI(FunctionCallingLLM):
    """`llama_index.llms.openai.OpenAI`, as far as agents and chat engines use it."""

    model: str = "gpt-5.4"

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name=self.model, is_chat_model=True, is_function_calling_model=True)

    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        with openai.OpenAI() as client:
            made = client.chat.completions.create(model=self.model, messages=_sent(messages), **kwargs)
        return _answer(made.choices[0].message)

    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        async with openai.AsyncOpenAI() as client:
            made = await client.chat.completions.create(model=self.model, messages=_sent(messages), **kwargs)
        return _answer(made.choices[0].message)

    def stream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponseGen:
        def stream() -> ChatResponseGen:
            yield self.chat(messages, **kwargs)

        return stream()

    async def astream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponseAsyncGen:
        async def stream() -> ChatResponseAsyncGen:
            yield await self.achat(messages, **kwargs)

        return stream()

    def get_tool_calls_from_response(self, response: ChatResponse, *_: Any, **__: Any) -> list[ToolSelection]:
        calls = [block for block in response.message.blocks if isinstance(block, ToolCallBlock)]
        return [
            ToolSelection(
                tool_id=str(call.tool_call_id), tool_name=call.tool_name, tool_kwargs=json.loads(str(call.tool_kwargs))
            )
            for call in calls
        ]

    def _prepare_chat_with_tools(
        self, tools: Sequence[Any], user_msg: Any = None, chat_history: Any = None, *_: Any, **__: Any
    ) -> dict[str, Any]:
        messages = [*(chat_history or ()), *([user_msg] if user_msg else ())]
        written = [tool.metadata.to_openai_tool() for tool in tools]
        return {"messages": messages} | ({"tools": written} if written else {})

    def complete(self, *_: Any, **__: Any) -> CompletionResponse:
        raise NotImplementedError

    acomplete = stream_complete = astream_complete = complete  # type: ignore[assignment]


def _sent(messages: Sequence[ChatMessage]) -> Any:
    return [_message(message) for message in messages]


def _message(message: ChatMessage) -> dict[str, Any]:
    written: dict[str, Any] = {"role": message.role.value, "content": message.content or ""}
    if message.role.value == "tool":
        written["tool_call_id"] = message.additional_kwargs["tool_call_id"]
    if calls := [block for block in message.blocks if isinstance(block, ToolCallBlock)]:
        functions = [{"name": call.tool_name, "arguments": str(call.tool_kwargs)} for call in calls]
        written["tool_calls"] = [
            {"id": call.tool_call_id, "type": "function", "function": function}
            for call, function in zip(calls, functions, strict=True)
        ]
    return written


def _answer(message: Any) -> ChatResponse:
    blocks: list[Any] = [
        ToolCallBlock(tool_call_id=call.id, tool_name=call.function.name, tool_kwargs=call.function.arguments)
        for call in message.tool_calls or ()
    ]
    said = ChatMessage(role="assistant", content=message.content or "")
    said.blocks += blocks
    return ChatResponse(message=said)
