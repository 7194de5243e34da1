"""LlamaIndex: memory for LlamaIndex's agents and chat engines, as a memory of theirs.

    reply = await FunctionAgent(llm=llm).run("…", memory=memory(agent, session="monday", model="gpt-5.4"))

What is known goes in front of the newest words of the user, and what was added for earlier turns stays where it stood. The
history is in LlamaIndex's own chat store, whose messages are sent as they are. It is recorded when an answer of the model's is
put into it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Unpack, overload

from germane import sync
from germane.api.agent import Agent
from germane.dialects.framework_messages import as_chat_message
from germane.errors import InvalidInput, MissingExtra
from germane.integrations.memory_calls import AsyncCalls, BlockingCalls, CallTerms, placed
from germane.types.checks import check_text
from germane.types.context import Context
from germane.types.limits import ID

try:
    from llama_index.core.bridge.pydantic import PrivateAttr
    from llama_index.core.llms import ChatMessage
    from llama_index.core.memory.types import BaseChatStoreMemory
    from llama_index.core.storage.chat_store import BaseChatStore, SimpleChatStore
except ImportError as error:
    raise MissingExtra("llamaindex", "llama-index-core") from error


class _Memory(BaseChatStoreMemory):
    """A history in a chat store, under the session's name. `set` and `reset` change it, and nothing that germane keeps."""

    _asking: dict[str, Any] = PrivateAttr()

    def __init__(self, session: str, model: str, chat_store: BaseChatStore | None) -> None:
        for name, given in (("session", session), ("model", model)):
            if not check_text(name, given, ID).strip():
                raise InvalidInput("is empty", path=name)
        super().__init__(chat_store=SimpleChatStore() if chat_store is None else chat_store, chat_store_key=session)
        self._asking = {"model": model, "provider": "openai", "session": session}

    @classmethod
    def from_defaults(cls, *args: Any, **kwargs: Any) -> Any:
        """As the constructor."""
        return cls(*args, **kwargs)


class AgentMemory(_Memory):
    """For an agent of `germane.Germane`, and calls that are awaited. `get`, which isn't, returns the history alone."""

    _calls: AsyncCalls = PrivateAttr()

    def __init__(
        self, agent: Agent, *, session: str, model: str, chat_store: BaseChatStore | None = None, **terms: Unpack[CallTerms]
    ) -> None:
        super().__init__(session, model, chat_store)
        self._calls = AsyncCalls(agent, **terms)

    async def aget(self, input: str | None = None, **kwargs: Any) -> list[ChatMessage]:
        """Returns the history with what is known."""
        history = await self.aget_all()
        if not (written := self._calls.safely(lambda: _written(history))):
            return history
        context = await self._calls.context(self._calls.agent, written, self._asking)
        return self._calls.safely(lambda: _with(context, written, history)) or history

    async def aput(self, message: ChatMessage) -> None:
        await self.aput_messages([message])

    async def aput_messages(self, messages: list[ChatMessage]) -> None:
        for message in messages:
            await super().aput(message)
        if self._calls.safely(lambda: _ends_with_an_answer(messages)):
            history = await self.aget_all()
            self._calls.record(self._calls.agent, lambda: history, self.chat_store_key)

    async def flush(self, timeout: float = 5.0) -> bool:
        """Waits until the turns so far are recorded, for at most `timeout` seconds. Returns whether they are."""
        return await self._calls.flush(timeout)


class BlockingAgentMemory(_Memory):
    """For an agent of `germane.sync`. It serves calls that are awaited too, in a thread."""

    _calls: BlockingCalls = PrivateAttr()

    def __init__(
        self,
        agent: sync.Agent,
        *,
        session: str,
        model: str,
        chat_store: BaseChatStore | None = None,
        **terms: Unpack[CallTerms],
    ) -> None:
        super().__init__(session, model, chat_store)
        self._calls = BlockingCalls(agent, **terms)

    def get(self, input: str | None = None, **kwargs: Any) -> list[ChatMessage]:
        """Returns the history with what is known."""
        history = self.get_all()
        if not (written := self._calls.safely(lambda: _written(history))):
            return history
        context = self._calls.context(self._calls.agent, written, self._asking)
        return self._calls.safely(lambda: _with(context, written, history)) or history

    async def aget(self, input: str | None = None, **kwargs: Any) -> list[ChatMessage]:
        return await asyncio.to_thread(self.get, input, **kwargs)

    def put(self, message: ChatMessage) -> None:
        self.put_messages([message])

    async def aput(self, message: ChatMessage) -> None:
        await asyncio.to_thread(self.put_messages, [message])

    def put_messages(self, messages: list[ChatMessage]) -> None:
        for message in messages:
            super().put(message)
        if self._calls.safely(lambda: _ends_with_an_answer(messages)):
            history = self.get_all()
            self._calls.record(self._calls.agent, lambda: history, self.chat_store_key)

    async def aput_messages(self, messages: list[ChatMessage]) -> None:
        await asyncio.to_thread(self.put_messages, messages)

    def flush(self, timeout: float = 5.0) -> bool:
        """As that of `AgentMemory`. A process that ends by itself does so too."""
        return self._calls.flush(timeout)


@overload
def memory(
    agent: Agent, *, session: str, model: str, chat_store: BaseChatStore | None = None, **terms: Unpack[CallTerms]
) -> AgentMemory: ...


@overload
def memory(
    agent: sync.Agent, *, session: str, model: str, chat_store: BaseChatStore | None = None, **terms: Unpack[CallTerms]
) -> BlockingAgentMemory: ...


def memory(
    agent: Agent | sync.Agent, *, session: str, model: str, chat_store: BaseChatStore | None = None, **terms: Unpack[CallTerms]
) -> AgentMemory | BlockingAgentMemory:
    """Returns a memory for `run(…, memory=…)` of an agent, or for a chat engine.

    `session` names the conversation, in germane and in the chat store. `model` is the name of the model that is called: a
    memory isn't told. `chat_store` keeps the history (default: the object itself). The other arguments are those of `assemble`.
    Raises `InvalidInput`; a run never fails because of germane."""
    if isinstance(agent, sync.Agent):
        return BlockingAgentMemory(agent, session=session, model=model, chat_store=chat_store, **terms)
    return AgentMemory(agent, session=session, model=model, chat_store=chat_store, **terms)


def _written(history: Sequence[ChatMessage]) -> list[dict[str, Any]]:
    return [as_chat_message(message) for message in history]


def _ends_with_an_answer(messages: Sequence[ChatMessage]) -> bool:
    return bool(messages) and as_chat_message(messages[-1])["role"] == "assistant"


def _with(context: Context | None, written: Sequence[dict[str, Any]], history: list[ChatMessage]) -> list[ChatMessage]:
    """The history with what the context adds: the same objects, and new ones between them."""
    if (found := placed(context, written)) is None:
        return history
    stable = [ChatMessage(role="system", content=found.stable)] if found.stable else []
    return stable + [
        ChatMessage(role=one.role, content=one.text) if one.origin is None else history[one.origin] for one in found.messages
    ]
