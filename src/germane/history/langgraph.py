"""LangGraph: compaction in front of each call of the model, for agents of LangChain and graphs of LangGraph.

    agent = create_agent(model, tools, middleware=[CompactionMiddleware()])
    agent = create_react_agent(model, tools, pre_model_hook=pre_model_hook("gpt-5.4"))

The messages in the checkpoint stay as they are: what is compacted is what the model is sent, each time anew from the whole
history, with the same beginning until the boundaries move.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Protocol

from germane.compaction.archive import Archive
from germane.compaction.strategy import CompactionStrategy
from germane.errors import MissingExtra
from germane.history.adapter import FrameworkCompaction, earlier_tool
from germane.history.langchain_messages import compacted_messages, model_name, tool_schemas

try:
    from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
    from langchain_core.messages import BaseMessage, RemoveMessage
    from langchain_core.tools import BaseTool, StructuredTool
    from langgraph.graph.message import REMOVE_ALL_MESSAGES
except ImportError as error:
    raise MissingExtra("langgraph", "langchain") from error

__all__ = ["CompactionMiddleware", "CompactionNode", "pre_model_hook", "show_earlier_tool"]


class CompactionNode(Protocol):
    """A node of a graph whose state has `messages`."""

    def __call__(self, state: Any) -> dict[str, Any]:
        """Returns what the node changes of the state."""


class CompactionMiddleware(AgentMiddleware[Any, Any, Any]):
    """Middleware for `langchain.agents.create_agent`. The model's name, the system prompt and the tools are those of each
    request. With an `archive`, the agent gets the tool `show_earlier`, which brings back what was taken out."""

    def __init__(
        self,
        *,
        model: str | None = None,
        max_tokens: int | None = None,
        strategy: CompactionStrategy | None = None,
        archive: Archive | None = None,
    ) -> None:
        super().__init__()
        self.tools = [] if archive is None else [show_earlier_tool(archive)]
        self._compaction = FrameworkCompaction(model=model, max_tokens=max_tokens, strategy=strategy, archive=archive)

    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]) -> Any:
        return handler(self._compacted(request))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> Any:
        return await handler(await asyncio.to_thread(self._compacted, request))

    def _compacted(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        def compacted() -> ModelRequest[Any]:
            system = request.system_message.text if request.system_message else None
            compact = partial(
                self._compaction.compact, model=model_name(request.model), system=system, tools=tool_schemas(request.tools)
            )
            messages: list[Any] = compacted_messages(request.messages, compact)
            return request.override(messages=messages)

        return self._compaction.safely(compacted, request)


def pre_model_hook(
    model: object,
    *,
    max_tokens: int | None = None,
    strategy: CompactionStrategy | None = None,
    archive: Archive | None = None,
    system: str | None = None,
    tools: Sequence[object] = (),
    replace_history: bool = False,
) -> CompactionNode:
    """Returns a node for a graph whose state has `messages`, such as `create_react_agent(pre_model_hook=…)`. `model` is a chat
    model or its name; `system` and `tools` are what the graph adds to each request, and only counted here.

    The node puts what the model shall be sent into `llm_input_messages`, and the history stays as it is. With `replace_history`
    it replaces the history itself in `messages`, for good: give an `archive` then, so that nothing is lost."""
    compaction = FrameworkCompaction(model=model_name(model), max_tokens=max_tokens, strategy=strategy, archive=archive)
    compact = partial(compaction.compact, model="", system=system, tools=tool_schemas(tools))

    def compact_history(state: Any) -> dict[str, Any]:
        messages: list[BaseMessage] = list(state["messages"] if isinstance(state, dict) else state.messages)
        kept = compaction.safely(lambda: compacted_messages(messages, compact), messages)
        if not replace_history:
            return {"llm_input_messages": kept}
        if len(kept) == len(messages) and all(new is old for new, old in zip(kept, messages, strict=True)):
            return {"messages": []}
        return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *kept]}

    return compact_history


def show_earlier_tool(archive: Archive) -> BaseTool:
    """Returns the tool that brings back what was taken out, for the tools of a graph of one's own."""
    tool = earlier_tool(archive)

    def show(handle: str, start: int = 0) -> str:
        return tool.show(handle, start=start)

    return StructuredTool.from_function(show, name=tool.name, description=tool.description, args_schema=tool.parameters)
