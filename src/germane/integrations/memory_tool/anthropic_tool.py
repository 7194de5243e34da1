"""Anthropic tool: the memory tool as subclasses of the Anthropic SDK's abstract memory tools, for its tool runner."""

from __future__ import annotations

from typing import Any

from germane import sync
from germane.api.agent import Agent
from germane.errors import MissingExtra
from germane.integrations.memory_tool.commands import ToolAnswer
from germane.integrations.memory_tool.tool import memory_tool

try:
    from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
except ImportError as error:
    raise MissingExtra("anthropic", "anthropic") from error


class AnthropicMemoryTool(BetaAsyncAbstractMemoryTool):
    """The memory tool of an agent for `AsyncAnthropic().beta.messages.tool_runner`. `options` are those of `memory_tool`, and
    `cache_control` is the SDK's."""

    def __init__(self, agent: Agent, *, cache_control: Any = None, **options: Any) -> None:
        super().__init__(cache_control=cache_control)
        self._tool = memory_tool(agent, **options)

    async def call(self, input: object) -> str:
        """Carries out the input of a tool call. Raises the SDK's `ToolError` for a mistake, which the runner tells the
        model."""
        return _told(await self._tool.answer(_plain(input)))

    async def execute(self, command: Any) -> str:
        return await self.call(command)

    view = create = str_replace = insert = delete = rename = execute


class BlockingAnthropicMemoryTool(BetaAbstractMemoryTool):
    """As `AnthropicMemoryTool`, for `Anthropic()` and an agent of `germane.sync`."""

    def __init__(self, agent: sync.Agent, *, cache_control: Any = None, **options: Any) -> None:
        super().__init__(cache_control=cache_control)
        self._tool = memory_tool(agent, **options)

    def call(self, input: object) -> str:
        """As that of `AnthropicMemoryTool`."""
        return _told(self._tool.answer(_plain(input)))

    def execute(self, command: Any) -> str:
        return self.call(command)

    view = create = str_replace = insert = delete = rename = execute


def _told(answer: ToolAnswer) -> str:
    if answer.is_error:
        raise ToolError(answer.text)
    return answer.text


def _plain(input: object) -> Any:
    """The SDK's command objects as a dict, with the fields that they don't know."""
    return input.model_dump() if hasattr(input, "model_dump") else input
