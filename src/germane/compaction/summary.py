"""Summary: the text that stands in a prompt for a span of the conversation, and what it covers (HIST-2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["SpanSummary", "SummaryMethod"]

SummaryMethod = Literal["extractive", "llm"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanSummary:
    """`text` says what the messages before the index `covers` were about; it holds what an earlier summary held, so that
    summaries build on one another. `ids` are those of the messages covered, as far as they have any. `note` says why an LLM's
    text wasn't used."""

    text: str
    covers: int
    tokens: int
    method: SummaryMethod = "extractive"
    ids: tuple[str, ...] = ()
    note: str = ""
