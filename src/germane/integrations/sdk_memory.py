"""SDK memory: what the adapters of the providers' SDKs share: one request to a model, what goes into it, and what is recorded.

An adapter asks `SdkMemory.read` for the call that a request is, puts `body` in the place of the request's own, sends it, and
gives the answer to `watch`. Nothing here raises, and none of it keeps a request waiting for longer than the deadline allows: a
request that can't be read, an engine that fails and one that hangs let the request go as it came.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from threading import Condition, Thread
from typing import TYPE_CHECKING, Any, Generic, TypedDict, TypeVar, Unpack

import httpx2

from germane.dialects.answer_copy import AnswerCopy
from germane.dialects.model_calls import ChangedBody, ModelCall, read_call
from germane.types.checks import check_answer_time, check_optional_text
from germane.types.limits import ID
from germane.types.query import Filters
from germane.types.strategy import Strategy

if TYPE_CHECKING:
    from germane import sync
    from germane.api.agent import Agent

SESSION, USER = OWN_HEADERS = "x-germane-session", "x-germane-user"
"""Headers of a call that name its session and its user. They aren't sent to the provider."""
_GRACE = 0.25
"""Seconds after its deadline at which an assembly counts as hung, and seconds for the fallback then."""
_MAX_HUNG = 4
"""Calls that may hang at once in threads of their own; until one of them ends, requests go as they came."""
_MAX_WAITING = 256
"""Answers that may wait to be recorded."""
_RECORDING = 10.0
"""Seconds after which a recording by a thread counts as hung."""
_FLUSH = 5.0
_LOG = logging.getLogger("germane.integrations")
A = TypeVar("A", "Agent", "sync.Agent")
T = TypeVar("T")
Ended = Callable[[AnswerCopy], None]
"""What gets the copy of an answer when that has ended."""


class Terms(TypedDict, total=False):
    """What an adapter is given beside the agent. `session` is that of calls that name none in a header; with neither, a call
    goes as it came, and so does one that names an empty session. The others are arguments of `assemble`."""

    session: str | None
    deadline: float
    strategy: str | Strategy
    filters: Filters | None
    max_tokens: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCall(Generic[A]):
    """A call of a model, and whom it belongs to."""

    call: ModelCall
    agent: A
    session: str

    def said(self, answer: AnswerCopy) -> list[Mapping[str, Any]]:
        """The call's messages and the model's, for `record`."""
        return [*self.call.messages, *answer.messages(self.call.api)]


class SdkMemory(Generic[A]):
    """The terms of an adapter, and its requests. Raises `InvalidInput` for a session or a deadline that can't be used, at once
    and not in a call."""

    def __init__(
        self,
        agent: A,
        *,
        session: str | None = None,
        deadline: float = 0.25,
        strategy: str | Strategy = "default",
        filters: Filters | None = None,
        max_tokens: int | None = None,
    ) -> None:
        check_optional_text("session", session, ID)
        check_answer_time("deadline", deadline)
        self._agent: A = agent
        self._session, self._deadline = session, deadline
        self._options: dict[str, Any] = {"strategy": strategy, "filters": filters}
        self._limits: dict[str, Any] = {"deadline": deadline, "max_tokens": max_tokens}
        self._warned = False

    def read(self, path: str, headers: Mapping[str, str], body: Mapping[str, Any] | bytes) -> SessionCall[A] | None:
        """Returns the call that a request is; None for a request that goes as it came."""
        try:
            call, session = read_call(path, body), headers.get(SESSION, self._session)
            if call is None or session == "":
                return None
            if session is None:
                raise LookupError(f"give session=, or the header {SESSION}")
            user = headers.get(USER)
            agent = self._agent if user is None else self._agent.within(user=user)
            return SessionCall(call=call, agent=agent, session=session)
        except Exception as error:
            self._warn("remembers nothing for a call", error)
            return None

    def _assembling(self, own: SessionCall[A]) -> Callable[[], Any]:
        """Returns what assembles for a call."""
        return partial(self._asked(own, own.agent.assemble), tools=own.call.tools, **self._limits)

    def _asked(self, own: SessionCall[A], ask: Callable[..., Any]) -> Callable[..., Any]:
        return partial(ask, own.call.messages, session=own.session, **own.call.asking, **self._options)

    def _copy(self, response: httpx2.Response, copied: type[_Copied | _AsyncCopied], ended: Ended) -> None:
        """Calls `ended` once with a successful answer: now where it was read already, else when the SDK has read or closed
        it."""

        def safely(answer: AnswerCopy) -> None:
            try:
                ended(answer)
            except Exception as error:
                self._warn("couldn't record a turn", error)

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

    def _warn(self, what: str, error: BaseException) -> None:
        level = logging.DEBUG if self._warned else logging.WARNING
        self._warned = True
        _LOG.log(level, "germane %s, which went on without it (said once): %r", what, error)


