"""Memory calls: what adapters share that give an agent memory: assembling in front of a call of a model, recording behind it.

Nothing here raises, and none of it keeps a call waiting for longer than the deadline allows: where the engine fails or hangs,
a call goes on with what earlier turns hold and nothing new, or as it came.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future
from threading import Condition, Thread
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypedDict, TypeVar, Unpack

from germane.api.workers.threads import abandon
from germane.types.checks import check_answer_time, check_optional_text
from germane.types.limits import ID
from germane.types.query import Filters
from germane.types.strategy import Strategy

if TYPE_CHECKING:
    from germane import sync
    from germane.api.agent import Agent
    from germane.types.context import Context

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


class CallTerms(TypedDict, total=False):
    """What an adapter is given beside the agent: arguments of `assemble`."""

    deadline: float
    strategy: str | Strategy
    filters: Filters | None
    max_tokens: int | None


class Terms(CallTerms, total=False):
    """`session` is that of calls that name none themselves; with neither, a call goes as it came, and so does one that names
    an empty session."""

    session: str | None


class MemoryCalls(Generic[A]):
    """The terms of an adapter. Raises `InvalidInput` for a session or a deadline that can't be used, at once and not in a
    call."""

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
        self.agent: A = agent
        self.session = session
        self._deadline = deadline
        self._options = {"strategy": strategy, "filters": filters}
        self._bounds = {"deadline": deadline, "max_tokens": max_tokens}
        self._warned = False

    def session_of(self, named: object) -> str | None:
        """Returns the session of a call: the adapter's own, else the one that the framework names. None where there is none."""
        if self.session is not None:
            return self.session or None
        if isinstance(named, str) and named:
            return named
        self.warn("remembers nothing for a call", LookupError("give session=, or name a conversation in the framework's way"))
        return None

    def safely(self, work: Callable[[], T]) -> T | None:
        """Returns what `work` returns, which reads or writes a framework's own objects; None where it raises."""
        try:
            return work()
        except Exception as error:
            self.warn("can't read or write the messages of a call", error)
            return None

    def warn(self, what: str, error: BaseException) -> None:
        """Logs a warning the first time, and then for debugging."""
        level = logging.DEBUG if self._warned else logging.WARNING
        self._warned = True
        _LOG.log(level, "germane %s, which went on without it (said once): %r", what, error)


class BlockingCalls(MemoryCalls["sync.Agent"]):
    """For an agent of `germane.sync`. Thread-safe."""

    def __init__(self, agent: sync.Agent, **terms: Unpack[Terms]) -> None:
        super().__init__(agent, **terms)
        self._queue = _Queue()
        self._hung = list[Future[Any]]()

    def context(self, agent: sync.Agent, messages: Sequence[Any], asking: Mapping[str, Any], **more: Any) -> Context | None:
        """Returns what is known for a call; where assembling fails or hangs, what earlier turns hold, and None where that does.
        `asking` are arguments of `assemble` and of `fallback`, `more` are of `assemble` alone."""
        try:
            try:
                given: dict[str, Any] = {**asking, **more, **self._options, **self._bounds}
                return self._within(self._deadline + _GRACE, lambda: agent.assemble(messages, **given))
            except Exception as error:
                self.warn("couldn't assemble for a call", error)
                again: dict[str, Any] = {**asking, **self._options}
                return self._within(_GRACE, lambda: agent.fallback(messages, **again))
        except Exception as error:
            self.warn("couldn't read what earlier turns hold", error)
            return None

    async def acontext(
        self, agent: sync.Agent, messages: Sequence[Any], asking: Mapping[str, Any], **more: Any
    ) -> Context | None:
        """As `context`, without blocking the event loop."""
        return await asyncio.to_thread(self.context, agent, messages, asking, **more)

    def record(self, agent: sync.Agent, said: Callable[[], Sequence[Any]], session: str) -> None:
        """Has recorded what `said` returns, later, in order, and by another thread."""

        def record() -> None:
            try:
                self._within(_RECORDING, lambda: agent.record(said(), session=session))
            except Exception as error:
                self.warn("couldn't record a turn", error)

        if not self._queue.put(record):
            self.warn("couldn't record a turn", TimeoutError(f"{_MAX_WAITING} wait already"))

    def flush(self, timeout: float = _FLUSH) -> bool:
        """Waits until what was said so far is recorded, for at most `timeout` seconds. Returns whether it is."""
        return self._queue.flush(timeout)

    async def aflush(self, timeout: float = _FLUSH) -> bool:
        """As `flush`, without blocking the event loop."""
        return await asyncio.to_thread(self.flush, timeout)

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

        Thread(target=run, name="germane-memory", daemon=True).start()
        try:
            return done.result(limit)
        finally:
            if not done.done():
                self._hung.append(done)


