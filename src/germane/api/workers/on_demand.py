"""Workers on demand: one run of the extraction over a scope, and a summary worker for compactions without a store."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from germane.api.arguments import LLMArgument, check_llm
from germane.api.wiring import Parts, open_chosen_llm
from germane.api.workers.batch_writers import today
from germane.api.workers.summaries import SummaryWorker
from germane.errors import InvalidInput
from germane.extraction.llm.queue import QueueState, ResumeQueue
from germane.types.plan import store_change
from germane.types.reports import ExtractionRun
from germane.types.scope import Scope


async def extract(
    parts: Parts,
    scope: Scope,
    *,
    everything: bool,
    dry_run: bool,
    progress: Callable[[int, int], None] | None,
) -> ExtractionRun:
    """See `Agent.extract`."""
    everything = everything or scope.session is not None
    if not dry_run:
        if parts.extraction_worker is None:
            raise InvalidInput(
                "no LLM is configured", advice="set llm in the settings or GERMANE_LLM, or pass llm= to Germane.open"
            )
        await parts.store.commit(store_change(ResumeQueue(scope, everything)))
    found = await parts.store.ask(QueueState(today(parts.clock), scope, everything))
    if dry_run or parts.extraction_worker is None:
        return ExtractionRun(waiting=found.messages, characters=found.characters)
    told = None if progress is None else lambda done: progress(min(done, found.messages), found.messages)
    done = await parts.extraction_worker.drain(scope, eager=True, progress=told)
    done.waiting, done.characters = found.messages, found.characters
    return done


# For `germane.integrations`: the language model is given by name, as a function, or as it is.


def summary_worker(
    llm: LLMArgument,
    *,
    at_once: bool = False,
    lanes: int = 2,
    patience: float = 60.0,
    chunk_size: int = 50,
    window: int | None = None,
    access: Mapping[str, str] | None = None,
) -> SummaryWorker:
    """Returns a worker, which asks nobody before it is entered. `llm` is what `Germane.open` takes: a name such as
    `openai:gpt-4o-mini`, a coroutine function from a prompt to a text, or an `LLM`, which stays open when the worker closes.
    `access` holds addresses and keys for a name, by default those of the environment. The other arguments are the worker's.
    Raises `InvalidInput`, `UnknownName`, and `MissingExtra` without aiohttp."""
    check_llm(llm)
    model = open_chosen_llm(llm, os.environ if access is None else access)
    return SummaryWorker(
        model,
        at_once=at_once,
        lanes=lanes,
        patience=patience,
        chunk_size=chunk_size,
        window=window,
        closes_llm=model is not llm,
    )
