"""Pydantic AI: compaction in front of each request to the model, as a capability or as a history processor.

    agent = Agent("openai:gpt-5.4", capabilities=[HistoryCompaction()])
    agent = Agent("openai:gpt-5.4", capabilities=[ProcessHistory(history_processor())])

The capability changes what is sent and leaves the run's history as it is. A history processor's result becomes the history:
`all_messages()` then has the summary in it, which germane builds on when it comes back.

A request of Pydantic AI's holds several parts, and each of them has a stand-in of its own; a response has one. Parts that say
nothing (which instructions and tools hold from here on) have none: they are moved on to the next request that stays.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from germane.compaction.plan import Compaction
from germane.compaction.strategy import CompactionStrategy
from germane.dialects.fields import call_as_text
from germane.dialects.framework_messages import part_said, response_said
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
from germane.types.message import ToolCall

try:
    from pydantic_ai import RunContext, Tool
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.messages import InstructionDeltaPart, ModelMessage, ModelRequest
    from pydantic_ai.models import ModelRequestContext
    from pydantic_ai.tools import ToolDefinition
    from pydantic_ai.toolsets import FunctionToolset
except ImportError as error:
    raise MissingExtra("pydantic-ai", "pydantic-ai-slim") from error


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
            system=instructions_of(request_context.messages, parameters.instruction_parts),
            tools=[tool_schema(tool) for tool in (*parameters.function_tools, *parameters.output_tools)],
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
        compact = partial(compaction.compact, model=ctx.model.model_name, system=instructions_of(messages, None))
        return await asyncio.to_thread(compaction.safely, lambda: compacted_messages(messages, compact), messages)

    return compact_history


def show_earlier_tool(archive: Archive) -> Tool[Any]:
    """Returns the tool that brings back what was taken out, for agents with a history processor."""
    tool = earlier_tool(archive)

    def show(handle: str, start: int = 0) -> str:
        return tool.show(handle, start=start)

    return Tool.from_schema(show, tool.name, tool.description, tool.parameters)


def instructions_of(messages: Sequence[ModelMessage], parts: Sequence[Any] | None) -> str:
    """What is sent apart from the messages' parts that have a stand-in: the instructions, and their later changes."""
    requests = [message for message in messages if isinstance(message, ModelRequest)]
    changes = [part.render() for request in requests for part in request.parts if isinstance(part, InstructionDeltaPart)]
    own = [part.content for part in parts] if parts is not None else _newest(requests)
    return "\n\n".join([*own, *changes])


def _newest(requests: Sequence[ModelRequest]) -> Iterator[str]:
    yield next((request.instructions for request in reversed(requests) if request.instructions), "")


def tool_schema(tool: ToolDefinition) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "parameters": tool.parameters_json_schema}


# Pydantic AI's messages as stand-ins, and back: unchanged ones are the same objects.


try:
    from pydantic_ai import messages as pydantic
except ImportError as error:
    raise MissingExtra("pydantic-ai", "pydantic-ai-slim") from error


_MARK = {"germane": "summary"}
"""The metadata of a request that germane wrote."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StandInPart:
    """A stand-in, and where it comes from: the message's number, and the number of its part in a request."""

    raw: dict[str, Any]
    message: int
    part: int = 0


def stand_ins(messages: Sequence[pydantic.ModelMessage]) -> list[dict[str, Any]]:
    """Returns the stand-ins of all messages."""
    return [piece.raw for piece in pieces_of(messages)]


def pieces_of(messages: Sequence[pydantic.ModelMessage]) -> list[StandInPart]:
    """Returns the stand-ins of all messages with their places."""
    ids = CallIds()
    pieces: list[StandInPart] = []
    for number, message in enumerate(messages):
        if isinstance(message, pydantic.ModelResponse):
            pieces.append(StandInPart(raw=_response(message, ids), message=number))
            continue
        for index, part in enumerate(message.parts):
            if (raw := _request_part(part, ids)) is not None:
                pieces.append(StandInPart(raw=raw, message=number, part=index))
    return pieces


