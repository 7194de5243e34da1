"""LLM budget: what language models may cost a day, in tokens of the whole store, and what they have cost (MEM-7, HIST-3)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from germane.clock import Clock
from germane.errors import LLMError
from germane.memories.llm_extraction.queue import ExtractionQueue
from germane.ports.llm import LLM, Completion
from germane.types.scope import Scope

__all__ = ["LLMBudget", "MeteredLLM", "today"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class LLMBudget:
    """`tokens_per_day` (UTC; None: without a limit) are those of all agents and of everything that asks a language model in the
    background. The calls under way when the limit is reached go beyond it."""

    def __init__(self, queue: ExtractionQueue, clock: Clock, tokens_per_day: int | None = None) -> None:
        self._queue, self._clock, self._tokens_per_day = queue, clock, tokens_per_day
        self.calls = self.input_tokens = self.output_tokens = 0
        """What was spent since this was made."""

    async def used_up(self) -> str:
        """Returns why nothing may be asked before tomorrow, "" where something may. Raises `StoreError`."""
        if self._tokens_per_day is None or await self._queue.spent(today(self._clock)) < self._tokens_per_day:
            return ""
        return f"the day's {self._tokens_per_day:,} tokens (llm_tokens_per_day) are used up"

    async def spend(self, scope: Scope, input_tokens: int, output_tokens: int) -> None:
        """Counts one call for the scope's agent. Raises `StoreError`."""
        self.calls += 1
        self.input_tokens += input_tokens
        self.output_tokens += output_tokens
        day = today(self._clock)
        await self._queue.spend(scope, day, calls=1, input_tokens=input_tokens, output_tokens=output_tokens)


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
