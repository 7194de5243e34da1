"""Extract: one run of the extraction worker over a scope, from beginning to end, for `agent.extract`."""

from __future__ import annotations

from collections.abc import Callable

from germane.api.extraction_worker import ExtractionRun
from germane.api.llm_budget import today
from germane.api.wiring import Parts
from germane.errors import InvalidInput
from germane.types.scope import Scope

__all__ = ["extract"]


async def extract(
    parts: Parts,
    scope: Scope,
    *,
    everything: bool,
    dry_run: bool,
    progress: Callable[[int, int], None] | None,
) -> ExtractionRun:
    """See `Agent.extract`."""
    queue = parts.store.extraction
    everything = everything or scope.session is not None
    if not dry_run:
        if parts.extraction_worker is None:
            raise InvalidInput("no LLM is configured: set llm in the settings or GERMANE_LLM, or pass llm= to Germane.open")
        await queue.resume(scope, everything=everything)
    found = await queue.report(today(parts.clock), scope, everything=everything)
    if dry_run or parts.extraction_worker is None:
        return ExtractionRun(waiting=found.messages, characters=found.characters)
    told = None if progress is None else lambda done: progress(min(done, found.messages), found.messages)
    done = await parts.extraction_worker.drain(scope, eager=True, progress=told)
    done.waiting, done.characters = found.messages, found.characters
    return done
