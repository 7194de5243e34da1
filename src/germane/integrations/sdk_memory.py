"""SDK memory: what the adapters of the providers' SDKs share: one request to a model, what goes into it, and what is recorded.

An adapter asks `SdkMemory.read` for the call that a request is, puts `body` in the place of the request's own, sends it, and
gives the answer to `watch`. Nothing here raises, and none of it keeps a request waiting for longer than the deadline allows: a
request that can't be read, an engine that fails and one that hangs let the request go as it came.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic

import httpx2

from germane.dialects.registry import parse_all
from germane.dialects.replies import read_reply
from germane.integrations.memory_calls import A as A
from germane.integrations.memory_calls import AsyncCalls, BlockingCalls, MemoryCalls
from germane.integrations.memory_calls import Terms as Terms
from germane.types.message import is_human

if TYPE_CHECKING:
    from germane import sync
    from germane.api.agent import Agent
    from germane.types.context import Context

SESSION, USER = OWN_HEADERS = "x-germane-session", "x-germane-user"
"""Headers of a call that name its session and its user. They aren't sent to the provider."""
_APIS: Mapping[str, str] = MappingProxyType(
    {"/chat/completions": "openai", "/responses": "openai-responses", "/v1/messages": "anthropic"}
)
"""How the paths of the calls of a model end, with the dialect of each."""
_MAX_COPY = 16 * 2**20
"""Bytes of an answer; a longer one is relayed and not recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall(Generic[A]):
    """A request to a model: its body as the SDK sends it, the messages in it, and whom it belongs to. `held` says that the
    provider holds the conversation, so that these are its new messages alone."""

    api: str
    agent: A
    session: str
    body: Mapping[str, Any]
    messages: Sequence[Mapping[str, Any]]
    held: bool

    @property
    def asking(self) -> dict[str, Any]:
        """The arguments of `assemble` and of `fallback`, apart from the messages."""
        system = self.body.get({"anthropic": "system", "openai-responses": "instructions"}.get(self.api, ""))
        return {"model": self.body["model"], "provider": self.api, "session": self.session, "system": system or None}

    def body_with(self, context: Context) -> dict[str, Any] | None:
        """Returns the body with what the context adds; None where it adds nothing. Where the provider holds the conversation,
        only the user's new words are touched, and the instructions that each request of the Responses API brings anew. Names of
        betas that the body needs are in it, in `betas`."""
        if not (context.added or context.earlier or context.metadata.thinking_prefix_changed):
            return None
        if self.api == "openai":
            return {**self.body, "messages": context.to_openai()}
        if self.api == "openai-responses":
            own = {"input": self.body["input"]} if self.held and not self._asks else {}
            return {**self.body, **context.to_openai_responses(), **own}
        if self.held:
            turns = None if context.convert_turns is None or not self._asks else context.convert_turns("anthropic")
            return None if turns is None else {**self.body, "messages": turns.messages}
        thinking = self.body.get("thinking")
        return {**self.body, **context.to_anthropic(thinking=thinking if isinstance(thinking, Mapping) else None)}

    @property
    def _asks(self) -> bool:
        """Whether the messages hold words of the user, and no results of calls that the provider holds."""
        parsed = parse_all(self.messages, self.api)
        return any(map(is_human, parsed)) and not any(one.tool_results for one in parsed)


class SdkMemory(MemoryCalls[A]):
    """The terms of an adapter, and its requests."""

    def read(self, path: str, headers: Mapping[str, str], body: Mapping[str, Any] | bytes) -> ModelCall[A] | None:
        """Returns the call that a request is; None for a request that goes as it came."""
        try:
            api = next((api for ending, api in _APIS.items() if path.partition("?")[0].endswith(ending)), None)
            fields = json.loads(body) if isinstance(body, bytes) and api else body
            if api is None or not isinstance(fields, Mapping) or not isinstance(fields.get("model"), str):
                return None
            given = fields.get("input" if api == "openai-responses" else "messages")
            messages = [{"role": "user", "content": given}] if isinstance(given, str) else given
            session = headers.get(SESSION, self.session)
            if not messages or not isinstance(messages, list | tuple) or session == "":
                return None
            if session is None:
                raise LookupError(f"give session=, or the header {SESSION}")
            held = _mapping(fields.get("thread")).get("type") == "continue" or any(
                fields.get(name) for name in ("previous_response_id", "conversation") if api == "openai-responses"
            )
            user = headers.get(USER)
            agent = self.agent if user is None else self.agent.within(user=user)
            return ModelCall(api=api, agent=agent, session=session, body=fields, messages=messages, held=held)
        except Exception as error:
            self.warn("remembers nothing for a call", error)
            return None

    @staticmethod
    def _with_tools(call: ModelCall[A]) -> dict[str, Any]:
        tools = call.body.get("tools")
        return {"tools": tools} if isinstance(tools, list | tuple) and not call.held else {}

    def _written(self, call: ModelCall[A], context: Context | None) -> dict[str, Any] | None:
        try:
            return None if context is None else call.body_with(context)
        except Exception as error:
            self.warn("couldn't write what it knows into a call", error)
            return None

    def _said(self, call: ModelCall[A], answer: ReadAnswer) -> list[Mapping[str, Any]]:
        """The call's messages and the model's, for `record`."""
        return [*call.messages, *([] if answer.broken else read_reply(call.api, answer.text, events=answer.is_stream))]

    def _copy(
        self, response: httpx2.Response, copied: type[_Copied | _AsyncCopied], ended: Callable[[ReadAnswer], None]
    ) -> None:
        """Calls `ended` once with a successful answer: now where it was read already, else when the SDK has read or closed
        it."""

        def safely(answer: ReadAnswer) -> None:
            try:
                ended(answer)
            except Exception as error:
                self.warn("couldn't record a turn", error)

        if not response.is_success:
            return
        answer = ReadAnswer(headers=response.headers)
        try:
            body = response.content
        except httpx2.ResponseNotRead:
            response.stream = copied(response.stream, answer, safely)
        else:
            safely(replace(answer, body=body, is_decoded=True))


class BlockingMemory(SdkMemory["sync.Agent"], BlockingCalls):
    """For the SDKs' blocking clients. Thread-safe."""

    def body(self, call: ModelCall[sync.Agent]) -> dict[str, Any] | None:
        """Returns the body to send; None for the call's own."""
        return self._written(call, self.context(call.agent, call.messages, call.asking, **self._with_tools(call)))

    def watch(self, call: ModelCall[sync.Agent], response: httpx2.Response) -> None:
        """Has the turn recorded once the answer was read or closed. An answer with an error isn't."""

        def ended(answer: ReadAnswer) -> None:
            self.record(call.agent, partial(self._said, call, answer), call.session)

        self._copy(response, _Copied, ended)


