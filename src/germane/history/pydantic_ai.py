"""Pydantic AI: compaction in front of each request to the model, as a capability or as a history processor.

    agent = Agent("openai:gpt-5.4", capabilities=[HistoryCompaction()])
    agent = Agent("openai:gpt-5.4", capabilities=[ProcessHistory(history_processor())])

The capability changes what is sent and leaves the run's history as it is. A history processor's result becomes the history:
`all_messages()` then has the summary in it, which germane builds on when it comes back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from typing import Any

from germane.compaction.archive import Archive
from germane.compaction.strategy import CompactionStrategy
from germane.errors import MissingExtra
from germane.history.adapter import FrameworkCompaction, earlier_tool
from germane.history.pydantic_messages import compacted_messages

try:
    from pydantic_ai import RunContext, Tool
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.messages import InstructionDeltaPart, ModelMessage, ModelRequest
    from pydantic_ai.models import ModelRequestContext
    from pydantic_ai.tools import ToolDefinition
    from pydantic_ai.toolsets import FunctionToolset
except ImportError as error:
    raise MissingExtra("pydantic-ai", "pydantic-ai-slim") from error

__all__ = ["HistoryCompaction", "history_processor", "show_earlier_tool"]


class HistoryCompaction(AbstractCapability[Any]):
    """A capability for `Agent(capabilities=[…])`. The model's name, the instructions and the tools are those of each request.
    With an `archive`, the agent gets the tool `show_earlier`, which brings back what was taken out."""

    def __init__(
        self,
        *,
        model: str | None = None,
        max_tokens: int | None = None,
        strategy: CompactionStrategy | None = None,
        archive: Archive | None = None,
    ) -> None:
        self._archive = archive
        self._compaction = FrameworkCompaction(model=model, max_tokens=max_tokens, strategy=strategy, archive=archive)

    def get_toolset(self) -> FunctionToolset[Any] | None:
        return None if self._archive is None else FunctionToolset([show_earlier_tool(self._archive)])

    async def before_model_request(self, ctx: RunContext[Any], request_context: ModelRequestContext) -> ModelRequestContext:
        parameters = request_context.model_request_parameters
        compact = partial(
            self._compaction.compact,
            model=request_context.model.model_name,
            system=_instructions(request_context.messages, parameters.instruction_parts),
            tools=[_schema(tool) for tool in (*parameters.function_tools, *parameters.output_tools)],
        )
        given = list(request_context.messages)
        request_context.messages = await asyncio.to_thread(
            self._compaction.safely, lambda: compacted_messages(given, compact), given
        )
        return request_context

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """None: an archive is an object, which a specification can't hold."""
        return None


def history_processor(
    *,
    model: str | None = None,
    max_tokens: int | None = None,
    strategy: CompactionStrategy | None = None,
    archive: Archive | None = None,
) -> Callable[[RunContext[Any], list[ModelMessage]], Awaitable[list[ModelMessage]]]:
    """Returns a processor for `ProcessHistory`. The model's name and the instructions are the run's. A processor isn't told the
    tools, so that `max_tokens` should leave them room."""
    compaction = FrameworkCompaction(model=model, max_tokens=max_tokens, strategy=strategy, archive=archive)

    async def compact_history(ctx: RunContext[Any], messages: list[ModelMessage]) -> list[ModelMessage]:
        compact = partial(compaction.compact, model=ctx.model.model_name, system=_instructions(messages, None))
        return await asyncio.to_thread(compaction.safely, lambda: compacted_messages(messages, compact), messages)

    return compact_history


def show_earlier_tool(archive: Archive) -> Tool[Any]:
    """Returns the tool that brings back what was taken out, for agents with a history processor."""
    tool = earlier_tool(archive)

    def show(handle: str, start: int = 0) -> str:
        return tool.show(handle, start=start)

    return Tool.from_schema(show, tool.name, tool.description, tool.parameters)


def _instructions(messages: Sequence[ModelMessage], parts: Sequence[Any] | None) -> str:
    """What is sent apart from the messages' parts that have a stand-in: the instructions, and their later changes."""
    requests = [message for message in messages if isinstance(message, ModelRequest)]
    changes = [part.render() for request in requests for part in request.parts if isinstance(part, InstructionDeltaPart)]
    own = [part.content for part in parts] if parts is not None else _newest(requests)
    return "\n\n".join([*own, *changes])


def _newest(requests: Sequence[ModelRequest]) -> Iterator[str]:
    yield next((request.instructions for request in reversed(requests) if request.instructions), "")


def _schema(tool: ToolDefinition) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "parameters": tool.parameters_json_schema}
