"""Reports: what one assembly did with each source, with the conversation, and with one stored thing, and what one run of the
extraction did, in figures.

The engine and the client share these values. The client must not load numpy, so nothing here may import it, not even through
another module.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Literal

Status = Literal["ok", "timeout", "error", "skipped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceReport:
    """How one source did (GATHER-2).

    `reason` says why the source was skipped (`warming`, `slow_embedder`, `breaker`, `shed`, `busy`, `no_query`, `no_session`,
    `no_vector`, `unknown`), names the type of its error, or is `garbage` where its answer couldn't be used. `latency` is in
    seconds, 0 for a source that was given up or never asked. `found` counts its candidates.
    """

    name: str
    status: Status
    reason: str = ""
    latency: float = 0.0
    found: int = 0

    def __repr__(self) -> str:
        why = f":{self.reason}" if self.reason else ""
        return f"<{self.name} {self.status}{why} {self.found} in {self.latency * 1000:.1f} ms>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """What was injected, and why there may be less than there could be (INJECT-3).

    `memories_injected` counts items without the directive and blocks, `memories_available` the distinct candidates above
    the relevance floor. `memory_ids` names them in the order of the text: an archival block as `<id>@<version>`, since the
    text shows that version of it. Filters exclude it by either. `context_window_used` is a percentage. `fallback_reason` is
    one of ENGINE-2's reasons, empty when all went well. `degradation_level` is 0 for a full answer, 1 with some sources
    missing or only the best of what they find, 2 for the directive and the request only, 3 for the request alone. `timings` are
    seconds by stage. `cached` says that the answer came from the cache of results; its source reports are then those of the
    assembly that was cached. `warnings` are the trace's: sentences for a person.
    """

    directive_injected: bool = False
    memories_injected: int = 0
    memories_available: int = 0
    total_tokens_injected: int = 0
    context_window_used: int = 0
    was_truncated: bool = False
    fallback_reason: str = ""
    memory_ids: tuple[str, ...] = ()
    degradation_level: int = 0
    sources: tuple[SourceReport, ...] = ()
    timings: tuple[tuple[str, float], ...] = ()
    cached: bool = False
    warnings: tuple[str, ...] = ()
    need: float | None = None
    """P(need): the probability that anything stored helps with the request (NEED-1); None where the strategy doesn't ask."""
    need_threshold: float | None = None
    """Below it, nothing that was searched for goes in."""
    earlier_tokens: int = 0
    """Those of `total_tokens_injected` that stand in the prompt since earlier calls of the session (INJECT-6)."""
    profile_tokens: int = 0
    """Those of `total_tokens_injected` that are lines of the profile, standing since an earlier call or new (PERSON-1)."""
    history: HistoryReport | None = None
    """What was done to the conversation so that it fits, where the call asked for that."""
    thinking_prefix_changed: bool = False
    """Whether the request holds thinking that the provider binds to what stands before it, and germane's text there isn't what
    it was (INJECT-10): something in it was forgotten or isn't allowed, or nobody knows what stood there. The provider refuses
    the request unless it may drop that thinking: see `Context.to_anthropic`."""


# What was done to the conversation of one request so that it fits (HIST-2).


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryReport:
    """`tokens_before` and `tokens` are those of the messages with tools, of which there may be `max_tokens`; `fits` is false
    only where what may not be lost takes more. `masked` are tool outputs that a line stands for, `summarised` and `dropped`
    messages that left with and without a summary, `quarantined` messages whose call or result has lost its other half. `moves`
    counts how often the boundaries have moved: between two moves the prefix stays byte for byte. The newest one saved
    `saved_tokens` and made the provider read `cache_lost_tokens` anew; it has paid for itself after `pays_after` calls, None
    where no price is known. `cited` are the handles that bring back what left; `reasons` say what couldn't be done."""

    tokens_before: int
    tokens: int
    max_tokens: int
    fits: bool = True
    masked: int = 0
    summarised: int = 0
    dropped: int = 0
    quarantined: int = 0
    moves: int = 0
    saved_tokens: int = 0
    cache_lost_tokens: int = 0
    pays_after: float | None = None
    cited: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()


# What one assembly did with one stored thing, and the reason.


Outcome = Literal[
    "injected",
    "stands",
    "left_out",
    "unread",
    "in_request",
    "filtered",
    "ended",
    "not_searched",
    "not_reached",
    "forgotten",
    "absent",
]
"""`stands`: it was injected for an earlier turn. `unread`: it was found and couldn't be worth its tokens. `not_reached`: the
search found others first. `absent`: this scope has no such thing."""

LEFT_OUT_REASONS: Mapping[str, str] = MappingProxyType(
    {
        "budget": "it didn't fit into the budget",
        "kind_cap": "the strategy's cap for its kind was reached",
        "source_cap": "the share of its source was used up",
        "duplicate": "the same text went in from another item",
        "below_floor": "its relevance is below the strategy's floor",
        "not_needed": "the request needs nothing that is stored: P(need) is below the strategy's threshold",
        "price": "it isn't worth its tokens at this effort",
        "sensitivity": "its sensitivity isn't allowed in this request",
        "filter": "a filter of the request excludes it",
        "superseded": "a newer fact superseded it",
        "withdrawn": "when the text was written, it could no longer be shown",
        "already_shown": "it stands in the text of an earlier turn",
        "other_task": "it was done for another task than the current one",
        "task_share": "the share of its role in the task stack was used up",
        "turn_kept": "the newest turn had its text already, and nothing is added to it",
        "profile_kept": "the profile of the session's first turn stands, and nothing is added to it",
    }
)
"""What each reason of a `LeftOut` means."""
UNSHOWN_REASONS = ("sensitivity", "withdrawn")
"""The reasons of candidates whose text may not be shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """`id` is the whole id, or what was asked for where nothing has it. `reason` is a code, such as a left-out candidate's
    reason or the name of the filter, and `text` the sentence for a person. `rank` counts from 1: over all candidates for what
    was one, else over all that is stored of its sort. `probability` is P(relevant) in [0, 1]; `tokens` its cost. `at` is when
    it was forgotten or ended."""

    id: str
    outcome: Outcome
    text: str
    reason: str = ""
    rank: int | None = None
    probability: float | None = None
    tokens: int | None = None
    at: datetime | None = None


@dataclass(slots=True, kw_only=True)
class ExtractionRun:
    """What one run of a worker, or a worker since its start, has done. `messages` were read, `memories` stored, `entities`
    found (each once in a message), `rejected` not accepted of the answers; `ended` counts memories and messages of which
    something no longer holds. `failed` counts calls that will be tried again, `parked` those that won't. `stopped` says why a
    run ended before the queue was empty, without any content. Of a run that was asked for, `waiting` are the messages that were
    to be read, and `characters` their length."""

    waiting: int = 0
    characters: int = 0
    messages: int = 0
    memories: int = 0
    ended: int = 0
    entities: int = 0
    rejected: int = 0
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    failed: int = 0
    parked: int = 0
    stopped: str = ""
