"""Recorder: records turns after their replies, off the way of every call, each once (PROXY-1).

`offer` only puts a turn into a queue. A thread reads the reply, tells what of the conversation is new, and writes that to the
spool. The engine's loop records it, and the entry is removed after the commit. So a turn is lost where the process is killed
within the milliseconds before its entry is written, and never recorded twice: each message has an id that follows from its
place in the conversation. Entries of one session are recorded in order.

A store that fails is asked again, with growing pauses, until an entry is a day old. What was forgotten as a whole since its
turn was asked isn't recorded (`germane.kinds.conversations.aliases`).
"""

from __future__ import annotations

import asyncio
import json
import logging
from base64 import b64decode, b64encode
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from germane.api.germane import Germane
from germane.clock import Clock
from germane.dialects.answer_copy import AnswerCopy
from germane.dialects.model_calls import ModelCall
from germane.dialects.registry import parse_all
from germane.errors import GermaneError, InvalidInput
from germane.kinds.conversations.aliases import ForgottenMeanwhile, SessionAlias
from germane.service.proxy.conversation_state import (
    ConversationState,
    answer_in,
    first_new,
    message_ids,
    state_of,
)
from germane.service.proxy.sessions import Sessions, keeps_answer, previous_answer
from germane.service.proxy.spool import Spool, SpoolEntry
from germane.types.caches import LruCache
from germane.types.scope import Scope
from germane.types.traffic import UNRECORDED

T = TypeVar("T")

MAX_AGE = timedelta(days=1)
"""How long an entry is tried."""
_MAX_INBOX, _MAX_INBOX_BYTES = 1_024, 64 * 2**20
"""Turns that may wait to be written to the spool, and the bytes of their requests and replies."""
_AT_ONCE = 32
"""Sessions that are recorded at once."""
_MAX_TRIES = 8
"""Tries of an entry whose recording fails, where it isn't the store that fails."""
_FIRST_PAUSE, _MAX_PAUSE = 0.5, 60.0
"""Seconds until a failing store is asked again: the first time, and at most. The pause doubles."""
_ADOPT_SECONDS = 60.0
"""Between two looks for entries of processes that are gone."""
_CANCEL_SECONDS = 1.0
"""For recordings that are cut off when the recorder closes."""
_MAX_GAPS = 1_024
"""Sessions that are known to lack a turn."""
_LOG = logging.getLogger("germane.service")

