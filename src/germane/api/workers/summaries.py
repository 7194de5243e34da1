"""Summary worker: has a language model write summaries in the background; they come in whole, or not at all (HIST-3).

A compaction asks for a summary and gets at once what there is; nothing waits for the language model. What it writes is accepted
by `compaction/llm_summary/acceptance.py` before anybody sees it.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import NamedTuple, Protocol, Self

from germane.api.workers.batch_writers import MeteredLLM
from germane.api.workers.threads import Loop
from germane.compaction.llm_summary.abstractive import TellingModel
from germane.compaction.llm_summary.covered_span import CoveredSpan, Owner, Runs, ShelvedSummary, SummaryShelf
from germane.compaction.notes import SpanSummary
from germane.ports.batch_writer import stopped
from germane.ports.models import LLM
from germane.types.caches import LruCache

_MAX_SUMMARIES, _MAX_ASKED, _MAX_WAITING = 1_024, 4_096, 64
"""Summaries that are kept, spans that aren't asked about again, and conversations that wait at most."""
_LLM_SHARE = 0.6
"""Share of a summary's tokens that the language model fills: the rest is for lines about what has left since it wrote."""
_CLOSING_SECONDS = 5.0
"""Seconds that closing waits for a language model that doesn't stop when it is cancelled."""


@dataclass(slots=True)
class SummaryRun:
    """What a worker has done since it was made. `reasons` says, without content, why texts weren't accepted, each with how
    many; `stopped`, why it asks nobody now."""

    asked: int = 0
    accepted: int = 0
    refused: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    stopped: str = ""


class SummaryRecipient(Protocol):
    """Has a span written about: pays for it, and gets what was accepted. Raises nothing but cancellation."""

    async def used_up(self) -> str:
        """Returns why the language model mustn't be asked now, "" where it may."""

    async def spend(self, input_tokens: int, output_tokens: int) -> None:
        """Counts one question."""

    async def keep(self, span: CoveredSpan, lines: tuple[str, ...]) -> None:
        """Stores the sentences that were accepted, so that a later process has them."""


class _Wanted(NamedTuple):
    owner: Owner
    span: CoveredSpan
    recipient: SummaryRecipient | None

    @property
    def conversation(self) -> tuple[Owner, str]:
        return self.owner, self.span.conversation

    @property
    def name(self) -> tuple[Owner, str, Runs]:
        return self.owner, self.span.fingerprint, self.span.runs