def _request_part(part: Any, ids: CallIds) -> dict[str, Any] | None:
    """The stand-in of a part of a request; None for a part that says nothing."""
    found = part_said(part)
    if found is None:
        return None
    items = list(_user_parts(found.items))
    if found.call_id is not None:
        return result(ids.fit(found.call_id), found.text, items)
    return said(found.role, items or found.text)


def _user_parts(content: Sequence[Any]) -> Iterator[dict[str, Any]]:
    for item in content:
        if isinstance(item, str):
            yield {"type": "text", "text": item}
        elif isinstance(item, pydantic.TextContent):
            yield {"type": "text", "text": item.content}
        elif isinstance(item, pydantic.ImageUrl) and item.url.startswith(("https://", "http://")):
            yield picture(item.url)
        elif isinstance(item, pydantic.BinaryContent) and item.is_image:
            yield picture(item.data_uri)
        elif isinstance(item, pydantic.BinaryContent):
            yield held({"media_type": item.media_type, "data": item.data})
        elif not isinstance(item, pydantic.CachePoint):
            yield held(str(item))


def _response(message: pydantic.ModelResponse, ids: CallIds) -> dict[str, Any]:
    found = response_said(message)
    calls = [tool_call(ids.fit(call.id), call.name, call.arguments) for call in found.calls]
    return assistant("\n".join(found.texts), calls, [_unread(part) for part in found.unread])


def _unread(part: Any) -> Any:
    """What a part weighs that is neither text nor a call."""
    match part:
        case pydantic.NativeToolReturnPart():
            return [part.tool_name, part.model_response_str()]
        case pydantic.NativeToolCallPart():
            return [part.tool_name, part.args_as_json_str()]
        case pydantic.ThinkingPart():
            return [part.content, part.signature]
        case pydantic.FilePart():
            return {"media_type": part.content.media_type, "data": part.content.data}
    return [getattr(part, "content", None), getattr(part, "provider_details", None)]


def compacted_messages(
    messages: Sequence[pydantic.ModelMessage], compact: Callable[[Sequence[Mapping[str, Any]]], Compaction]
) -> list[pydantic.ModelMessage]:
    """Returns the messages as `compact` leaves their stand-ins. A message whose parts all stay is the same object; one that
    lost parts, or whose results were masked, is a copy with everything else it holds. Calls of one turn that came as several
    responses are one response, as chat APIs take them."""
    runs = runs_of_calls(messages, _calls, _results)
    messages = [run[0] if len(run) == 1 else _joined(run) for run in runs]
    pieces = pieces_of(messages)
    given = [piece.raw for piece in pieces]
    compaction = compact(given)
    if is_unchanged(compaction, given):
        return list(messages)
    back = _Back(messages, pieces)
    for written, origin in zip(compaction.messages, compaction.origins, strict=True):
        back.add(written, origin)
    return back.finished()


def _calls(message: pydantic.ModelMessage) -> bool | None:
    """Whether a response of the model's has calls; None for a request."""
    if not isinstance(message, pydantic.ModelResponse):
        return None
    return any(isinstance(part, pydantic.ToolCallPart) for part in message.parts)


def _results(message: pydantic.ModelMessage) -> bool:
    """Whether a request has results of calls."""
    kinds = (pydantic.ToolReturnPart, pydantic.RetryPromptPart)
    return any(isinstance(part, kinds) and part.tool_name for part in message.parts)


def _joined(run: Sequence[pydantic.ModelMessage]) -> pydantic.ModelMessage:
    """Returns the model's responses as one with the parts of all; what else they hold is the first one's."""
    return replace(run[0], parts=[part for message in run for part in message.parts])  # type: ignore[arg-type]


