"""Extraction worker: has a language model read new messages in the background, and stores what it finds (MEM-7, GRAPH-2).

Messages wait in the store's queue until they are read, so that a restart loses nothing. Neither `record` nor `assemble` waits
for the model.
"""

from __future__ import annotations

import asyncio
import random
import secrets
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from typing import Any

from germane.api.workers.batch_writers import LLMBudget, today
from germane.clock import Clock
from germane.errors import GermaneError, LLMError, StoreError
from germane.extraction.llm.answer import Accepted, Unusable, accept_answer
from germane.extraction.llm.entities import GraphReading, accepted_graph, graph_question
from germane.extraction.llm.plans import store_accepted
from germane.extraction.llm.prompt import SCHEMA, KnownStatement, instructions, known_things, prompt
from germane.extraction.llm.queue import (
    BeginQueue,
    Claim,
    ClaimsWait,
    QueueReport,
    QueueState,
    ReleaseClaim,
    ReleaseClaims,
    lease_next,
)
from germane.kinds.events.value import Event
from germane.kinds.memories.reads import ListMemories
from germane.kinds.profile.offer import MAX_OFFERED, offered_lines
from germane.kinds.profile.reads import ToldClause
from germane.ports.batch_writer import stopped
from germane.ports.models import LLM, Completion
from germane.stores.contract import ScopedStore, Store
from germane.types.plan import store_change
from germane.types.query import Filters, Query
from germane.types.reports import ExtractionRun
from germane.types.scope import Scope

_LANES, _AT_ONCE = 4, 4
"""Sessions that are read at once, and messages whose entities are read at once."""
_POLL, _MAX_PAUSE = 5.0, 600.0
"""Seconds between two looks at the queue, and at most while the endpoint fails; the pause doubles."""
_CALL, _LEASE = 300.0, timedelta(minutes=10)
"""How long a call may take, with the endpoint's own retries, and after which time another worker takes its messages over."""
_TRIES, _FIRST_RETRY, _MAX_RETRY = 5, timedelta(minutes=1), timedelta(hours=6)
"""Failures after which messages are parked, and the time until the second try, which grows fourfold, and at most."""
_MAX_KNOWN = 200
"""Memories of the user, the newest, among which the ones to send are chosen."""
_MAX_ANSWER = 4_096
"""Tokens of an answer."""


Progress = Callable[[int], None]
"""Called with the number of messages read so far."""


