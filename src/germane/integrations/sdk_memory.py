"""SDK memory: what the adapters of the providers' SDKs share: one request to a model, what goes into it, and what is recorded.

An adapter asks `SdkMemory.read` for the call that a request is, puts `body` in the place of the request's own, sends it, and
gives the answer to `watch`. Nothing here raises, and none of it keeps a request waiting for longer than the deadline allows: a
request that can't be read, an engine that fails and one that hangs let the request go as it came.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Generic

import httpx2

from germane.dialects.answer_copy import AnswerCopy
from germane.dialects.model_calls import ChangedBody, ModelCall, read_call
from germane.integrations.memory_calls import A as A
from germane.integrations.memory_calls import AsyncCalls, BlockingCalls, MemoryCalls
from germane.integrations.memory_calls import Terms as Terms

if TYPE_CHECKING:
    from germane import sync
    from germane.api.agent import Agent
    from germane.types.context import Context

SESSION, USER = OWN_HEADERS = "x-germane-session", "x-germane-user"
"""Headers of a call that name its session and its user. They aren't sent to the provider."""
Ended = Callable[[AnswerCopy], None]
"""What gets the copy of an answer when that has ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCall(Generic[A]):
    """A call of a model, and whom it belongs to."""

    call: ModelCall
    agent: A
    session: str

    @property
    def asking(self) -> dict[str, Any]:
        """The arguments of `assemble` and of `fallback`, apart from the messages."""
        return {**self.call.asking, "session": self.session}

    def said(self, answer: AnswerCopy) -> list[Mapping[str, Any]]:
        """The call's messages and the model's, for `record`."""
        return [*self.call.messages, *answer.messages(self.call.api)]


class SdkMemory(MemoryCalls[A]):
    """The terms of an adapter, and its requests."""

    def read(self, path: str, headers: Mapping[str, str], body: Mapping[str, Any] | bytes) -> SessionCall[A] | None:
        """Returns the call that a request is; None for a request that goes as it came."""
        try:
            call, session = read_call(path, body), headers.get(SESSION, self.session)
            if call is None or session == "":
                return None
            if session is None:
                raise LookupError(f"give session=, or the header {SESSION}")
            user = headers.get(USER)
            agent = self.agent if user is None else self.agent.within(user=user)
            return SessionCall(call=call, agent=agent, session=session)
        except Exception as error:
            self.warn("remembers nothing for a call", error)
            return None

    def _written(self, own: SessionCall[A], context: Context | None) -> ChangedBody | None:
        try:
            return None if context is None else own.call.body_with(context)
        except Exception as error:
            self.warn("couldn't write what it knows into a call", error)
            return None

    def _copy(self, response: httpx2.Response, copied: type[_Copied | _AsyncCopied], ended: Ended) -> None:
        """Calls `ended` once with a successful answer: now where it was read already, else when the SDK has read or closed
        it."""

        def safely(answer: AnswerCopy) -> None:
            try:
                ended(answer)
            except Exception as error:
                self.warn("couldn't record a turn", error)

        if not response.is_success:
            return
        try:
            body = response.content
        except httpx2.ResponseNotRead:
            response.stream = copied(response.stream, AnswerCopy(response.headers), safely)
        else:
            answer = AnswerCopy({"content-type": response.headers.get("content-type", "")})
            answer.keep(body)
            safely(answer)


class BlockingMemory(SdkMemory["sync.Agent"], BlockingCalls):
    """For the SDKs' blocking clients. Thread-safe."""

    def body(self, own: SessionCall[sync.Agent]) -> ChangedBody | None:
        """Returns the body to send; None for the request's own."""
        return self._written(own, self.context(own.agent, own.call.messages, own.asking, tools=own.call.tools))

    def watch(self, own: SessionCall[sync.Agent], response: httpx2.Response) -> None:
        """Has the turn recorded once the answer was read or closed. An answer with an error isn't."""

        def ended(answer: AnswerCopy) -> None:
            self.record(own.agent, partial(own.said, answer), own.session)

        self._copy(response, _Copied, ended)


class AsyncMemory(SdkMemory["Agent"], AsyncCalls):
    """For the SDKs' asynchronous clients."""

    async def body(self, own: SessionCall[Agent]) -> ChangedBody | None:
        """As that of `BlockingMemory`."""
        return self._written(own, await self.context(own.agent, own.call.messages, own.asking, tools=own.call.tools))

    def watch(self, own: SessionCall[Agent], response: httpx2.Response) -> None:
        """As that of `BlockingMemory`."""

        def ended(answer: AnswerCopy) -> None:
            self.record(own.agent, partial(own.said, answer), own.session)

        self._copy(response, _AsyncCopied, ended)


# A copy of an answer, for recording. The SDK reads the answer itself, byte for byte as it came.


class _Copy:
    """Keeps what is read of an answer, and hands it to `ended` once: at the end, when it is closed, or when reading fails."""

    def __init__(self, stream: Any, answer: AnswerCopy, ended: Ended) -> None:
        self._stream, self._answer, self._ended, self._over = stream, answer, ended, False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)  # an SDK keeps what observes its stream there

    def _end(self, *, broken: bool = False) -> None:
        if not self._over:
            self._over = True
            self._answer.broken |= broken
            self._ended(self._answer)


class _Copied(_Copy, httpx2.SyncByteStream):
    def __iter__(self) -> Iterator[bytes]:
        try:
            for chunk in self._stream:
                self._answer.keep(chunk)
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
                self._answer.keep(chunk)
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