class BlockingMemory(SdkMemory["sync.Agent"]):
    """For the SDKs' blocking clients. Thread-safe."""

    def __init__(self, agent: sync.Agent, **terms: Unpack[Terms]) -> None:
        super().__init__(agent, **terms)
        self._queue = _Queue()
        self._hung = list[Future[Any]]()

    def body(self, own: SessionCall[sync.Agent]) -> ChangedBody | None:
        """Returns the body to send; None for the request's own."""
        try:
            try:
                context = self._within(self._deadline + _GRACE, self._assembling(own))
            except Exception as error:
                self._warn("couldn't assemble for a call", error)
                context = self._within(_GRACE, self._asked(own, own.agent.fallback))
            return own.call.body_with(context)
        except Exception as error:
            self._warn("couldn't write what it knows into a call", error)
            return None

    def watch(self, own: SessionCall[sync.Agent], response: httpx2.Response) -> None:
        """Has the turn recorded once the answer was read or closed. An answer with an error isn't."""

        def record(answer: AnswerCopy) -> None:
            try:
                said = own.said(answer)
                self._within(_RECORDING, lambda: own.agent.record(said, session=own.session))
            except Exception as error:
                self._warn("couldn't record a turn", error)

        def ended(answer: AnswerCopy) -> None:
            if not self._queue.put(lambda: record(answer)):
                self._warn("couldn't record a turn", TimeoutError(f"{_MAX_WAITING} wait already"))

        self._copy(response, _Copied, ended)

    def flush(self, timeout: float = _FLUSH) -> bool:
        """Waits until the answers so far are recorded, for at most `timeout` seconds. Returns whether they are."""
        return self._queue.flush(timeout)

    def _within(self, limit: float, work: Callable[[], T]) -> T:
        """Returns what `work` returns. Raises what it raises, and `TimeoutError` where it takes longer; then it is
        left alone."""
        self._hung = [one for one in self._hung if not one.done()]
        if len(self._hung) >= _MAX_HUNG:
            raise TimeoutError(f"{len(self._hung)} calls hang")
        done: Future[T] = Future()

        def run() -> None:
            try:
                done.set_result(work())
            except BaseException as error:
                done.set_exception(error)

        Thread(target=run, name="germane-sdk", daemon=True).start()
        try:
            return done.result(limit)
        finally:
            if not done.done():
                self._hung.append(done)


class AsyncMemory(SdkMemory["Agent"]):
    """For the SDKs' asynchronous clients."""

    def __init__(self, agent: Agent, **terms: Unpack[Terms]) -> None:
        super().__init__(agent, **terms)
        self._recording = set[asyncio.Task[None]]()

    async def body(self, own: SessionCall[Agent]) -> ChangedBody | None:
        """As that of `BlockingMemory`."""
        try:
            try:
                context = await _finished(self._assembling(own)(), self._deadline + _GRACE)
            except Exception as error:
                self._warn("couldn't assemble for a call", error)
                context = await _finished(self._asked(own, own.agent.fallback)(), _GRACE)
            return own.call.body_with(context)
        except Exception as error:
            self._warn("couldn't write what it knows into a call", error)
            return None

    def watch(self, own: SessionCall[Agent], response: httpx2.Response) -> None:
        """As that of `BlockingMemory`."""

        async def record(answer: AnswerCopy) -> None:
            try:
                await own.agent.record(own.said(answer), session=own.session)
            except Exception as error:
                self._warn("couldn't record a turn", error)

        def ended(answer: AnswerCopy) -> None:
            if len(self._recording) >= _MAX_WAITING:
                self._warn("couldn't record a turn", TimeoutError(f"{_MAX_WAITING} wait already"))
                return
            task = asyncio.get_running_loop().create_task(record(answer))
            self._recording.add(task)
            task.add_done_callback(self._recording.discard)

        self._copy(response, _AsyncCopied, ended)

    async def flush(self, timeout: float = _FLUSH) -> bool:
        """As that of `BlockingMemory`."""
        if not self._recording:
            return True
        return not (await asyncio.wait(set(self._recording), timeout=timeout))[1]


async def _finished(work: Any, limit: float) -> Any:
    """Returns what `work` returns. Raises what it raises, and `TimeoutError` where it takes longer; it is cancelled then, and
    not waited for."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task}, timeout=limit)
    finally:
        if not task.done():
            task.cancel()
            task.add_done_callback(lambda one: one.cancelled() or one.exception())
    if not task.done():
        raise TimeoutError(f"no answer within {limit:g} s")
    return task.result()


class _Queue:
    """Work that a thread does in order. The thread ends when there is none; a process that ends waits for it."""

    def __init__(self) -> None:
        self._waiting = deque[Callable[[], None]]()
        self._thread: Thread | None = None
        self._changed = Condition()

    def put(self, work: Callable[[], None]) -> bool:
        """Returns whether there was room."""
        with self._changed:
            if len(self._waiting) >= _MAX_WAITING:
                return False
            self._waiting.append(work)
            if self._thread is None or not self._thread.is_alive():
                self._thread = Thread(target=self._run, name="germane-sdk-record")
                self._thread.start()
            return True

    def flush(self, timeout: float) -> bool:
        """Returns whether all is done; waits for it for at most `timeout` seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: self._thread is None or not self._thread.is_alive(), timeout)

    def _run(self) -> None:
        while True:
            with self._changed:
                if not self._waiting:
                    self._thread = None
                    self._changed.notify_all()
                    return
                work = self._waiting.popleft()
            work()


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