class AsyncCalls(MemoryCalls["Agent"]):
    """For an agent of `germane.Germane`, in its event loop."""

    def __init__(self, agent: Agent, **terms: Unpack[Terms]) -> None:
        super().__init__(agent, **terms)
        self._recording = set[asyncio.Task[None]]()
        self._last: asyncio.Task[None] | None = None

    async def context(self, agent: Agent, messages: Sequence[Any], asking: Mapping[str, Any], **more: Any) -> Context | None:
        """As that of `BlockingCalls`."""
        try:
            try:
                given: dict[str, Any] = {**asking, **more, **self._options, **self._bounds}
                return await _finished(agent.assemble(messages, **given), self._deadline + _GRACE)
            except Exception as error:
                self.warn("couldn't assemble for a call", error)
                again: dict[str, Any] = {**asking, **self._options}
                return await _finished(agent.fallback(messages, **again), _GRACE)
        except Exception as error:
            self.warn("couldn't read what earlier turns hold", error)
            return None

    acontext = context

    def record(self, agent: Agent, said: Callable[[], Sequence[Any]], session: str) -> None:
        """Has recorded what `said` returns, later and in order."""
        if len(self._recording) >= _MAX_WAITING:
            self.warn("couldn't record a turn", TimeoutError(f"{_MAX_WAITING} wait already"))
            return

        async def record(before: asyncio.Task[None] | None) -> None:
            if before is not None:
                await asyncio.wait({before}, timeout=_RECORDING)
            try:
                await agent.record(said(), session=session)
            except Exception as error:
                self.warn("couldn't record a turn", error)

        task = asyncio.get_running_loop().create_task(record(self._last))
        self._recording.add(task)
        self._last = task
        task.add_done_callback(self._forget)

    async def flush(self, timeout: float = _FLUSH) -> bool:
        """As that of `BlockingCalls`."""
        if not self._recording:
            return True
        return not (await asyncio.wait(set(self._recording), timeout=timeout))[1]

    aflush = flush

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._recording.discard(task)
        if self._last is task:
            self._last = None


async def _finished(work: Awaitable[T], limit: float) -> T:
    """Returns what `work` returns. Raises what it raises, and `TimeoutError` where it takes longer; it is cancelled then, and
    not waited for."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task}, timeout=limit)
    finally:
        abandon(task)
    if not task.done():
        raise TimeoutError(f"no answer within {limit:g} s")
    return task.result()


def calls_of(agent: Agent | sync.Agent, terms: Terms) -> AsyncCalls | BlockingCalls:
    """Returns the calls for an agent of `germane.Germane`, or of `germane.sync`."""
    from germane import sync

    return BlockingCalls(agent, **terms) if isinstance(agent, sync.Agent) else AsyncCalls(agent, **terms)


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
                self._thread = Thread(target=self._run, name="germane-record")
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


# What a framework sends: its own messages, and what is known between them.


class PlacedMessage(NamedTuple):
    """A message to send: the framework's of number `origin`, or a text that germane adds, with the role system or user."""

    origin: int | None
    role: str = ""
    text: str = ""


class PlacedMessages(NamedTuple):
    """What to send. `stable` goes in front of the framework's own system prompt."""

    stable: str
    messages: list[PlacedMessage]


def placed(context: Context | None, given: Sequence[Mapping[str, Any]], system: str | None = None) -> PlacedMessages | None:
    """Returns where a framework's messages and germane's texts stand. `given` are the messages that were assembled, in the
    shape of OpenAI, `system` is the system prompt beside them. None where nothing is added, and where the messages aren't those
    given, in their order."""
    if context is None or not (context.added or context.earlier):
        return None
    own = {id(message) for message in given}
    earlier = {one.text for one in context.earlier}
    messages: list[PlacedMessage] = []
    found = 0
    for message in context.messages:
        fields = message if isinstance(message, Mapping) else {}
        role, text = fields.get("role"), fields.get("content")
        # a message that isn't the very object was written anew, without a key that the provider refuses
        if id(message) not in own and role in ("system", "user") and isinstance(text, str):
            if role == "system" and text in (context.stable, system):
                continue
            if text and (text in earlier or text in context.added):
                messages.append(PlacedMessage(None, role, text))
                continue
        messages.append(PlacedMessage(found))
        found += 1
    return PlacedMessages(context.stable, messages) if found == len(given) else None
