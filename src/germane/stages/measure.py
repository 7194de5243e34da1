"""Measure: finds the model's profile, counts what the request holds already, and computes the budget (BUD-1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from germane.catalog.profiles import Catalog, Profile, log_unknown_model
from germane.catalog.request_tokens import count_within, measure, texts_of
from germane.dialects.registry import shaping
from germane.ports.background import aside
from germane.ports.models import Tokenizer
from germane.types.budget import Budget
from germane.types.request import Request


class Measured(NamedTuple):
    """The model and what the request costs it, before anything is added."""

    profile: Profile
    tokenizer: Tokenizer
    budget: Budget


async def measure_request(request: Request, cap: int, catalog: Catalog, tokenizer: Callable[[str], Tokenizer]) -> Measured:
    """Returns the profile, a tokenizer that knows the request's texts, and the budget, which `cap` limits (tokens)."""
    profile = catalog.find(request.model, like=request.like, window=request.window)
    if not profile.known:
        log_unknown_model(request.model, profile.window)
    texts = await aside(len(request.messages), lambda: list(texts_of(request.messages, request.tools)))
    tokens = await count_within(tokenizer(profile.tokenizer), texts)

    def measured() -> Measured:
        extra = shaping(request.messages, profile, tokens.count)
        sent = {"shaping": extra, "beside": request.beside}
        budget = measure(request.messages, request.tools, profile, tokens, cap, **sent, reserve=request.reserve)
        return Measured(profile, tokens, budget)

    return await aside(len(request.messages), measured)
