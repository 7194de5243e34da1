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


class MemoryCapability(AbstractCapability[Any]):
    """A capability for `Agent(capabilities=[…])`. `agent` is one of `germane.Germane`, or one of `germane.sync` for `run_sync`.

    The session is `session`, or else the run's `conversation_id`, which Pydantic AI makes for a run that continues none. The
    other arguments are those of `assemble`. Raises `InvalidInput` at once; a run never fails because of germane. Beside
    `HistoryCompaction`, it stands behind that in the list."""

    def __init__(self, agent: Agent | sync.Agent, **terms: Unpack[Terms]) -> None:
        self._calls = calls_of(agent, terms)

    async def before_model_request(self, ctx: RunContext[Any], request_context: ModelRequestContext) -> ModelRequestContext:
        session = self._calls.session_of(ctx.conversation_id)
        found = None if session is None else self._calls.readable(pieces_of, request_context.messages)
        if session is None or found is None:
            return request_context
        written = [piece.raw for piece in found]
        parameters = request_context.model_request_parameters
        system = instructions_of(request_context.messages, parameters.instruction_parts)
        asking = {
            "model": request_context.model.model_name,
            "provider": "openai",
            "session": session,
            "system": system or None,
        }
        tools = self._calls.readable(_schemas, [*parameters.function_tools, *parameters.output_tools])
        agent: Any = self._calls.agent
        context = await self._calls.acontext(agent, written, asking, **({"tools": tools} if tools else {}))
        if (place := placed(context, written, system)) is not None:
            request_context.messages = _with(place, found, request_context.messages)
        return request_context

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        if (session := self._calls.session_of(ctx.conversation_id)) is not None:
            said = [message for message in ctx.messages if message is not response]
            agent: Any = self._calls.agent
            self._calls.record(agent, lambda: [*said, response], session)
        return response

    def flush(self, timeout: float = 5.0) -> Any:
        """Waits until the turns so far are recorded, for at most `timeout` seconds. Returns whether they are; with an agent of
        `germane.Germane` it is awaited."""
        return self._calls.flush(timeout)

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """None: an agent of germane's is an object, which a specification can't hold."""
        return None


def _schemas(tools: Sequence[Any]) -> list[dict[str, Any]]:
    return [tool_schema(tool) for tool in tools]


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
