"""Compact: makes the conversation of a request fit before anything is added to it, if the caller asks for that.

A conversation that can't be compacted in time loses its oldest exchanges instead, and the report says why. The work on the
conversation of a session continues for a short while, and the next call finds it done or continues it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from germane.catalog.profiles import Catalog
from germane.catalog.request_tokens import request_room
from germane.compaction.eviction import keep_newest
from germane.compaction.message_cost import Measure
from germane.compaction.plan import Compaction, CompactionTerms, report_of
from germane.compaction.strategy import CompactionStrategy
from germane.dialects.openai_chat import OpenAIChat
from germane.dialects.registry import parse_all, system_prompt
from germane.errors import PROPAGATED
from germane.ports.background import aside
from germane.ports.models import Tokenizer
from germane.stores.contract import ScopedStore
from germane.types.message import Message, Raw, leading_system
from germane.types.reports import HistoryReport
from germane.types.request import Request
from germane.types.scope import Scope

_MAX_ADDED_PART = 4
"""Where the caller sets no limit, at most this part of the room is kept for what germane adds: a quarter."""
_STORE_SHARE = 0.7
"""The share of the time after which the store has to answer: what leaves is then named by no handle."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryTerms:
    """`strategy` says what leaves first. `max_tokens` bounds the conversation, the caller's system prompt included (tokens of
    the model); None: what the window has beside tools, answer, margin, and room for what is added. `max_messages` bounds their
    number."""

    strategy: CompactionStrategy
    max_tokens: int | None = None
    max_messages: int | None = None
    keep: bool = True
    """Whether what leaves is kept in the session's archive, under handles that the prompt names."""


class HistoryCompactor(Protocol):
    """Compacts the conversations of sessions, and keeps what left where that can be brought back."""

    async def compact(
        self,
        store: ScopedStore,
        model: str,
        raws: Sequence[Raw],
        messages: Sequence[Message],
        terms: CompactionTerms,
        patience: float | None,
    ) -> Compaction:
        """Returns the compaction of `messages`, which are `raws` parsed and belong to the session that the store's scope names;
        where it names none, nothing is kept of them. `terms` needn't have a price. The store's part ends `patience` seconds
        after the call, at the cost of the handles; nothing that the store does makes it fail."""

    def forget(self, scope: Scope) -> None:
        """Drops what is kept in memory of this scope's user, or of its agent where it has none, and gives up what is being
        written about it: something there was forgotten."""


async def compact_history(
    compactor: HistoryCompactor | None,
    request: Request,
    asked: HistoryTerms,
    store: ScopedStore,
    *,
    catalog: Catalog,
    tokenizers: Callable[[str], Tokenizer],
    cap: int,
    seconds: float | None,
) -> tuple[Request, HistoryReport]:
    """Returns the request with messages that fit, the same request where they fit already, and what was done. `cap` are the
    tokens that may be added. What isn't done within `seconds` is done the hasty way: the oldest exchanges are left out. Raises
    nothing but cancellation and interpreter exit."""
    profile = catalog.find(request.model, like=request.like, window=request.window)
    tokenizer = tokenizers(profile.tokenizer)
    measure = Measure(profile, tokenizer, request.provider)
    first = _count_system(request)
    beside = sum(measure.message(*pair).cost for pair in zip(request.messages[:first], request.raw[:first], strict=True))
    room = request_room(profile, tokenizer, beside=request.beside, reserve=request.reserve)
    fixed = measure.fixed(None, request.tools)
    most = room - min(cap, room // _MAX_ADDED_PART) if asked.max_tokens is None else fixed + asked.max_tokens
    terms = CompactionTerms(
        measure=measure,
        max_tokens=max(1, most - beside),
        strategy=asked.strategy,
        max_messages=asked.max_messages,
        tools=request.tools,
        cite=asked.keep and request.scope.session is not None,
    )
    patience = None if seconds is None else seconds * _STORE_SHARE
    try:
        if compactor is None:
            return await _drop_oldest(request, terms, fixed, beside, "nothing here compacts conversations")
        async with asyncio.timeout(seconds):
            made = await compactor.compact(store, request.model, request.raw[first:], request.messages[first:], terms, patience)
        report = report_of(made, beside)
        if not made.compacted and made.summary is None:
            return request, report
        raws: tuple[Raw, ...] = (*request.raw[:first], *_system_messages(made, request), *made.messages)
        return replace(request, raw=raws, messages=parse_all(raws, request.provider)), report
    except PROPAGATED:
        raise
    except BaseException as error:
        why = (
            "it couldn't be compacted in time"
            if isinstance(error, TimeoutError)
            else f"it couldn't be compacted: {type(error).__name__}"
        )
        return await _drop_oldest(request, terms, fixed, beside, why)


async def _drop_oldest(
    request: Request, terms: CompactionTerms, fixed: int, beside: int, why: str
) -> tuple[Request, HistoryReport]:
    """The newest exchanges that fit; the running one always stays."""
    return await aside(len(request.messages), partial(_without_oldest, request, terms, fixed, beside, why))


def _without_oldest(
    request: Request, terms: CompactionTerms, fixed: int, beside: int, why: str
) -> tuple[Request, HistoryReport]:
    costs = [terms.measure.message(message, raw).cost for message, raw in zip(request.messages, request.raw, strict=True)]
    before = sum(costs) + fixed
    high = terms.max_tokens + beside
    kept = keep_newest(request.messages, costs, high - fixed, terms.max_messages or len(costs))
    report = HistoryReport(
        tokens_before=before,
        tokens=kept.tokens + fixed,
        max_tokens=high,
        fits=kept.tokens + fixed <= high,
        dropped=kept.messages_left_out,
        reasons=(why,),
    )
    if before <= high or not kept.messages_left_out:
        return request, replace(report, tokens=before, fits=before <= high, dropped=0)
    lead, start = kept.lead, kept.start
    shown = replace(
        request,
        raw=(*request.raw[:lead], *request.raw[start:]),
        messages=(*request.messages[:lead], *request.messages[start:]),
    )
    return shown, report


def _count_system(request: Request) -> int:
    """How many messages at the start are the system's, where the provider takes them apart from the others."""
    if request.provider == OpenAIChat.name:
        return 0
    return leading_system(request.messages)


def _system_messages(made: Compaction, request: Request) -> list[Raw]:
    """What writing the conversation moved out of its middle, as a message of the system's."""
    own = None if request.provider == OpenAIChat.name or made.system is None else system_prompt(made.system, request.provider)
    return [] if own is None else [own]
