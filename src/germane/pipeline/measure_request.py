"""Measure request: finds the model's profile, counts what the request holds already, and computes the budget (BUD-1)."""

from __future__ import annotations

from collections.abc import Callable

from germane.catalog.bounded import count_within
from germane.catalog.catalog import Catalog
from germane.catalog.measure_budget import measure, texts_of
from germane.catalog.unknown_model import log_once
from germane.dialects.shaping import shaping
from germane.pipeline.assembly_state import Measured
from germane.pipeline.background import aside
from germane.ports.tokenizer import Tokenizer
from germane.types.request import Request

__all__ = ["measure_request"]


async def measure_request(request: Request, cap: int, catalog: Catalog, tokenizer: Callable[[str], Tokenizer]) -> Measured:
    """Returns the profile, a tokenizer that knows the request's texts, and the budget, which `cap` limits (tokens)."""
    profile = catalog.find(request.model, like=request.like, window=request.window)
    if not profile.known:
        log_once(request.model, profile.window)
    texts = await aside(len(request.messages), lambda: list(texts_of(request.messages, request.tools)))
    tokens = await count_within(tokenizer(profile.tokenizer), texts)

    def measured() -> Measured:
        extra = shaping(request.messages, profile, tokens.count)
        sent = {"shaping": extra, "beside": request.beside}
        budget = measure(request.messages, request.tools, profile, tokens, cap, **sent, reserve=request.reserve)
        return Measured(profile, tokens, budget)

    return await aside(len(request.messages), measured)
