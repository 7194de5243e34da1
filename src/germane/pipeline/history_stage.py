"""History stage: makes the conversation of a request fit before anything is added to it, where the caller asks for that.

A conversation that can't be compacted in time stays as it is: the report says why, and a later call finds the work done.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from germane.catalog.measure_budget import request_room, tools_tokens
from germane.catalog.profile import Profile
from germane.compaction.compaction import Compaction
from germane.compaction.message_cost import Measure, Raw
from germane.compaction.plan import CompactionTerms
from germane.compaction.strategy import CompactionStrategy
from germane.dialects.openai_chat import OpenAIChat
from germane.dialects.registry import parse_all
from germane.dialects.system_prompt import system_prompt
from germane.ports.tokenizer import Tokenizer
from germane.store import ScopedStore
from germane.types.history_report import HistoryReport
from germane.types.message import Message
from germane.types.request import Request

__all__ = ["HistoryCompactor", "HistoryTerms", "compact_history"]

_ADDED_SHARE = 4
"""Where the caller sets no limit, at most this part of the room is kept for what germane adds: a quarter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryTerms:
    """`strategy` says what leaves first. `max_tokens` bounds the conversation, the caller's system prompt included (tokens of
    the model); None: what the window has beside tools, answer, margin, and room for what is added. `max_messages` bounds their
    number."""

    strategy: CompactionStrategy
    max_tokens: int | None = None
    max_messages: int | None = None


class HistoryCompactor(Protocol):
    """Compacts the conversations of sessions, and keeps what left where that can be brought back."""

    async def compact(
        self, request: Request, raws: Sequence[Raw], messages: Sequence[Message], terms: CompactionTerms, store: ScopedStore
    ) -> Compaction:
        """Returns the compaction of `messages`, which are `raws` parsed. Nothing that the store does makes it fail."""


async def compact_history(
    compactor: HistoryCompactor,
    request: Request,
    asked: HistoryTerms,
    store: ScopedStore,
    *,
    profile: Profile,
    tokenizer: Tokenizer,
    cap: int,
) -> tuple[Request, HistoryReport]:
    """Returns the request with messages that fit, the same request where they fit already, and what was done. `cap` are the
    tokens that may be added."""
    measure = Measure(profile, tokenizer, request.provider)
    fixed = profile.per_request + tools_tokens(request.tools, profile, measure.count)
    first = _apart(request)
    beside = sum(measure.message(message, raw).cost for raw, message in zip(request.raw[:first], request.messages, strict=False))
    most = _room(request, profile, tokenizer, cap) if asked.max_tokens is None else fixed + asked.max_tokens
    terms = CompactionTerms(
        measure=measure,
        max_tokens=max(1, most - beside),
        strategy=asked.strategy,
        max_messages=asked.max_messages,
        tools=request.tools,
        cite=request.scope.session is not None,
    )
    made = await compactor.compact(request, request.raw[first:], request.messages[first:], terms, store)
    report = _report(made, beside)
    if not made.compacted and made.summary is None:
        return request, report
    lead = [*request.raw[:first], *_system(made, request)]
    raws: tuple[Raw, ...] = (*lead, *made.messages)
    messages = parse_all(raws, request.provider)
    return replace(request, raw=raws, messages=messages), report


def _apart(request: Request) -> int:
    """How many messages at the start are the system's, where the provider takes them apart from the others."""
    if request.provider == OpenAIChat.name:
        return 0
    return next((index for index, message in enumerate(request.messages) if message.role != "system"), len(request.messages))


def _system(made: Compaction, request: Request) -> list[Raw]:
    """What writing the conversation moved out of its middle, as a message of the system's."""
    own = None if request.provider == OpenAIChat.name or made.system is None else system_prompt(made.system, request.provider)
    return [] if own is None else [own]


def _room(request: Request, profile: Profile, tokenizer: Tokenizer, cap: int) -> int:
    """The tokens that messages and tools may take beside what germane adds."""
    room = request_room(profile, tokenizer, beside=request.beside, reserve=request.reserve)
    return room - min(cap, room // _ADDED_SHARE)


def _report(made: Compaction, beside: int) -> HistoryReport:
    trace = made.trace
    return HistoryReport(
        tokens_before=made.tokens_before + beside,
        tokens=made.tokens + beside,
        max_tokens=made.max_tokens + beside,
        fits=made.fits,
        masked=made.masked,
        summarised=made.summarised,
        dropped=made.dropped,
        quarantined=len(made.quarantined),
        moves=trace.moves,
        saved_tokens=trace.saved_tokens,
        cache_lost_tokens=trace.cache_lost_tokens,
        pays_after=trace.pays_after,
        cited=made.cited,
        reasons=trace.reasons,
    )
