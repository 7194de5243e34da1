"""Batch writers: write after the answers, in batches: retrieval counts, injections, and vectors that are missing."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from germane.clock import Clock
from germane.engine.injection_log import InjectionLog
from germane.errors import LLMError
from germane.extraction.llm.queue import TokensSpent, spend_tokens
from germane.kinds.injections import keep_injections
from germane.kinds.memories.plans import count_retrievals
from germane.ports.batch_writer import BatchWriter, stopped
from germane.ports.models import LLM, Completion, Watched
from germane.stores.contract import EmbedsLater, Store
from germane.types.candidate import Chosen
from germane.types.scope import Scope

_MAX_WAITING_COUNTS = 10_000
"""Counts that are kept while the store doesn't write; further ones are dropped."""

_OTHER_SOURCES = frozenset(
    (
        *("activity", "additional", "archival", "block", "conversation", "document", "entity", "outline", "pattern"),
        *("relation", "task"),
    )
)
"""Categories of items that aren't memories: nothing counts how often they were injected."""


class RetrievalCounter:
    """Counts of one second are one commit per scope, after the answers. Where a commit fails, its counts are lost and nothing
    else happens."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._writer: BatchWriter[tuple[Scope, str]] = BatchWriter(self._write, max_waiting=_MAX_WAITING_COUNTS)

    def note(self, scope: Scope, ids: Sequence[str]) -> None:
        """Counts one retrieval of each memory in `ids`. Does no I/O and raises nothing: an answer waits for it."""
        try:
            if not self._store.read_only:
                self._writer.add([(scope, id) for id in ids])
        except Exception:
            return

    def injected(self, scope: Scope, items: Iterable[Chosen]) -> None:
        """Counts one retrieval of each memory among these items, as `note` does."""
        self.note(scope, [item.id for item in items if item.category not in _OTHER_SOURCES])

    async def flush(self) -> None:
        """Writes the counts noted so far. Raises nothing that the store raises."""
        await self._writer.flush()

    async def close(self) -> None:
        """Writes the counts noted so far; gives up after five seconds. Idempotent."""
        await self._writer.close()

    async def _write(self, batch: list[tuple[Scope, str]]) -> None:
        ids_of: dict[Scope, list[str]] = defaultdict(list)
        for scope, id in batch:
            ids_of[scope].append(id)
        for scope, ids in ids_of.items():
            try:
                await self._store.within(scope).commit(count_retrievals(ids))
            except Exception:
                continue


# What was injected for each turn (INJECT-6).


_MAX_WAITING_INJECTIONS = 10_000
"""Sessions that wait for their write; the records of further ones stay in this process."""


class InjectionWriter:
    """Records of one second are one commit per session. Where a commit fails, its records stay in the log of this process, and
    the session's next record takes them along."""

    def __init__(self, store: Store, log: InjectionLog) -> None:
        self._store, self._log = store, log
        self._writer: BatchWriter[Scope] = BatchWriter(self._write, max_waiting=_MAX_WAITING_INJECTIONS)

    def note(self, scope: Scope) -> None:
        """Writes what waits of this scope's session soon. Does no I/O and raises nothing: an answer waits for it."""
        try:
            if not self._store.read_only and self._log.waiting(scope):
                self._writer.add([scope])
        except Exception:
            return

    async def flush(self) -> None:
        """Writes what was noted so far. Raises nothing that the store raises."""
        await self._writer.flush()

    async def close(self) -> None:
        """Writes what was noted so far; gives up after five seconds. Idempotent."""
        await self._writer.close()

    async def _write(self, batch: list[Scope]) -> None:
        for scope in dict.fromkeys(batch):
            changes = self._log.waiting(scope)
            try:
                await self._store.within(scope).commit(keep_injections(changes))
            except Exception:
                continue
            self._log.written(scope, changes)


# Texts get the vectors that they lack, after each recording, and again and again while the embedder fails.


_FIRST_PAUSE, _MAX_PAUSE = 1.0, 60.0
"""Seconds until a failed embedder is asked again: the first time, and at most. The pause doubles."""
_PATIENCE_SECONDS = 5.0
"""Seconds that a recording waits for an embedder that answers nothing. The vectors follow when it does."""