_Key = tuple[str, str, str | None, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A call and its answer. `messages` are the request's; where the provider holds the conversation (`held`), they are the new
    ones, and `previous` is the answer that they go on from. `answer` is a copy of the answer, or its messages in the shape of
    `api`; with messages, `answer_id` is the id that the provider gave to it. `continuable` says that the provider may be asked
    to go on from it. `size` is about how many bytes the turn holds.
    """

    scope: Scope
    session: str
    api: str
    messages: Sequence[Mapping[str, Any]]
    answer: AnswerCopy | Sequence[Mapping[str, Any]]
    asked_at: datetime
    answered_at: datetime
    held: bool = False
    previous: str | None = None
    continuable: bool = False
    answer_id: str | None = None
    size: int = 0

    @classmethod
    def of(
        cls,
        scope: Scope,
        session: str,
        call: ModelCall,
        answer: AnswerCopy | Sequence[Mapping[str, Any]],
        *,
        asked_at: datetime,
        answered_at: datetime,
        size: int = 0,
    ) -> Turn:
        return cls(
            scope=scope,
            session=session,
            api=call.api,
            messages=call.messages,
            answer=answer,
            asked_at=asked_at,
            answered_at=answered_at,
            held=call.held,
            previous=previous_answer(call),
            continuable=keeps_answer(call),
            size=size,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RecorderCounts:
    """`waiting` are the turns that aren't recorded yet; `recorded` and `dropped` (by the reasons in `UNRECORDED`) count since
    the start."""

    waiting: int
    recorded: int
    dropped: Mapping[str, int]


class Recorder:
    """Made and opened on the engine's loop; `offer` and `counts` may be called in any thread. `folder` is that of the spool;
    with None what waits is lost with the process."""

    def __init__(
        self,
        germane: Germane,
        sessions: Sessions,
        folder: Path | None,
        clock: Clock,
        *,
        spool: Spool | None = None,
        max_age: timedelta = MAX_AGE,
    ) -> None:
        self._germane, self._sessions, self._clock, self._max_age = germane, sessions, clock, max_age
        self._spool = Spool(folder) if spool is None else spool
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="germane-recorder")
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = Lock()
        self._inbox, self._inbox_bytes = deque[Turn](), 0
        self._gaps: LruCache[_Key, None] = LruCache(_MAX_GAPS)
        self._queues = dict[_Key, deque[_Waiting]]()
        self._ready, self._active = deque[_Key](), dict[_Key, asyncio.Task[None]]()
        self._pause, self._resuming = 0.0, None
        self._failing = False
        self._adopting: asyncio.TimerHandle | None = None
        self._idle = asyncio.Event()
        self._idle.set()
        self._is_open = self._closing = False
        self._recorded, self._on_the_way = 0, 0
        self._dropped = Counter[str](dict.fromkeys(UNRECORDED, 0))
        self._logged = set[str]()

    _resuming: asyncio.TimerHandle | None

    # For the port: any thread.

    def offer(self, turn: Turn) -> None:
        """Has the turn recorded. Takes constant time and never raises."""
        try:
            with self._lock:
                if not self._is_open or self._closing:
                    self._drop("closed")
                    return
                if len(self._inbox) >= _MAX_INBOX or self._inbox_bytes + turn.size > _MAX_INBOX_BYTES:
                    self._drop("full")
                    self._gaps.put(_key(turn.scope, turn.session), None)
                    return
                self._inbox.append(turn)
                self._inbox_bytes += turn.size
                self._on_the_way += 1
            self._thread.submit(self._take)
        except Exception as error:
            self._log("offering", "couldn't take a turn", error)

    @property
    def counts(self) -> RecorderCounts:
        """What became of the turns so far."""
        with self._lock:
            return RecorderCounts(
                waiting=self._on_the_way + len(self._spool), recorded=self._recorded, dropped=dict(self._dropped)
            )

    # The thread: reads replies, and is the only one that uses the spool.

    def _take(self) -> None:
        with self._lock:
            turn = self._inbox.popleft()
            self._inbox_bytes -= turn.size
        try:
            self._write(turn)
        except GermaneError as error:
            self._drop_one("refused", error)
        except Exception as error:
            self._note_gap(turn)
            self._drop_one("failed", error)
        finally:
            with self._lock:
                self._on_the_way -= 1
            self._call(self._settle)

    def _note_gap(self, turn: Turn) -> None:
        """Has the whole conversation recorded with the session's next turn."""
        with self._lock:
            self._gaps.put(_key(turn.scope, turn.session), None)

    def _write(self, turn: Turn) -> None:
        key = _key(turn.scope, turn.session)
        with self._lock:
            gap = key in self._gaps
            self._gaps.pop(key, None)
        content = entry_of(turn, self._sessions, whole=gap)
        if content is None:
            return
        entry = self._spool.put(content)
        if entry is None:
            self._note_gap(turn)
            self._drop_one("full", None)
            return
        self._call(self._arrived, key, _Waiting(entry, self._recorded))

    def _start(self, adopt: Callable[[], Sequence[SpoolEntry]]) -> None:
        """Queues the entries of processes that are gone."""
        try:
            found = adopt()
        except Exception as error:
            self._log("adopting", "can't look for what was left", error)
            return
        for entry in found:
            try:
                content = self._spool.read(entry)
                if content is None:
                    self._drop_one("broken", None)
                    continue
                key = _key_in(content)
            except Exception as error:
                self._spool.set_aside(entry)
                self._drop_one("broken", error)
                continue
            self._call(self._arrived, key, _Waiting(entry, self._recorded))
        self._call(self._settle)

    def _call(self, function: Callable[..., object], *arguments: Any) -> None:
        assert self._loop is not None
        with suppress(RuntimeError):  # the loop has ended: what is on disk stays there
            self._loop.call_soon_threadsafe(function, *arguments)

    # The engine's loop: records.

    def open(self) -> None:
        """Begins to record, with what was left on disk. Returns at once."""
        self._loop = asyncio.get_running_loop()
        self._is_open = True
        now = int(self._clock.now().timestamp() * 1000)
        self._thread.submit(self._start, lambda: self._spool.open(now))
        self._adopting = self._loop.call_later(_ADOPT_SECONDS, self._adopt)

    async def flush(self, timeout: float) -> bool:
        """Waits until nothing waits any more, for at most `timeout` seconds. Returns whether that is so."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                while True:
                    await self._in_thread(lambda: None)
                    await self._idle.wait()
                    with self._lock:
                        if not self._on_the_way:
                            return True
        return False

    async def close(self, grace: float) -> None:
        """Takes no more turns, and records what waits, for at most `grace` seconds. The rest stays on disk; what waits in
        memory alone is lost, and counted. Idempotent."""
        with self._lock:
            if not self._is_open or self._closing:
                return
        if self._adopting is not None:
            self._adopting.cancel()
        await self.flush(grace)
        with self._lock:
            self._closing = True
        if self._resuming is not None:
            self._resuming.cancel()
        active = list(self._active.values())
        for task in active:
            task.cancel()
        if active:
            await asyncio.wait(active, timeout=_CANCEL_SECONDS)
        await self._in_thread(lambda: None)  # what is in the inbox is written to the disk
        lost = self._spool.in_memory
        await self._in_thread(self._spool.close)
        for _ in range(lost):
            self._drop_one("closed", None)
        self._thread.shutdown(wait=False)

    def _adopt(self) -> None:
        if self._loop is not None and not self._closing:
            self._thread.submit(self._start, self._spool.adopt)
            self._adopting = self._loop.call_later(_ADOPT_SECONDS, self._adopt)

    def _arrived(self, key: _Key, waiting: _Waiting) -> None:
        self._idle.clear()
        queue = self._queues.setdefault(key, deque())
        queue.append(waiting)
        if len(queue) == 1 and key not in self._active:
            self._ready.append(key)
        self._pump()

    def _pump(self) -> None:
        while self._ready and self._resuming is None and not self._closing:
            if len(self._active) >= (1 if self._failing else _AT_ONCE):
                return
            key = self._ready.popleft()
            task = asyncio.ensure_future(self._next(key))
            self._active[key] = task

    async def _next(self, key: _Key) -> None:
        """Records the oldest entry of a session."""
        waiting = self._queues[key][0]
        done = False
        try:
            done = await self._tried(waiting)
        finally:
            del self._active[key]
            if done:
                self._queues[key].popleft()
            if self._queues[key]:
                self._ready.append(key)
            else:
                del self._queues[key]
            self._settle()

    def _settle(self) -> None:
        self._pump()
        if not self._queues:
            self._idle.set()

    async def _tried(self, waiting: _Waiting) -> bool:
        """Records an entry. Returns whether it is done with, whatever became of it."""
        try:
            outcome = await self._recorded_as(waiting.entry)
        except ForgottenMeanwhile as error:
            outcome = self._drop_one("forgotten", error)
        except InvalidInput as error:
            outcome = self._drop_one("refused", error)
        except Exception as error:
            waiting.tries += 1
            if waiting.tries < _MAX_TRIES or self._recorded == waiting.recorded:
                self._back_off(error)
                return False
            outcome = self._drop_one("failed", error)
        if outcome == "recorded":
            with self._lock:
                self._recorded += 1
            self._pause, self._failing = 0.0, False
        await self._in_thread(lambda: self._spool.remove(waiting.entry))
        return True

    async def _recorded_as(self, entry: SpoolEntry) -> str:
        content = await self._in_thread(lambda: self._spool.read(entry))
        if content is None:
            return self._drop_one("broken", None)
        try:
            kept = KeptTurn.of(content)
        except Exception as error:
            await self._in_thread(lambda: self._spool.set_aside(entry))
            return self._drop_one("broken", error)
        if self._clock.now() - kept.at > self._max_age:
            return self._drop_one("expired", None)
        scope = kept.scope
        agent = self._germane.agent(scope.agent, org=scope.org, user=scope.user, zone=scope.zone)
        at_once = list[Awaitable[object]]()  # so that they are written in one transaction
        if kept.messages:
            at_once.append(agent.record(kept.messages, session=kept.session, said_at=kept.at))
        if kept.aliases:
            at_once.append(agent.conversations.add_aliases(kept.session, kept.aliases, ended=kept.ended, at=kept.at))
        for outcome in await asyncio.gather(*at_once, return_exceptions=True):
            if isinstance(outcome, BaseException):
                raise outcome
        return "recorded"

    def _back_off(self, error: Exception) -> None:
        """Waits before the store is asked again; then one entry is tried first."""
        self._log("recording", "can't record a turn, and tries again", error)
        self._failing = True
        if self._resuming is None and self._loop is not None and not self._closing:
            self._pause = min(_MAX_PAUSE, 2 * self._pause or _FIRST_PAUSE)
            self._resuming = self._loop.call_later(self._pause, self._resume)

    def _resume(self) -> None:
        self._resuming = None
        self._pump()

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def _drop_one(self, reason: str, error: Exception | None) -> str:
        with self._lock:
            self._drop(reason)
        self._log(reason, "didn't record a turn of the proxy", error)
        return reason

    def _drop(self, reason: str) -> None:
        self._dropped[reason] += 1

    def _log(self, about: str, what: str, error: Exception | None) -> None:
        """Logs a kind of event once. No error's text is logged: it may hold what was said. `what` is a constant of the
        caller's code, or the service's log leaves it out."""
        level = logging.DEBUG if about in self._logged else logging.WARNING
        self._logged.add(about)
        _LOG.log(level, what, stacklevel=2, extra={"error": error})


@dataclass(slots=True)
class _Waiting:
    entry: SpoolEntry
    recorded: int
    """How many entries were recorded when it came."""
    tries: int = 0


def _key(scope: Scope, session: str) -> _Key:
    return scope.org, scope.agent, scope.user, session


# What an entry holds: a line that says whose it is, and what is to be recorded.


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptTurn:
    """What is to be recorded of a turn that was asked `at` this time."""

    scope: Scope
    session: str
    at: datetime
    messages: Sequence[Mapping[str, Any]]
    aliases: Sequence[SessionAlias] = ()
    ended: Sequence[str] = ()

    @classmethod
    def of(cls, content: bytes) -> KeptTurn:
        """The inverse of `as_bytes`. Raises for content that isn't of that form."""
        head, _, rest = content.partition(b"\n")
        org, agent, user, session, zone = json.loads(head)
        fields = json.loads(rest)
        return cls(
            scope=Scope(org=org, agent=agent, user=user, zone=zone),
            session=session,
            at=datetime.fromisoformat(fields["at"]),
            messages=fields["messages"],
            aliases=[SessionAlias(alias=alias, turns=b64decode(turns)) for alias, turns in fields["aliases"]],
            ended=fields["ended"],
        )

    def as_bytes(self) -> bytes:
        scope = self.scope
        head = json.dumps([scope.org, scope.agent, scope.user, self.session, scope.zone])
        fields = {
            "at": self.at.isoformat(),
            "messages": self.messages,
            "aliases": [[one.alias, b64encode(one.turns).decode()] for one in self.aliases],
            "ended": list(self.ended),
        }
        return f"{head}\n{json.dumps(fields)}".encode()


def _key_in(content: bytes) -> _Key:
    org, agent, user, session, _ = json.loads(content.partition(b"\n")[0])
    return org, agent, user, session


def entry_of(turn: Turn, sessions: Sessions, *, whole: bool = False) -> bytes | None:
    """Returns the entry of a turn: what its session lacks of the request's messages, or all of them with `whole`, and those of
    the answer; None where there is nothing to record. Raises `InvalidInput` for messages that can't be read."""
    said = parse_all(turn.messages, turn.api)
    reply, id = _read(turn)
    answered = parse_all(reply, turn.api)
    key, scope = sessions.key, turn.scope
    before = ConversationState() if turn.held else state_of(said, key)
    after = before.answered(answer_in(answered), key)
    ahead = None if whole or turn.held else sessions.ahead(scope, turn.session, before)
    start = 0 if ahead is None else first_new(said, ahead)
    learnt = sessions.learn(scope, turn.session, before, after, answer=id if turn.continuable else None)
    base = turn.previous or id or turn.asked_at.isoformat() if turn.held else ""
    ids = message_ids((*said, *answered), key, after=base)
    new = [
        {**raw, "id": ids[index]} for index, raw in enumerate(turn.messages) if index >= start and said[index].role != "system"
    ]
    first = max(turn.answered_at, turn.asked_at + timedelta(microseconds=len(new)))
    for number, (raw, id) in enumerate(zip(reply, ids[len(said) :], strict=True)):
        new.append({**raw, "id": id, "created_at": (first + timedelta(microseconds=number)).isoformat()})
    if not (new or learnt.aliases):
        return None
    return KeptTurn(
        scope=scope, session=turn.session, at=turn.asked_at, messages=new, aliases=learnt.aliases, ended=learnt.ended
    ).as_bytes()


def _read(turn: Turn) -> tuple[Sequence[Mapping[str, Any]], str | None]:
    """The messages of the answer, and its id. An answer that can't be read has no messages."""
    if isinstance(turn.answer, Sequence):
        return turn.answer, turn.answer_id
    try:
        return turn.answer.read(turn.api)
    except Exception:
        return (), None