class SummaryWorker:
    """A `SummarySource`. Use it as  async with SummaryWorker(llm) as worker,  which works on the running event loop, or as
    with SummaryWorker(llm) as worker,  which has a thread of its own. Before and after it answers, but asks nobody.

    At most `lanes` spans are worked on at once, and one of each conversation. A span is asked about once, whoever asks and
    whatever comes of it. Each owner has its own summaries, and none of another's. `patience` is in seconds for each question;
    `chunk_size` and `window` are those of `TellingModel`.

    Which text comes in when: by default the answer for a fingerprint stays what it was at first, so that the prompt's prefix
    stays byte for byte until the boundary moves. The language model's text then comes in with the next move, followed by
    extractive lines for what has left since. With `at_once` it comes in as soon as it is there, and the provider's cache of all
    that stands behind the summary is lost once more. With `closes_llm` closing the worker closes the language model too."""

    def __init__(
        self,
        llm: LLM,
        *,
        at_once: bool = False,
        lanes: int = 2,
        patience: float = 60.0,
        chunk_size: int = 50,
        window: int | None = None,
        closes_llm: bool = False,
    ) -> None:
        self.total = SummaryRun()
        self._llm, self._at_once, self._lanes, self._closes_llm = llm, at_once, max(1, lanes), closes_llm
        self._telling = partial(TellingModel, chunk_size=chunk_size, patience=patience, window=window)
        self._shelf = SummaryShelf(_MAX_SUMMARIES)
        self._lock = Lock()
        self._asked = LruCache[tuple[Owner, str, Runs], None](_MAX_ASKED)
        self._waiting = LruCache[tuple[Owner, str], _Wanted](_MAX_WAITING)
        """The newest span of each conversation that nobody works on yet."""
        self._tasks: dict[tuple[Owner, str], asyncio.Task[None]] = {}
        """By conversation. Only the loop's thread touches it."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: Loop | None = None

    def summary(self, span: CoveredSpan, owner: Owner = ()) -> SpanSummary | None:
        """Returns what there is, at once. From any thread."""
        return self._shelf.serve(owner, span, anew=self._at_once)

    def want(self, span: CoveredSpan, owner: Owner = (), recipient: SummaryRecipient | None = None) -> None:
        """Has the span written about in the background, where it wasn't asked about yet. Returns at once. From any thread."""
        wanted = _Wanted(owner, span, recipient)
        with self._lock:
            if wanted.name in self._asked:
                return
            if wanted.conversation in self._waiting:  # it keeps its place
                self._waiting[wanted.conversation] = wanted
            else:
                self._waiting.put(wanted.conversation, wanted)
            loop = self._loop
        if loop is not None:
            with suppress(RuntimeError):  # the loop was closed and the worker wasn't
                loop.call_soon_threadsafe(self._begin)

    def know(self, owner: Owner, fingerprint: str, written: ShelvedSummary) -> None:
        """Takes what a worker of another process wrote; that span isn't asked about."""
        self._shelf.put(owner, fingerprint, written)
        with self._lock:
            self._asked.put((owner, fingerprint, written.runs), None)

    def forget(self, owner: Owner) -> None:
        """Drops what is held of this owner, and of all whose names begin with its, and gives up what is being written about
        them. On the worker's own loop."""
        with self._lock:
            self._waiting.drop(lambda one: one[0][: len(owner)] == owner)
            self._asked.drop(lambda one: one[0][: len(owner)] == owner)
        for (whose, _), task in self._tasks.items():
            if whose[: len(owner)] == owner:
                task.cancel()
        self._shelf.forget(owner)

    async def drain(self) -> None:
        """Returns when nothing is left to write. On the worker's own loop."""
        self._begin()
        while self._tasks:
            await asyncio.wait(list(self._tasks.values()))
            await asyncio.sleep(0)  # what a task's end begins

    def wait(self) -> None:
        """As `drain`, for a worker with a thread of its own. Raises `StoreUnavailable` where it has none any more."""
        if self._thread is not None:
            self._thread.call(self.drain)

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._begin()
        return self

    async def __aexit__(self, *_: object) -> None:
        with self._lock:
            self._loop = None
            self._waiting.clear()
        await stopped(list(self._tasks.values()), timeout=_CLOSING_SECONDS)
        if self._closes_llm:
            await self._llm.close()

    def __enter__(self) -> Self:
        self._thread = Loop(self._open())
        return self

    def __exit__(self, *_: object) -> None:
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.close()

    @asynccontextmanager
    async def _open(self) -> AsyncIterator[None]:
        async with self:
            yield

    def _begin(self) -> None:
        """Starts what may start: conversations nobody works on, the longest waiting first."""
        with self._lock:
            if self._loop is None:
                return
            free = [one for one in self._waiting if one not in self._tasks][: self._lanes - len(self._tasks)]
            begun = [self._waiting.pop(one) for one in free]
            for wanted in begun:
                self._asked.put(wanted.name, None)
        for wanted in begun:
            task = asyncio.get_running_loop().create_task(self._write(wanted))
            self._tasks[wanted.conversation] = task
            task.add_done_callback(partial(self._end, wanted.conversation))

    def _end(self, conversation: tuple[Owner, str], task: asyncio.Task[None]) -> None:
        del self._tasks[conversation]
        if not task.cancelled() and (error := task.exception()) is not None:
            self.total.refused += 1
            self.total.reasons[f"the summary failed: {type(error).__name__}"] += 1
        self._begin()

    async def _write(self, wanted: _Wanted) -> None:
        """Has the language model go on from the newest summary of a part of the span."""
        owner, span, recipient = wanted
        self.total.stopped = "" if recipient is None else await recipient.used_up()
        if self.total.stopped:
            with self._lock:  # it may be asked for again
                self._asked.pop(wanted.name, None)
            return
        written, rest = self._shelf.newest(owner, span)
        self.total.asked += 1
        llm = self._llm if recipient is None else MeteredLLM(self._llm, recipient.used_up, recipient.spend)
        made = await self._telling(llm).tell(
            [message for exchange in rest for message in exchange.messages],
            notes=span.notes,
            earlier=span.begins if written is None else "\n".join(written.lines),
            max_tokens=span.max_tokens if self._at_once else int(_LLM_SHARE * span.max_tokens),
            count=span.count,
        )
        task = asyncio.current_task()
        if task is not None and task.cancelling():  # the language model took no notice
            return
        if made.fault:
            self.total.refused += 1
            self.total.reasons[made.fault] += 1
            return
        self.total.accepted += 1
        self._shelf.put(owner, span.fingerprint, ShelvedSummary(made.lines, span.runs))
        if recipient is not None:
            await recipient.keep(span, made.lines)
