"""LangGraph memory: memory in front of each call of a model, as a middleware for LangChain's agents.

    agent = create_agent("openai:gpt-5.4", middleware=[AgentMemoryMiddleware(remembering)], checkpointer=InMemorySaver())

What is known goes in front of the newest words of the user, what was added for earlier turns stays where it stood, and the turn
is recorded with the model's answer. The state and the checkpoint keep the agent's own messages alone.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from germane.errors import MissingExtra
from germane.integrations.memory_calls import AsyncCalls, Terms, calls_of, placed

try:
    from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
    from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
    from langgraph.config import get_config

    from germane.integrations.langgraph import model_name, stand_ins, tool_schemas
except ImportError as error:
    raise MissingExtra("langgraph", "langchain") from error

if TYPE_CHECKING:
    from germane import sync
    from germane.api.agent import Agent
    from germane.types.context import Context


class _Call(NamedTuple):
    """A call of the model whose messages could be read."""

    session: str
    written: list[dict[str, Any]]
    asking: dict[str, Any]
    more: dict[str, Any]


class AgentMemoryMiddleware(AgentMiddleware[Any, Any, Any]):
    """Middleware for `langchain.agents.create_agent`. `agent` is one of `germane.sync`, or one of `germane.Germane` where the
    agent is awaited (`ainvoke`, `astream`).

    The session is `session`, or else the `thread_id` of the run; a run without either isn't remembered. The other arguments are
    those of `assemble`. Raises `InvalidInput` at once; a run never fails because of germane. Beside `CompactionMiddleware`, it
    stands behind that in the list."""

    def __init__(self, agent: Agent | sync.Agent, **terms: Unpack[Terms]) -> None:
        super().__init__()
        self.tools = []
        self._calls = calls_of(agent, terms)

    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]) -> Any:
        if isinstance(self._calls, AsyncCalls):
            self._calls.warn("remembers nothing for a call that isn't awaited", TypeError("give an agent of germane.sync"))
            return handler(request)
        if (call := self._read(request)) is None:
            return handler(request)
        context = self._calls.context(self._calls.agent, call.written, call.asking, **call.more)
        response = handler(_with(request, call, context))
        self._record(request, response, call)
        return response

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> Any:
        if (call := self._read(request)) is None:
            return await handler(request)
        agent: Any = self._calls.agent
        response = await handler(
            _with(request, call, await self._calls.acontext(agent, call.written, call.asking, **call.more))
        )
        self._record(request, response, call)
        return response

    def flush(self, timeout: float = 5.0) -> Any:
        """Waits until the turns so far are recorded, for at most `timeout` seconds. Returns whether they are; with an agent of
        `germane.Germane` it is awaited."""
        return self._calls.flush(timeout)

    def _read(self, request: ModelRequest[Any]) -> _Call | None:
        session = self._calls.session_of(_thread())
        written = None if session is None else self._calls.readable(stand_ins, request.messages)
        if session is None or written is None:
            return None
        system = request.system_message.text if request.system_message else None
        asking = {"model": model_name(request.model), "provider": "openai", "session": session, "system": system or None}
        tools = self._calls.readable(tool_schemas, request.tools)
        return _Call(session, written, asking, {"tools": tools} if tools else {})

    def _record(self, request: ModelRequest[Any], response: object, call: _Call) -> None:
        """What the state holds, which another middleware hasn't shortened, and the answer."""
        state: Any = request.state
        history = state.get("messages") if isinstance(state, Mapping) else getattr(state, "messages", None)
        said = [*(history or request.messages), *getattr(response, "result", ())]
        agent: Any = self._calls.agent
        self._calls.record(agent, lambda: said, call.session)


def _thread() -> object:
    try:
        return get_config().get("configurable", {}).get("thread_id")
    except RuntimeError:
        return None


def _with(request: ModelRequest[Any], call: _Call, context: Context | None) -> ModelRequest[Any]:
    """The request with what the context adds. The messages of the request are the same objects."""
    if (found := placed(context, call.written, call.asking["system"])) is None:
        return request
    messages: list[Any] = [
        _added(one.role, one.text) if one.origin is None else request.messages[one.origin] for one in found.messages
    ]
    system = request.system_message
    if found.stable:
        system = _in_front(found.stable, system)
    return request.override(messages=messages, system_message=system)


def _added(role: str, text: str) -> BaseMessage:
    return SystemMessage(text) if role == "system" else HumanMessage(text)


def _in_front(stable: str, system: SystemMessage | None) -> SystemMessage:
    if system is None:
        return SystemMessage(stable)
    if isinstance(system.content, str):
        return system.model_copy(update={"content": f"{stable}\n\n{system.content}"})
    return system.model_copy(update={"content": [{"type": "text", "text": stable}, *system.content]})
