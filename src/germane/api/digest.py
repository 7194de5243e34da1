"""Digest: the memory digest of one request as a text of its own, for prompts that the caller builds (DIG-3)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from germane.pipeline.format.digest import HEADING
from germane.types.candidate import Chosen, Sensitivity
from germane.types.context import Context
from germane.types.strategy import Strategy
from germane.types.trace import Trace

__all__ = ["DigestStatus", "MemoryDigest", "digest_of", "without_directive"]

DigestStatus = Literal["", "disabled by config", "no allowed sensitivities", "no matching memory", "unavailable"]


_LINE_TOKENS = 14
"""Tokens of the longest line with a status, by any tokenizer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryDigest:
    """`text` is the prompt part: the list, or one line with the status where there is nothing to list; empty where the limit is
    too small for the line. `status` is empty where there is a list. `tokens` are those of the list."""

    text: str
    status: DigestStatus
    items: tuple[Chosen, ...]
    tokens: int
    trace: Trace


def without_directive(strategy: Strategy) -> Strategy:
    """The strategy for a text that holds neither a directive nor blocks."""
    plans = tuple(plan for plan in strategy.sources if plan.name not in ("directive", "blocks"))
    return replace(strategy, sources=plans, placement="split")


def digest_of(
    context: Context, strategy: Strategy, allowed: tuple[Sensitivity, ...], max_tokens: int | None = None
) -> MemoryDigest:
    """The digest in a context that `strategy` without a directive made, within `max_tokens`."""
    status = _status(context, strategy, allowed)
    line = f"{HEADING} {status}" if status and (max_tokens is None or max_tokens >= _LINE_TOKENS) else ""
    return MemoryDigest(
        text=line if status else context.added,
        status=status,
        items=context.items,
        tokens=context.metadata.total_tokens_injected,
        trace=context.trace,
    )


def _status(context: Context, strategy: Strategy, allowed: tuple[Sensitivity, ...]) -> DigestStatus:
    if context.items:
        return ""
    if not any(plan.limit > 0 for plan in strategy.sources):
        return "disabled by config"
    if not allowed:
        return "no allowed sensitivities"
    return "unavailable" if context.metadata.degradation_level else "no matching memory"