class CatchUp:
    """One task on the event loop, from `start` to `close`, so that no text is embedded twice. `embedder` is None for a quick
    one, which leaves only the parts of very long texts to be embedded after their commit."""

    def __init__(self, store: Store, embedder: Watched | None) -> None:
        self._store, self._embedder = store, embedder
        self._wanted = asyncio.Event()
        self._rounds = self._done = 0
        self._ended = asyncio.Condition()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begins with the texts that an earlier process left without vectors, and those of an earlier version that aren't
        divided into parts yet."""
        if not self._store.read_only:
            self._wanted.set()
            self._task = asyncio.create_task(self._run())

    async def settle(self) -> None:
        """Returns when every text that is stored now has its vector; sooner where the embedder fails, or answers nothing for
        five seconds. Raises nothing of the store's or the embedder's."""
        if self._task is None:
            return
        self._rounds += 1
        mine = self._rounds
        self._wanted.set()
        waiting = asyncio.ensure_future(self._reached(mine))
        try:
            while not waiting.done() and not self._fault:
                answers = self._answers
                await asyncio.wait([waiting], timeout=_PATIENCE_SECONDS)
                if self._answers == answers:
                    return
        finally:
            waiting.cancel()

    async def close(self) -> None:
        """Stops; what has no vector yet gets it when the store is opened again. Idempotent."""
        task, self._task = self._task, None
        if task is not None:
            await stopped([task])

    @property
    def _fault(self) -> str:
        return "" if self._embedder is None else self._embedder.fault

    @property
    def _answers(self) -> int:
        return 0 if self._embedder is None else self._embedder.answers

    async def _reached(self, number: int) -> None:
        async with self._ended:
            await self._ended.wait_for(lambda: self._done >= number)

    async def _run(self) -> None:
        pause = _FIRST_PAUSE
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            begun = self._rounds
            if succeeded := await self._embedded():
                pause = _FIRST_PAUSE
            async with self._ended:
                self._done = begun
                self._ended.notify_all()
            if not succeeded:
                await asyncio.sleep(pause)
                pause = min(_MAX_PAUSE, 2 * pause)
                self._wanted.set()

    async def _embedded(self) -> bool:
        """Embeds what waits; asks a failing embedder for one word first. Returns whether all went well."""
        try:
            if self._embedder is not None and self._embedder.fault:
                await self._embedder.check()
            if isinstance(self._store, EmbedsLater):
                await self._store.embed_pending()
        except Exception:
            return False
        return True


# LLM budget: what language models may cost a day, in tokens of the whole store, and what they have cost (MEM-7,
# HIST-3).


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class LLMBudget:
    """`tokens_per_day` (UTC; None: without a limit) are those of all agents and of everything that asks a language model in the
    background. The calls under way when the limit is reached go beyond it."""

    def __init__(self, store: Store, clock: Clock, tokens_per_day: int | None = None) -> None:
        self._store, self._clock, self._tokens_per_day = store, clock, tokens_per_day
        self.calls = self.input_tokens = self.output_tokens = 0
        """What was spent since this was made."""

    async def used_up(self) -> str:
        """Returns the reason if today's token budget is used up, else "". Raises `StoreError`."""
        if self._tokens_per_day is None or await self._store.ask(TokensSpent(today(self._clock))) < self._tokens_per_day:
            return ""
        return f"the day's {self._tokens_per_day:,} tokens (llm_tokens_per_day) are used up"

    async def spend(self, scope: Scope, input_tokens: int, output_tokens: int) -> None:
        """Counts one call for the scope's agent. Raises `StoreError`."""
        self.calls += 1
        self.input_tokens += input_tokens
        self.output_tokens += output_tokens
        await self._store.within(scope).commit(spend_tokens(today(self._clock), input_tokens, output_tokens))


class MeteredLLM:
    """An `LLM` that asks `used_up` before each question, and tells `spend` what each answer cost, of those that failed too.
    Where the budget is used up it raises `LLMError`."""

    def __init__(self, llm: LLM, used_up: Callable[[], Awaitable[str]], spend: Callable[[int, int], Awaitable[None]]) -> None:
        self._llm, self._used_up, self._spend = llm, used_up, spend

    @property
    def name(self) -> str:
        return self._llm.name

    async def complete(
        self, system: str, prompt: str, *, max_tokens: int, schema: Mapping[str, Any] | None = None
    ) -> Completion:
        """See `LLM`."""
        if reason := await self._used_up():
            raise LLMError(reason)
        try:
            completion = await self._llm.complete(system, prompt, max_tokens=max_tokens, schema=schema)
        except LLMError as error:
            await self._spend(*error.spent)
            raise
        await self._spend(completion.input_tokens, completion.output_tokens)
        return completion

    async def close(self) -> None:
        await self._llm.close()


def today(clock: Clock) -> int:
    """Returns the days since 1970 in UTC."""
    return (clock.now() - _EPOCH).days