class ExtractionWorker:
    """One task on the event loop from `start` to `close`. Any number of workers, in any number of processes, may share a store:
    a session is read by one of them at a time. With `entities`, the model is asked about the entities of each message too.
    `settle` gives new memories their vectors. `sleep`, `jitter` (0 to 1) and `word`
    (a word that nobody can know) can be replaced in tests."""

    def __init__(
        self,
        store: Store,
        llm: LLM,
        clock: Clock,
        *,
        budget: LLMBudget | None = None,
        entities: bool = False,
        settle: Callable[[], Awaitable[None]] | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
        word: Callable[[], str] = lambda: secrets.token_hex(8),
    ) -> None:
        self._store, self.llm, self._clock = store, llm, clock
        self.budget = budget or LLMBudget(store, clock)
        self._entities, self._settle = entities, settle
        self._sleep, self._jitter, self._word = sleep, jitter, word
        self._holder, self._gate = word(), asyncio.Semaphore(_AT_ONCE)
        self.total = ExtractionRun()
        """What was done since the worker was made; `stopped` says what it waits for now."""
        self.report = QueueReport()
        """The queue as it was after the last run."""
        self._task: asyncio.Task[None] | None = None
        self._runs = 0
        """Runs under way that somebody asked for; the worker's own wait for them."""

    async def start(self) -> None:
        """Begins to look at the queue, after some seconds. The first time, the messages that are recorded from now on belong
        into it. Asks the model nothing yet, and raises nothing."""
        if not self._store.read_only:
            with suppress(StoreError):
                await self._store.commit(store_change(BeginQueue()))
            self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Stops. What was under way is read again by the next worker. Idempotent."""
        task, self._task = self._task, None
        if task is not None:
            await stopped([task])
            with suppress(StoreError):
                await self._store.commit(store_change(ReleaseClaims(self._holder)))

    async def drain(
        self, within: Scope | None = None, *, eager: bool = False, progress: Progress | None = None
    ) -> ExtractionRun:
        """Reads what is due, until nothing is or the endpoint fails. With `eager` it doesn't wait for sessions to fall silent.
        `progress` gets the number of messages read so far. Raises `StoreError`."""
        self._runs += 1
        try:
            return await self._drained(within, eager, progress)
        finally:
            self._runs -= 1

    async def _drained(self, within: Scope | None, eager: bool, progress: Progress | None) -> ExtractionRun:
        done = ExtractionRun()
        try:
            async with asyncio.TaskGroup() as lanes:
                for _ in range(_LANES):
                    lanes.create_task(self._lane(done, within, eager, progress))
        except BaseExceptionGroup as group:
            error = next((one for one in group.exceptions if isinstance(one, GermaneError)), None)
            raise error or group.exceptions[0] from None
        finally:
            self._add(done)
        if done.memories and self._settle is not None:
            await self._settle()
        self.report = await self._store.ask(QueueState(today(self._clock)))
        return done

    async def _run(self) -> None:
        pause = _POLL
        while True:
            await self._sleep(pause)
            if self._runs:
                continue
            try:
                stopped = (await self._drained(None, eager=False, progress=None)).stopped
            except Exception as error:  # the store may be busy or full for a while
                self.total.stopped = stopped = type(error).__name__
            pause = min(_MAX_PAUSE, 2 * pause) if stopped else _POLL

    async def _lane(self, done: ExtractionRun, within: Scope | None, eager: bool, progress: Progress | None) -> None:
        while not done.stopped:
            if reason := await self.budget.used_up():
                done.stopped = reason
                return
            claim = await self._claim(within, eager)
            if claim is None:
                return
            await self._read(claim, done)
            if progress is not None:
                progress(done.messages)

    async def _claim(self, within: Scope | None, eager: bool) -> Claim | None:
        now = self._clock.now()
        if not await self._store.ask(ClaimsWait(now=now, within=within, eager=eager)):
            return None
        return await self._store.commit(lease_next(self._holder, now=now, until=now + _LEASE, within=within, eager=eager))

    async def _read(self, claim: Claim, done: ExtractionRun) -> None:
        scoped = self._store.within(claim.scope)
        if not claim.turns:
            await scoped.commit(store_accepted(claim, Accepted()))
            return
        known, word = await self._known(scoped, claim), self._word()
        try:
            system, text = instructions(word), prompt(claim, known, word)
            completion = await self._asked(system, text, max_tokens=_MAX_ANSWER, schema=SCHEMA)
        except LLMError as error:
            await self._spend(claim, error.spent, done)
            await self._failed(claim, str(error), done, of_endpoint=error.of_endpoint)
            return
        await self._spend(claim, (completion.input_tokens, completion.output_tokens), done)
        try:
            answer = accept_answer(completion.text, claim, model=completion.model, known=known)
        except Exception as error:  # whatever is wrong with one answer, the messages of others don't wait for it
            await self._failed(claim, _reason_of(error), done)
            return
        try:
            readings = await self._graphs(claim, done) if self._entities else {}
        except LLMError as error:
            await self._failed(claim, str(error), done, of_endpoint=True)
            return
        stored = await scoped.commit(store_accepted(claim, answer, readings))
        if stored is not None:
            done.messages += len(claim.turns)
            done.memories += len(stored.memories)
            done.ended += len(stored.ended)
            done.entities += sum(len(reading.entities) for reading in readings.values())
            done.rejected += answer.rejected + sum(reading.rejected for reading in readings.values())

    async def _known(self, scoped: ScopedStore, claim: Claim) -> list[KnownStatement]:
        """What the model is told of the user: nothing sensitive, and nothing of anybody else's."""
        now = self._clock.now()
        page = await scoped.ask(ListMemories(Filters(), at=now, limit=_MAX_KNOWN))
        offered = await offered_lines(scoped, Query(text="", at=now), MAX_OFFERED)
        own = {memory.id: memory for memory in page.memories if memory.user == claim.scope.user}
        lines = [one.line for one in offered.lines if isinstance(one.thing, ToldClause) or one.line.id in own]
        return known_things(list(own.values()), lines, claim)

    async def _graphs(self, claim: Claim, done: ExtractionRun) -> dict[str, GraphReading]:
        """What the model finds in each message, by its id. A message on which it fails, or for which the time doesn't suffice,
        has an empty reading: the memories don't wait for it. Raises `LLMError` where the endpoint fails for everybody."""
        end = asyncio.get_running_loop().time() + _CALL

        async def read(event: Event) -> GraphReading:
            asked = graph_question(event.text, speaker=event.name, nonce=self._word())
            try:
                async with asyncio.timeout_at(end), self._gate:
                    completion = await self._asked(asked.system, asked.prompt, max_tokens=asked.max_tokens, schema=asked.schema)
            except TimeoutError:
                return GraphReading(rejected=1)
            except LLMError as error:
                await self._spend(claim, error.spent, done)
                if error.of_endpoint:
                    raise
                return GraphReading(rejected=1)
            await self._spend(claim, (completion.input_tokens, completion.output_tokens), done)
            try:
                return accepted_graph(completion.text, event.text, speaker=event.name)
            except Exception:
                return GraphReading(rejected=1)

        try:
            async with asyncio.TaskGroup() as group:
                tasks = {event.id: group.create_task(read(event)) for event in claim.turns}
        except BaseExceptionGroup as error:
            raise error.exceptions[0] from None
        return {id: task.result() for id, task in tasks.items()}

    async def _asked(self, system: str, text: str, *, max_tokens: int, schema: Mapping[str, Any]) -> Completion:
        try:
            async with asyncio.timeout(_CALL):
                completion: object = await self.llm.complete(system, text, max_tokens=max_tokens, schema=schema)
        except LLMError:
            raise
        except TimeoutError:
            raise LLMError(f"the LLM {self.llm.name} didn't answer within {_CALL:.0f} s") from None
        except Exception as error:
            raise LLMError(f"the LLM {self.llm.name} raised {type(error).__name__}") from None
        if not isinstance(completion, Completion):
            raise LLMError(f"the LLM {self.llm.name} returned {type(completion).__name__}, not a Completion")
        return completion

    async def _spend(self, claim: Claim, spent: tuple[int, int], done: ExtractionRun) -> None:
        done.calls += 1
        done.input_tokens += spent[0]
        done.output_tokens += spent[1]
        await self.budget.spend(claim.scope, *spent)

    async def _failed(self, claim: Claim, reason: str, done: ExtractionRun, *, of_endpoint: bool = False) -> None:
        """Gives the messages back to the queue: for now where the endpoint fails for everybody, else for a later try."""
        now = self._clock.now()
        if of_endpoint:
            done.stopped = reason
            await self._store.commit(store_change(ReleaseClaim(claim=claim, reason=reason, retry_at=now, failed=False)))
            return
        parked = claim.tries + 1 >= _TRIES
        wait = min(_MAX_RETRY, _FIRST_RETRY * 4**claim.tries) * (0.75 + 0.5 * self._jitter())
        done.parked += parked
        done.failed += not parked
        retry_at = None if parked else now + wait
        await self._store.commit(store_change(ReleaseClaim(claim=claim, reason=reason, retry_at=retry_at)))

    def _add(self, done: ExtractionRun) -> None:
        total = self.total
        total.messages += done.messages
        total.memories += done.memories
        total.ended += done.ended
        total.entities += done.entities
        total.rejected += done.rejected
        total.calls += done.calls
        total.input_tokens += done.input_tokens
        total.output_tokens += done.output_tokens
        total.failed += done.failed
        total.parked += done.parked
        total.stopped = done.stopped


def _reason_of(error: Exception) -> str:
    """Why an answer couldn't be used, without anything that it says."""
    return str(error) if isinstance(error, Unusable) else f"reading the answer failed with {type(error).__name__}"
