"""OpenAI Agents memory: memory for the OpenAI Agents SDK, as a session and a filter of the model's input.

    remembering = MemorySession(agent, SQLiteSession("monday"))
    await Runner.run(seller, "…", session=remembering, run_config=RunConfig(call_model_input_filter=remembering.filter))

The filter puts what is known in front of the newest words of the user, and leaves what it added for earlier turns where it
stood. The session keeps the SDK's own items in the session that it was given, and has each turn recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Unpack

from germane.errors import MissingExtra
from germane.integrations.memory_calls import CallTerms, calls_of, placed

try:
    from agents import TResponseInputItem
    from agents.memory import Session, SessionSettings
    from agents.models.fake_id import FAKE_RESPONSES_ID
    from agents.run_config import CallModelData, ModelInputData

    from germane.integrations.openai_agents import agent_schemas, is_continued, model_name_of
except ImportError as error:
    raise MissingExtra("openai-agents", "openai-agents") from error

if TYPE_CHECKING:
    from germane import sync
    from germane.api.agent import Agent


class MemorySession:
    """A session for `Runner.run(session=…)`, around one that keeps the items. `agent` is one of `germane.Germane`, or one of
    `germane.sync` for `Runner.run_sync`.

    The conversation has the name of the session given, in germane too. `model` is the name of the model where a run's
    configuration has another than the agent's. The other arguments are those of `assemble`. Raises `InvalidInput` at once; a
    run never fails because of germane. `clear_session` and `pop_item` change the items, and nothing that germane keeps."""

    def __init__(
        self, agent: Agent | sync.Agent, session: Session, *, model: str | None = None, **terms: Unpack[CallTerms]
    ) -> None:
        self._calls = calls_of(agent, {"session": session.session_id, **terms})
        self._session, self._model = session, model
        self.session_id = session.session_id

    @property
    def session_settings(self) -> SessionSettings | None:
        return self._session.session_settings

    @session_settings.setter
    def session_settings(self, settings: SessionSettings | None) -> None:
        self._session.session_settings = settings

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        return await self._session.get_items(limit)

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        await self._session.add_items(items)
        if self._calls.safely(lambda: any(_is_answer(item) for item in items)):
            said = await self._session.get_items()
            agent: Any = self._calls.agent
            self._calls.safely(lambda: self._calls.record(agent, lambda: _own_ids(said), self.session_id))

    async def pop_item(self) -> TResponseInputItem | None:
        return await self._session.pop_item()

    async def clear_session(self) -> None:
        await self._session.clear_session()

    async def filter(self, data: CallModelData[Any]) -> ModelInputData:
        """For `RunConfig(call_model_input_filter=…)`. Where OpenAI holds the conversation, it changes nothing."""
        call = self._calls.safely(lambda: self._read(data))
        if call is None:
            return data.model_data
        written, asking, tools = call
        agent: Any = self._calls.agent
        context = await self._calls.acontext(agent, written, asking, **tools)
        given, system = data.model_data.input, data.model_data.instructions
        if (place := placed(context, written, system)) is None:
            return data.model_data
        items: list[Any] = [
            {"role": one.role, "content": one.text} if one.origin is None else given[one.origin] for one in place.messages
        ]
        return ModelInputData(input=items, instructions="\n\n".join(filter(None, (place.stable, system))) or None)

    def _read(self, data: CallModelData[Any]) -> tuple[list[dict[str, Any]], dict[str, Any], dict[str, Any]] | None:
        """The items, and the arguments of `assemble`: those that a fallback has too, and the tools."""
        given: list[Any] = list(data.model_data.input)
        if not given or is_continued(given):
            return None
        tools = list(agent_schemas(data.agent))
        asking = {
            "model": self._model or model_name_of(data.agent),
            "provider": "openai-responses",
            "session": self.session_id,
            "system": data.model_data.instructions or None,
        }
        return _own_ids(given), asking, {"tools": tools} if tools else {}

    async def flush(self, timeout: float = 5.0) -> bool:
        """Waits until the turns so far are recorded, for at most `timeout` seconds. Returns whether they are."""
        return await self._calls.aflush(timeout)


def _is_answer(item: Any) -> bool:
    """Whether an item is the model's."""
    return item.get("role") == "assistant" or item.get("type") in ("function_call", "reasoning")


def _own_ids(items: Sequence[Any]) -> list[dict[str, Any]]:
    """The items as they are read. Those of other APIs than OpenAI's have one id from the SDK, which is left out."""
    return [{key: value for key, value in item.items() if key != "id" or value != FAKE_RESPONSES_ID} for item in items]
