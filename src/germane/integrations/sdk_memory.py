"""SDK memory: what the adapters of the providers' SDKs share: one request to a model, what goes into it, and what is recorded.

An adapter asks `SdkMemory.read` for the call that a request is, puts `body` in the place of the request's own, sends it, and
gives the answer to `watch`. Nothing here raises, and none of it keeps a request waiting for longer than the deadline allows: a
request that can't be read, an engine that fails and one that hangs let the request go as it came.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from threading import Condition, Thread
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, TypedDict, TypeVar, Unpack

import httpx2

from germane.dialects.registry import parse_all
from germane.dialects.replies import read_reply
from germane.types.checks import check_answer_time, check_optional_text
from germane.types.limits import ID
from germane.types.message import is_human
from germane.types.query import Filters
from germane.types.strategy import Strategy

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
_GRACE = 0.25
"""Seconds after its deadline at which an assembly counts as hung, and seconds for the fallback then."""
_MAX_HUNG = 4
"""Calls that may hang at once in threads of their own; until one of them ends, requests go as they came."""
_MAX_WAITING = 256
"""Answers that may wait to be recorded."""
_MAX_COPY = 16 * 2**20
"""Bytes of an answer; a longer one is relayed and not recorded."""
_RECORDING = 10.0
"""Seconds after which a recording by a thread counts as hung."""
_FLUSH = 5.0
_LOG = logging.getLogger("germane.integrations")
A = TypeVar("A", "Agent", "sync.Agent")
T = TypeVar("T")


class Terms(TypedDict, total=False):
    """What an adapter is given beside the agent. `session` is that of calls that name none in a header; with neither, a call
    goes as it came, and so does one that names an empty session. The others are arguments of `assemble`."""

    session: str | None
    deadline: float
    strategy: str | Strategy
    filters: Filters | None
    max_tokens: int | None


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
        self._session, self._deadline, self._max_tokens = session, deadline, max_tokens
        self._options = {"strategy": strategy, "filters": filters}
        self._warned = False

    def read(self, path: str, headers: Mapping[str, str], body: Mapping[str, Any] | bytes) -> ModelCall[A] | None:
        """Returns the call that a request is; None for a request that goes as it came."""
        try:
            api = next((api for ending, api in _APIS.items() if path.partition("?")[0].endswith(ending)), None)
            fields = json.loads(body) if isinstance(body, bytes) and api else body
            if api is None or not isinstance(fields, Mapping) or not isinstance(fields.get("model"), str):
                return None
            given = fields.get("input" if api == "openai-responses" else "messages")
            messages = [{"role": "user", "content": given}] if isinstance(given, str) else given
            session = headers.get(SESSION, self._session)
            if not messages or not isinstance(messages, list | tuple) or session == "":
                return None
            if session is None:
                raise LookupError(f"give session=, or the header {SESSION}")
            held = _mapping(fields.get("thread")).get("type") == "continue" or any(
                fields.get(name) for name in ("previous_response_id", "conversation") if api == "openai-responses"
            )
            user = headers.get(USER)
            agent = self._agent if user is None else self._agent.within(user=user)
            return ModelCall(api=api, agent=agent, session=session, body=fields, messages=messages, held=held)
        except Exception as error:
            self._warn("remembers nothing for a call", error)
            return None

    def _assembling(self, call: ModelCall[A]) -> dict[str, Any]:
        tools = call.body.get("tools")
        given = {"tools": tools} if isinstance(tools, list | tuple) and not call.held else {}
        return call.asking | given | self._options | {"deadline": self._deadline, "max_tokens": self._max_tokens}

    def _falling_back(self, call: ModelCall[A]) -> dict[str, Any]:
        return call.asking | self._options

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
                self._warn("couldn't record a turn", error)

        if not response.is_success:
            return
        answer = ReadAnswer(headers=response.headers)
        try:
            body = response.content
        except httpx2.ResponseNotRead:
            response.stream = copied(response.stream, answer, safely)
        else:
            safely(replace(answer, body=body, is_decoded=True))

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

    def body(self, call: ModelCall[sync.Agent]) -> dict[str, Any] | None:
        """Returns the body to send; None for the call's own."""
        try:
            try:
                assembling = self._assembling(call)
                context = self._within(self._deadline + _GRACE, lambda: call.agent.assemble(call.messages, **assembling))
            except Exception as error:
                self._warn("couldn't assemble for a call", error)
                again = self._falling_back(call)
                context = self._within(_GRACE, lambda: call.agent.fallback(call.messages, **again))
            return call.body_with(context)
        except Exception as error:
            self._warn("couldn't write what it knows into a call", error)
            return None

    def watch(self, call: ModelCall[sync.Agent], response: httpx2.Response) -> None:
        """Has the turn recorded once the answer was read or closed. An answer with an error isn't."""

        def record(answer: ReadAnswer) -> None:
            try:
                said = self._said(call, answer)
                self._within(_RECORDING, lambda: call.agent.record(said, session=call.session))
            except Exception as error:
                self._warn("couldn't record a turn", error)

        def ended(answer: ReadAnswer) -> None:
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

    async def body(self, call: ModelCall[Agent]) -> dict[str, Any] | None:
        """As that of `BlockingMemory`."""
        try:
            try:
                assembling = call.agent.assemble(call.messages, **self._assembling(call))
                context = await _finished(assembling, self._deadline + _GRACE)
            except Exception as error:
                self._warn("couldn't assemble for a call", error)
                context = await _finished(call.agent.fallback(call.messages, **self._falling_back(call)), _GRACE)
            return call.body_with(context)
        except Exception as error:
            self._warn("couldn't write what it knows into a call", error)
            return None

    def watch(self, call: ModelCall[Agent], response: httpx2.Response) -> None:
        """As that of `BlockingMemory`."""

        async def record(answer: ReadAnswer) -> None:
            try:
                await call.agent.record(self._said(call, answer), session=call.session)
            except Exception as error:
                self._warn("couldn't record a turn", error)

        def ended(answer: ReadAnswer) -> None:
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


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


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
