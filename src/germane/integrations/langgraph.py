"""LangGraph: compaction in front of each call of the model, for agents of LangChain and graphs of LangGraph.

    agent = create_agent(model, tools, middleware=[CompactionMiddleware()])
    agent = create_react_agent(model, tools, pre_model_hook=pre_model_hook("gpt-5.4"))

The messages in the checkpoint stay as they are: what is compacted is what the model is sent, each time anew from the whole
history, with the same beginning until the boundaries move.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from germane.compaction.plan import Compaction
from germane.compaction.strategy import CompactionStrategy
from germane.dialects.fields import call_as_text
from germane.dialects.framework_messages import REPEATED, calls_in, role_in, texts_in
from germane.errors import MissingExtra
from germane.integrations.frameworks import (
    CallIds,
    FrameworkCompaction,
    assistant,
    earlier_tool,
    held,
    is_unchanged,
    kept_calls,
    picture,
    plain_text,
    result,
    runs_of_calls,
    said,
    tool_call,
)
from germane.kinds.conversations.value import Archive

try:
    from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
    from langchain_core.messages import BaseMessage, RemoveMessage
    from langchain_core.tools import BaseTool, StructuredTool
    from langgraph.graph.message import REMOVE_ALL_MESSAGES
except ImportError as error:
    raise MissingExtra("langgraph", "langchain") from error


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


# LangChain's messages as stand-ins, and back: unchanged ones are the same objects.


try:
    from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
    from langchain_core.tools import BaseTool
    from langchain_core.utils.function_calling import convert_to_openai_tool
except ImportError as error:
    raise MissingExtra("langgraph", "langchain-core") from error


def stand_ins(messages: Sequence[BaseMessage]) -> list[dict[str, Any]]:
    """Returns a stand-in for each message."""
    ids = CallIds()
    return [_stand_in(message, ids) for message in messages]


def _stand_in(message: BaseMessage, ids: CallIds) -> dict[str, Any]:
    role = role_in(message)
    text, unread = texts_in(message)
    if isinstance(message, AIMessage):
        calls = [tool_call(ids.fit(call.id), call.name, call.arguments) for call in calls_in(message)]
        return assistant(text, calls, unread)
    if role == "tool":
        return result(ids.fit(getattr(message, "tool_call_id", "")), text, [_part(block) for block in unread])
    if role == "assistant":
        return assistant(text, (), unread)
    if role == "system" or not unread:
        return said(role, text)
    return said(role, [{"type": "text", "text": text}] * bool(text) + [_part(block) for block in unread])


def _part(block: Mapping[str, Any]) -> dict[str, Any]:
    """A block of the user's: a picture that can be measured, or held unread."""
    source = block.get("image_url")
    url = source.get("url") if isinstance(source, Mapping) else source
    if block.get("type") == "image":
        inner = block.get("source")
        fields = inner if isinstance(inner, Mapping) else block
        data = fields.get("base64") or (fields.get("data") if isinstance(fields.get("data"), str) else None)
        media = fields.get("mime_type") or fields.get("media_type") or "image/png"
        url = f"data:{media};base64,{data}" if data else fields.get("url")
    return picture(url) if isinstance(url, str) and url.startswith(("data:image/", "https://", "http://")) else held(block)


def compacted_messages(
    messages: Sequence[BaseMessage], compact: Callable[[Sequence[Mapping[str, Any]]], Compaction]
) -> list[BaseMessage]:
    """Returns the messages as `compact` leaves their stand-ins: unchanged ones are the same objects, changed ones are copies
    with the same id, and germane's own have an id that follows from their content. Calls of one turn that came as several
    messages are one message, as chat APIs take them."""
    messages = [
        run[0] if len(run) == 1 else _joined(run)
        for run in runs_of_calls(messages, _calls, lambda message: isinstance(message, ToolMessage))
    ]
    given = stand_ins(messages)
    compaction = compact(given)
    if is_unchanged(compaction, given):
        return list(messages)
    out: list[BaseMessage] = []
    for written, origin in zip(compaction.messages, compaction.origins, strict=True):
        if origin is None:
            out.append(_own(written))
        elif written == given[origin]:
            out.append(messages[origin])
        else:
            out.append(_changed(messages[origin], given[origin], written))
    return out


def _calls(message: BaseMessage) -> bool | None:
    """Whether a message of the model's has calls; None for any other message."""
    return bool(message.tool_calls or message.invalid_tool_calls) if isinstance(message, AIMessage) else None