@dataclass(slots=True)
class _Back:
    """Puts messages together again from stand-ins, one after another."""

    messages: Sequence[pydantic.ModelMessage]
    pieces: Sequence[StandInPart]
    out: list[pydantic.ModelMessage] = field(default_factory=list)
    parts: list[tuple[int, Any]] = field(default_factory=list)
    """Parts of the request that is being put together, with their numbers in it; -1 for a new part."""
    open: int = -1
    """The number of that request; -1 for none."""
    passed: int = 0
    """How many messages have been looked through for parts without a stand-in."""

    def add(self, written: Mapping[str, Any], origin: int | None) -> None:
        piece = None if origin is None else self.pieces[origin]
        message = None if piece is None else self.messages[piece.message]
        if piece is None or not isinstance(message, pydantic.ModelRequest):
            self._close()
            if piece is None:
                self.out.append(_own(written))
            elif isinstance(message, pydantic.ModelResponse):
                self.out.append(message if written == piece.raw else _changed_response(message, piece.raw, written))
            return
        if self.open != piece.message:
            self._close()
            self.open = piece.message
        part = message.parts[piece.part]
        same = written == piece.raw
        self.parts.append((piece.part, part) if same else (-1, _changed_part(part, piece.raw, written)))

    def finished(self) -> list[pydantic.ModelMessage]:
        self._close()
        return self.out

    def _close(self) -> None:
        """Ends the request that is open, with the silent parts of all messages up to it."""
        if self.open < 0:
            return
        message: Any = self.messages[self.open]
        carried = [part for earlier in self.messages[self.passed : self.open] for part in _silent(earlier)]
        own = [(index, part) for index, part in enumerate(message.parts) if _is_silent(part)]
        parts = (
            sorted([*self.parts, *own], key=lambda each: each[0]) if all(n >= 0 for n, _ in self.parts) else [*own, *self.parts]
        )
        whole = [index for index, _ in parts] == list(range(len(message.parts)))
        if whole and not carried:
            self.out.append(message)
        else:
            self.out.append(replace(message, parts=[*carried, *(part for _, part in parts)]))
        self.passed = self.open + 1
        self.open, self.parts = -1, []


def _silent(message: pydantic.ModelMessage) -> list[Any]:
    return [] if isinstance(message, pydantic.ModelResponse) else [part for part in message.parts if _is_silent(part)]


def _is_silent(part: Any) -> bool:
    return _request_part(part, CallIds()) is None


def _own(written: Mapping[str, Any]) -> pydantic.ModelMessage:
    text = plain_text(written.get("content"))
    if written.get("role") == "assistant":
        return pydantic.ModelResponse(parts=[pydantic.TextPart(content=text)])
    part = pydantic.SystemPromptPart(content=text) if written.get("role") == "system" else pydantic.UserPromptPart(content=text)
    return pydantic.ModelRequest(parts=[part], metadata=dict(_MARK))


def _changed_part(part: Any, given: Mapping[str, Any], written: Mapping[str, Any]) -> Any:
    """A part with what `compact` changed: a masked result, or a result without its call."""
    text = plain_text(written.get("content"))
    if written.get("role") != "tool":
        return pydantic.UserPromptPart(content=text, timestamp=part.timestamp)
    id = part.tool_call_id if written["tool_call_id"] == given["tool_call_id"] else written["tool_call_id"]
    if written.get("content") == given.get("content"):
        return replace(part, tool_call_id=id)
    return pydantic.ToolReturnPart(
        tool_name=part.tool_name or "tool",
        content=text,
        tool_call_id=id,
        metadata=getattr(part, "metadata", None),
        timestamp=part.timestamp,
    )


def _changed_response(
    message: pydantic.ModelResponse, given: Mapping[str, Any], written: Mapping[str, Any]
) -> pydantic.ModelResponse:
    """A response whose calls got new ids, or lost their results and became text."""
    kept = kept_calls(given, written)
    numbers = iter(range(len(message.parts)))
    parts: list[Any] = []
    for part in message.parts:
        if not isinstance(part, pydantic.ToolCallPart):
            parts.append(part)
        elif (number := next(numbers)) not in kept:
            call = ToolCall(id=part.tool_call_id, name=part.tool_name, arguments=part.args_as_json_str())
            parts.append(pydantic.TextPart(content=call_as_text(call)))
        else:
            new = kept[number]
            parts.append(part if new is None else replace(part, tool_call_id=new))
    return replace(message, parts=parts)
