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

    agent: Any
    session: str
    written: list[dict[str, Any]]
    asking: dict[str, Any]
    more: dict[str, Any]


class AgentMemoryMiddleware(AgentMiddleware[Any, Any, Any]):
    """Middleware for `langchain.agents.create_agent`. `agent` is one of `germane.sync`, or one of `germane.Germane` where the
    agent is awaited (`ainvoke`, `astream`).

    The session is `session`, or else the `thread_id` of the run; a run without either isn't remembered. A run may name its user
    as `germane_user` beside the `thread_id`. The other arguments are those of `assemble`. Raises `InvalidInput` at once; a run
    never fails because of germane. Beside `CompactionMiddleware`, it stands behind that in the list."""

    def __init__(self, agent: Agent | sync.Agent, **terms: Unpack[Terms]) -> None:
        super().__init__()
        self.tools = []
        self._calls = calls_of(agent, terms)

    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]) -> Any:
        if isinstance(self._calls, AsyncCalls):
            self._calls.warn("remembers nothing for a call that isn't awaited", TypeError("give an agent of germane.sync"))
            return handler(request)
        if (call := self._calls.safely(lambda: self._read(request))) is None:
            return handler(request)
        context = self._calls.context(call.agent, call.written, call.asking, **call.more)
        response = handler(self._calls.safely(lambda: _with(request, call, context)) or request)
        self._calls.safely(lambda: self._record(request, response, call))
        return response

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> Any:
        if (call := self._calls.safely(lambda: self._read(request))) is None:
            return await handler(request)
        context = await self._calls.acontext(call.agent, call.written, call.asking, **call.more)
        response = await handler(self._calls.safely(lambda: _with(request, call, context)) or request)
        self._calls.safely(lambda: self._record(request, response, call))
        return response

    def flush(self, timeout: float = 5.0) -> Any:
        """Waits until the turns so far are recorded, for at most `timeout` seconds. Returns whether they are; with an agent of
        `germane.Germane` it is awaited."""
        return self._calls.flush(timeout)

    def _read(self, request: ModelRequest[Any]) -> _Call | None:
        named = _named()
        session = self._calls.session_of(named.get("thread_id"))
        written = stand_ins(request.messages)
        if session is None or not written:
            return None
        system = request.system_message.text if request.system_message else None
        asking = {"model": model_name(request.model), "provider": "openai", "session": session, "system": system or None}
        tools = tool_schemas(request.tools)
        user = named.get("germane_user")
        agent: Any = self._calls.agent if user is None else self._calls.agent.within(user=user)
        return _Call(agent, session, written, asking, {"tools": tools} if tools else {})

    def _record(self, request: ModelRequest[Any], response: object, call: _Call) -> None:
        """What the state holds, which another middleware hasn't shortened, and the answer."""
        state: Any = request.state
        history = state.get("messages") if isinstance(state, Mapping) else getattr(state, "messages", None)
        said = [*(history or request.messages), *getattr(response, "result", ())]
        self._calls.record(call.agent, lambda: said, call.session)


def _named() -> Mapping[str, Any]:
    """What the run's configuration names."""
    try:
        return get_config().get("configurable") or {}
    except RuntimeError:
        return {}


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