def _joined(run: Sequence[BaseMessage]) -> BaseMessage:
    """Returns the model's messages as one, with the content and the calls of all; what else they hold is the first one's."""
    first, blocks = run[0], list[Any]()
    for message in run:
        blocks += [message.content] * bool(message.content) if isinstance(message.content, str) else message.content
    plain = all(isinstance(block, str) for block in blocks)
    lists = {
        name: [call for message in run for call in getattr(message, name)] for name in ("tool_calls", "invalid_tool_calls")
    }
    raw = [call for message in run for call in message.additional_kwargs.get("tool_calls") or ()]
    others = first.additional_kwargs | ({"tool_calls": raw} if raw else {})
    content: Any = "\n\n".join(blocks) if plain else blocks
    return first.model_copy(update={"content": content, "additional_kwargs": others, **lists})


def _own(written: Mapping[str, Any]) -> BaseMessage:
    text = plain_text(written.get("content"))
    id = f"germane-{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:16]}"
    kind: Any = {"system": SystemMessage, "assistant": AIMessage}.get(str(written.get("role")), HumanMessage)
    written_by: dict[str, Any] = {"additional_kwargs": {"lc_source": "summarization"}}
    message: BaseMessage = kind(content=text, id=id, **written_by)
    return message


def _changed(message: BaseMessage, given: Mapping[str, Any], written: Mapping[str, Any]) -> BaseMessage:
    """A copy with what `compact` changed: a masked result, a result without its call, or calls without their results."""
    if isinstance(message, AIMessage) and written.get("role") == "assistant":
        return _closed(message, kept_calls(given, written))
    update: dict[str, Any] = {"content": plain_text(written.get("content"))}
    if not isinstance(message, ToolMessage):
        return message.model_copy(update=update)
    if written.get("role") != "tool":
        return HumanMessage(id=message.id, **update)
    if written["tool_call_id"] != given["tool_call_id"]:
        update["tool_call_id"] = written["tool_call_id"]
    return message.model_copy(
        update=update if written.get("content") != given.get("content") else update | {"content": message.content}
    )


def _closed(message: AIMessage, kept: Mapping[int, str | None]) -> AIMessage:
    """The model's message with the calls that `kept` counts, the others as text."""
    calls = list(calls_in(message))
    readable = len(message.tool_calls)
    ids = [kept[number] or call.id if number in kept else None for number, call in enumerate(calls)]
    notes = [call_as_text(call) for call, id in zip(calls, ids, strict=True) if id is None]
    waiting: dict[str, list[str | None]] = {}
    for call, id in zip(calls, ids, strict=True):
        waiting.setdefault(call.id, []).append(id)
    blocks = [message.content] if isinstance(message.content, str) else list(message.content)
    left = [new for block in blocks if block != "" and (new := _with_ids(block, waiting)) is not None]
    plain = all(isinstance(block, str) for block in left)
    content: Any = (
        "\n".join([*map(str, left), *notes]) if plain else [*left, *({"type": "text", "text": note} for note in notes)]
    )
    return message.model_copy(
        update={
            "content": content,
            "tool_calls": _kept(message.tool_calls, ids[:readable]),
            "invalid_tool_calls": _kept(message.invalid_tool_calls, ids[readable:]),
            "additional_kwargs": {key: each for key, each in message.additional_kwargs.items() if key != "tool_calls"},
        }
    )


def _kept(calls: Sequence[Any], ids: Sequence[str | None]) -> list[dict[str, Any]]:
    return [{**call, "id": id} for call, id in zip(calls, ids, strict=True) if id is not None]


def _with_ids(block: str | dict[Any, Any], waiting: Mapping[str, list[str | None]]) -> str | dict[Any, Any] | None:
    """A block with the new id of its call, the next one of those that have its id; None where the call isn't kept."""
    if isinstance(block, str) or block.get("type") not in REPEATED:
        return block
    key = "call_id" if "call_id" in block else "id"
    left = waiting.get(block.get(key, ""))
    if not left or (id := left.pop(0)) is None:
        return None
    return block if block[key] == id else {**block, key: id}


def model_name(model: object) -> str:
    """The name of a chat model: the string itself, or what the model's object says."""
    if isinstance(model, str):
        return model
    for name in ("model_name", "model", "model_id", "deployment_name"):
        if isinstance(found := getattr(model, name, None), str) and found:
            return found
    bound = getattr(model, "bound", None)
    return model_name(bound) if bound is not None else ""


def tool_schemas(tools: Sequence[object]) -> list[dict[str, Any]]:
    """The schemas of tools as they are sent, for counting."""
    return [
        tool if isinstance(tool, dict) else convert_to_openai_tool(tool)
        for tool in tools
        if isinstance(tool, dict | BaseTool) or callable(tool)
    ]
