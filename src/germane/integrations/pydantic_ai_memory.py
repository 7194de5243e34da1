"""Pydantic AI memory: memory in front of each request to the model, as a capability.

    agent = Agent("openai:gpt-5.4", capabilities=[MemoryCapability(remembering, session="monday")])

What is known goes in front of the newest words of the user, what was added for earlier turns stays where it stood, and the turn
is recorded with the model's answer. The run's history keeps the agent's own messages alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

from germane.errors import MissingExtra
from germane.integrations.memory_calls import PlacedMessages, Terms, calls_of, placed

try:
    from pydantic_ai import RunContext
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, SystemPromptPart, UserPromptPart
    from pydantic_ai.models import ModelRequestContext

    from germane.integrations.pydantic_ai import StandInPart, instructions_of, pieces_of, tool_schema
except ImportError as error:
    raise MissingExtra("pydantic-ai", "pydantic-ai-slim") from error

if TYPE_CHECKING:
    from germane import sync
    from germane.api.agent import Agent


_Read = tuple[list[StandInPart], dict[str, Any], dict[str, Any]]


class MemoryCapability(AbstractCapability[Any]):
    """A capability for `Agent(capabilities=[…])`. `agent` is one of `germane.Germane`, or one of `germane.sync` for `run_sync`.

    The session is `session`, or else the run's `conversation_id`, which Pydantic AI makes for a run that continues none. The
    other arguments are those of `assemble`. Raises `InvalidInput` at once; a run never fails because of germane. Beside
    `HistoryCompaction`, it stands behind that in the list."""

    def __init__(self, agent: Agent | sync.Agent, **terms: Unpack[Terms]) -> None:
        self._calls = calls_of(agent, terms)

    async def before_model_request(self, ctx: RunContext[Any], request_context: ModelRequestContext) -> ModelRequestContext:
        call = self._calls.safely(lambda: self._read(ctx, request_context))
        if call is None:
            return request_context
        found, asking, tools = call
        written = [piece.raw for piece in found]
        agent: Any = self._calls.agent
        context = await self._calls.acontext(agent, written, asking, **tools)
        given = request_context.messages
        place = placed(context, written, asking["system"])
        if place is not None and (messages := self._calls.safely(lambda: _with(place, found, given))) is not None:
            request_context.messages = messages
        return request_context

    def _read(self, ctx: RunContext[Any], request: ModelRequestContext) -> _Read | None:
        """The parts of the messages, and the arguments of `assemble`: those that a fallback has too, and the tools."""
        session, found = self._calls.session_of(ctx.conversation_id), pieces_of(request.messages)
        if session is None or not found:
            return None
        parameters = request.model_request_parameters
        system = instructions_of(request.messages, parameters.instruction_parts) or None
        tools = [tool_schema(tool) for tool in (*parameters.function_tools, *parameters.output_tools)]
        asking = {"model": request.model.model_name, "provider": "openai", "session": session, "system": system}
        return found, asking, {"tools": tools} if tools else {}

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        if (session := self._calls.session_of(ctx.conversation_id)) is not None:
            said = [*(message for message in ctx.messages if message is not response), response]
            agent: Any = self._calls.agent
            self._calls.safely(lambda: self._calls.record(agent, lambda: said, session))
        return response

    def flush(self, timeout: float = 5.0) -> Any:
        """Waits until the turns so far are recorded, for at most `timeout` seconds. Returns whether they are; with an agent of
        `germane.Germane` it is awaited."""
        return self._calls.flush(timeout)

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """None: an agent of germane's is an object, which a specification can't hold."""
        return None


def _with(place: PlacedMessages, found: Sequence[StandInPart], messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """The messages with the texts between their parts. Messages without one are the same objects."""
    parts: dict[int, dict[int, list[Any]]] = {}
    waiting: list[Any] = [SystemPromptPart(place.stable)] if place.stable else []
    for one in place.messages:
        if one.origin is None:
            waiting.append(SystemPromptPart(one.text) if one.role == "system" else UserPromptPart(one.text))
            continue
        piece = found[one.origin]
        if waiting:
            parts.setdefault(piece.message, {})[piece.part] = waiting
            waiting = []
    out: list[ModelMessage] = []
    for number, message in enumerate(messages):
        added = parts.get(number, {})
        if isinstance(message, ModelRequest) and added:
            every = [part for index, own in enumerate(message.parts) for part in (*added.get(index, ()), own)]
            out.append(replace(message, parts=every))
            continue
        if added:
            out.append(ModelRequest(parts=added[0]))
        out.append(message)
    return [*out, ModelRequest(parts=waiting)] if waiting else out