class AsyncMemory(SdkMemory["Agent"], AsyncCalls):
    """For the SDKs' asynchronous clients."""

    async def body(self, call: ModelCall[Agent]) -> dict[str, Any] | None:
        """As that of `BlockingMemory`."""
        return self._written(call, await self.context(call.agent, call.messages, call.asking, **self._with_tools(call)))

    def watch(self, call: ModelCall[Agent], response: httpx2.Response) -> None:
        """As that of `BlockingMemory`."""

        def ended(answer: ReadAnswer) -> None:
            self.record(call.agent, partial(self._said, call, answer), call.session)

        self._copy(response, _AsyncCopied, ended)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


# A copy of an answer, for recording. The SDK reads the answer itself, byte for byte as it came.


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadAnswer:
    """The bytes of a successful answer. `broken` says that reading them failed, or that there are too many."""

    headers: Mapping[str, str]
    body: bytes = b""
    broken: bool = False
    is_decoded: bool = False

    @property
    def is_stream(self) -> bool:
        return self.headers.get("content-type", "").startswith("text/event-stream")

    @property
    def text(self) -> str:
        """The body as text. Raises where its encoding can't be undone."""
        coding = None if self.is_decoded else self.headers.get("content-encoding")
        read = httpx2.Response(200, headers={"content-encoding": coding} if coding else None, content=self.body)
        return read.content.decode("utf-8", "replace")


class _Copy:
    """Keeps what is read of an answer, and hands it to `ended` once: at the end, when it is closed, or when reading fails."""

    def __init__(self, stream: Any, answer: ReadAnswer, ended: Callable[[ReadAnswer], None]) -> None:
        self._stream, self._answer, self._ended = stream, answer, ended
        self._chunks, self._bytes, self._over = list[bytes](), 0, False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)  # an SDK keeps what observes its stream there

    def _keep(self, chunk: bytes) -> None:
        self._bytes += len(chunk)
        if self._bytes <= _MAX_COPY:
            self._chunks.append(chunk)

    def _end(self, *, broken: bool = False) -> None:
        if not self._over:
            self._over = True
            self._ended(replace(self._answer, body=b"".join(self._chunks), broken=broken or self._bytes > _MAX_COPY))
            self._chunks.clear()


class _Copied(_Copy, httpx2.SyncByteStream):
    def __iter__(self) -> Iterator[bytes]:
        try:
            for chunk in self._stream:
                self._keep(chunk)
                yield chunk
        except Exception:
            self._end(broken=True)
            raise
        self._end()

    def close(self) -> None:
        try:
            self._stream.close()
        finally:
            self._end()


class _AsyncCopied(_Copy, httpx2.AsyncByteStream):
    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._stream:
                self._keep(chunk)
                yield chunk
        except Exception:
            self._end(broken=True)
            raise
        self._end()

    async def aclose(self) -> None:
        try:
            await self._stream.aclose()
        finally:
            self._end()
