"""OpenAI Agents: compaction in front of each call of the model, for the OpenAI Agents SDK.

    config = RunConfig(call_model_input_filter=call_model_input_filter())
    result = await Runner.run(agent, "…", session=session, run_config=config)

A filter sees the input of every call, within a run too, where a session sees only what stands between two runs. The session
keeps the whole history; the filter sends what fits, each time with the same beginning until the boundaries move.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from operator import is_
from typing import Any

from germane.compaction.plan import Compaction
from germane.compaction.strategy import CompactionStrategy
from germane.dialects.fields import json_object, result_as_text
from germane.dialects.openai_content import OUTPUTS, call_id, read_item
from germane.errors import MissingExtra
from germane.integrations.frameworks import FrameworkCompaction, earlier_tool, is_unchanged
from germane.kinds.conversations.value import Archive
from germane.types.message import ToolResult

try:
    from agents import Agent, FunctionTool, Model, OpenAIResponsesModel
    from agents.models import get_default_model
    from agents.run_config import CallModelData, ModelInputData
except ImportError as error:
    raise MissingExtra("openai-agents", "openai-agents") from error


_CALLS = {output: call for call, output in OUTPUTS.items()}
_PAIRED = {*OUTPUTS, *_CALLS}


def call_model_input_filter(
    *,
    model: str | None = None,
    max_tokens: int | None = None,
    strategy: CompactionStrategy | None = None,
    archive: Archive | None = None,
) -> Callable[[CallModelData[Any]], Awaitable[ModelInputData]]:
    """Returns a filter for `RunConfig(call_model_input_filter=…)`. The model's name and the tools are the agent's; give `model`
    where the run's configuration has another. Where OpenAI keeps the conversation (`conversation_id`, `previous_response_id`),
    the input holds only what is new, and the filter leaves it alone."""
    compaction = FrameworkCompaction(model=model, max_tokens=max_tokens, strategy=strategy, archive=archive)

    async def compact_input(data: CallModelData[Any]) -> ModelInputData:
        return await asyncio.to_thread(compaction.safely, lambda: _compacted(compaction, data), data.model_data)

    return compact_input


def show_earlier_tool(archive: Archive) -> FunctionTool:
    """Returns the tool that brings back what was taken out, for `Agent(tools=[…])`."""
    tool = earlier_tool(archive)

    async def show(context: Any, arguments: str) -> str:
        given = json_object(arguments)
        return await asyncio.to_thread(tool.show, given.get("handle"), start=given.get("start", 0))

    return FunctionTool(tool.name, tool.description, tool.parameters, show, strict_json_schema=False)


def _compacted(compaction: FrameworkCompaction, data: CallModelData[Any]) -> ModelInputData:
    given: list[Any] = data.model_data.input
    elsewhere = _is_elsewhere(data.agent)
    if not elsewhere and is_continued(given):
        return data.model_data
    if elsewhere and (lost := _without_calls(given)):
        given = [_closed(item) if index in lost else item for index, item in enumerate(given)]
    found = compaction.compact(
        given,
        model=model_name_of(data.agent),
        provider="openai-responses",
        system=data.model_data.instructions,
        tools=list(agent_schemas(data.agent)),
    )
    kept = list(given) if is_unchanged(found, given) else list(_items(found, given))
    kept = list(_together(kept)) if elsewhere else kept
    if len(kept) == len(data.model_data.input) and all(map(is_, kept, data.model_data.input)):
        return data.model_data
    return ModelInputData(input=kept, instructions=found.system)


def _is_elsewhere(agent: Agent[Any]) -> bool:
    """Whether the agent's model is surely not one of the Responses API, so that no server holds a part of the conversation."""
    return isinstance(agent.model, Model) and not isinstance(agent.model, OpenAIResponsesModel)


def _without_calls(items: Sequence[Mapping[str, Any]]) -> set[int]:
    """The indexes of the outputs whose call isn't before them."""
    called: set[str] = set()
    lost: set[int] = set()
    for index, item in enumerate(items):
        if item.get("type") in OUTPUTS:
            called.add(call_id(item))
        elif item.get("type") in _CALLS and call_id(item) not in called:
            lost.add(index)
    return lost


def _closed(item: Mapping[str, Any]) -> dict[str, Any]:
    """An output without its call, as text."""
    _, parts = read_item(item)
    results = (part for part in parts if isinstance(part, ToolResult))
    return {"role": "user", "content": "\n".join(map(result_as_text, results))}


def is_continued(items: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the newest items answer a call that isn't among the items: then the server holds the conversation before them."""
    called = {call_id(item) for item in items if item.get("type") in OUTPUTS}
    for item in reversed(items):
        if item.get("type") not in _CALLS:
            return False
        if call_id(item) not in called:
            return True
    return False


def _items(found: Compaction, given: Sequence[Mapping[str, Any]]) -> Iterator[Any]:
    """The items to send; those that lost nothing but a key that the SDK removes itself are the very objects given.

    A call or output that was closed as text (it has no origin where several became one) waits until the calls before it have
    their outputs, and reasoning right before it with it: so that no group of calls is split."""
    waiting: list[Any] = []
    thought: list[Any] = []
    open: Counter[str] = Counter()
    for item, origin in zip(found.messages, found.origins, strict=True):
        own = None if origin is None else given[origin]
        kind = item.get("type")
        if kind == "reasoning" and open.total():
            thought.append(item)
            continue
        if open.total() and kind in (None, "message") and (own is None or own.get("type") in _PAIRED):
            waiting += [*thought, item]
            thought.clear()
            continue
        yield from thought
        thought.clear()
        if kind in OUTPUTS:
            open[call_id(item)] += 1
        elif kind in _CALLS:
            open[call_id(item)] -= 1
        yield own if own is not None and item.items() <= own.items() and kind == own.get("type") else item
        if not open.total():
            yield from waiting
            waiting.clear()
    yield from (*thought, *waiting)


def _together(items: Sequence[Any]) -> Iterator[Any]:
    """Yields the items with calls that are open at once in a row, their outputs behind them, and then what stood in between.
    The Responses API takes them interleaved, but other APIs don't, and the SDK writes them as they stand."""
    window: list[Any] = []
    open: Counter[str] = Counter()
    for item in items:
        if item.get("type") in OUTPUTS:
            open[call_id(item)] += 1
        elif item.get("type") in _CALLS:
            open[call_id(item)] -= 1
        window.append(item)
        if not open.total():
            yield from sorted(window, key=_rank)
            window.clear()
    yield from sorted(window, key=_rank)


def _rank(item: Mapping[str, Any]) -> int:
    kind = item.get("type")
    return 0 if kind in OUTPUTS or kind == "reasoning" else 1 if kind in _CALLS else 2


def model_name_of(agent: Agent[Any]) -> str:
    if isinstance(agent.model, str):
        return agent.model
    found = get_default_model() if agent.model is None else getattr(agent.model, "model", "")
    return found if isinstance(found, str) else ""


def agent_schemas(agent: Agent[Any]) -> Iterator[dict[str, Any]]:
    """The agent's own functions as they are sent, for counting."""
    for tool in agent.tools:
        if isinstance(tool, FunctionTool):
            parameters = tool.params_json_schema
            yield {"type": "function", "name": tool.name, "description": tool.description, "parameters": parameters}
