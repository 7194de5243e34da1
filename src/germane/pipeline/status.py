"""Status: how one process is doing, for an operator. Figures and names of sources, never content."""

from __future__ import annotations

from dataclasses import dataclass

from germane.memories.llm_extraction.queue import LLMUsage
from germane.pipeline.circuit_breaker import BreakerState

__all__ = ["State"]


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """`breakers` are those of every source called so far, of the store's `gate` and `revision` too. `abandoned` tasks still run
    although no assembly waits for them; `abandoned_total` counts all since the start. `working` and `waiting` count assemblies
    with a deadline, `shed` those refused since the start, `cache_hits` and `cache_misses` the result cache's.
    `embedder_fault` says why an embedder that is slow or behind a network gives no vectors at the moment; meanwhile keywords
    alone are used. `refused_texts` are those that the embedder refuses while it embeds others; keywords find them."""

    breakers: tuple[BreakerState, ...] = ()
    abandoned: int = 0
    abandoned_total: int = 0
    working: int = 0
    waiting: int = 0
    shed: int = 0
    cache_hits: int = 0
    cache_misses: int = 0
    read_only: bool = False
    embedder_fault: str = ""
    refused_texts: int = 0
    llm_fault: str = ""
    """What the extraction with a language model waits for: its endpoint, or the next day's tokens; empty if nothing."""
    llm_calls: int = 0
    llm_input_tokens: int = 0
    llm_output_tokens: int = 0
    """These three count since this process opened the store, for extraction and for summaries."""
    llm_usage: tuple[LLMUsage, ...] = ()
    """What each agent spent today, in all processes."""
    extraction_waiting: int = 0
    extraction_parked: int = 0
    """Runs of messages that a language model is to read, and those that failed too often."""
    extracted_memories: int = 0
