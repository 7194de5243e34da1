"""Summarising: opens a summary worker for a language model that is given by name, as a function, or as it is."""

from __future__ import annotations

import os
from collections.abc import Mapping

from germane.api.llm_argument import LLMArgument, check_llm
from germane.api.summary_worker import SummaryWorker
from germane.api.wiring import opened_llm

__all__ = ["summary_worker"]


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
    model = opened_llm(llm, os.environ if access is None else access)
    return SummaryWorker(
        model,
        at_once=at_once,
        lanes=lanes,
        patience=patience,
        chunk_size=chunk_size,
        window=window,
        closes_llm=model is not llm,
    )
