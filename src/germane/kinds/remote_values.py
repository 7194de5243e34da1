"""Remote values: what operations of a service return where the library's own value holds more than data, such as a trace.

`api/remote_verbs.py` makes them; the clients return them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from germane.kinds.tasks.value import TaskFrame
from germane.tool_rules.value import Owed, Verdict
from germane.types.candidate import Breakdown
from germane.types.reports import LEFT_OUT_REASONS, UNSHOWN_REASONS, HistoryReport, Metadata

if TYPE_CHECKING:
    from germane.types.candidate import Chosen, Scored
    from germane.types.context import Context
    from germane.types.trace import Trace

_CONSIDERED_CHARACTERS = 300
"""Characters of a text in `ConsideredThing`."""
_UNREAD = "it was found, and can't be worth its tokens at this effort: nobody read it"


class RemoteActivity(NamedTuple):
    """What an agent did, for the section of activity of a built request: when, which agent, and what."""

    at: datetime
    agent: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownThing:
    """One memory or message in a text: its id, its handle there, what is shown of it, and the fraction (`share`) of
    the original that this is. `tokens` are those of its line. `speaker` and `role` are those of a message, "" where nobody is
    named."""

    id: str
    handle: str
    text: str
    category: str
    tokens: int
    share: float
    created_at: datetime
    session: str | None = None
    speaker: str = ""
    role: str = ""

    @classmethod
    def of(cls, chosen: Chosen) -> KnownThing:
        """Returns an item of a context as data."""
        candidate = chosen.scored.candidate
        return cls(
            id=chosen.id,
            handle=chosen.handle,
            text=chosen.text,
            category=chosen.category,
            tokens=chosen.tokens,
            share=chosen.share,
            created_at=candidate.created_at,
            session=candidate.session,
            speaker=candidate.speaker,
            role=candidate.role,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembled:
    """A context without its trace. `messages` and `system` are for the model; `items` are what was added, in their order."""

    messages: Sequence[Mapping[str, Any]]
    system: Any
    items: tuple[KnownThing, ...]
    metadata: Metadata

    @classmethod
    def of(cls, context: Context) -> Assembled:
        """Returns a context as data."""
        messages = [one if isinstance(one, Mapping) else {"role": one.role, "content": one.content} for one in context.messages]
        items = tuple(map(KnownThing.of, context.items))
        return cls(messages=messages, system=context.system, items=items, metadata=context.metadata)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownAbout:
    """What is known about a name, as `germane.Agent.about` says it, without its trace: `current` holds at the time asked about,
    `earlier` ended before it, `mentions` are the messages that name it. `text` is all of them, ready for a prompt."""

    name: str
    current: tuple[KnownThing, ...]
    earlier: tuple[KnownThing, ...]
    mentions: tuple[KnownThing, ...]
    text: str
    tokens: int
    left_out: int
    hints: tuple[str, ...] = ()

    def __repr__(self) -> str:
        known = f"current={len(self.current)} earlier={len(self.earlier)} mentions={len(self.mentions)}"
        return f"<KnownAbout {known} tokens={self.tokens}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteDigest:
    """The memories that matter for a question, as `germane.Agent.digest` says it, without its trace: `text` is the prompt part
    and `status` is empty where it is a list, else the reason why there is none."""

    text: str
    status: str
    items: tuple[KnownThing, ...]
    tokens: int

    def __repr__(self) -> str:
        return f"<RemoteDigest {len(self.items)} items tokens={self.tokens}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteComponent:
    """One item of a built context. `source` is its id, `content` what is shown of it, `tokens` are those of its line."""

    type: str
    source: str
    content: str
    tokens: int
    relevance_score: float
    handle: str = ""
    share: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsideredThing:
    """One thing that a search found, and what became of it: `outcome` says whether it went in, `reason` is the code of why it
    didn't, `said` the same as a sentence. `text` is the beginning of its text, "" where that may not be shown or nobody read
    it; `share` is the fraction of it that went in. `score` is the probability that the question needs it, `breakdown` its
    parts, None for what nobody read. `found_by` are the sources that offered it."""

    id: str
    category: str
    outcome: Literal["in", "out", "unread"]
    reason: str = ""
    said: str = ""
    text: str = ""
    handle: str = ""
    share: float = 1.0
    tokens: int | None = None
    rank: int = 0
    score: float
    breakdown: Breakdown | None = None
    found_by: tuple[str, ...] = ()
    created_at: datetime | None = None
    session: str | None = None
    speaker: str = ""
    role: str = ""

    @classmethod
    def in_trace(cls, trace: Trace, limit: int = 100) -> tuple[tuple[ConsideredThing, ...], int]:
        """Returns at most `limit` of the things that a trace holds, those that went in first, and how many others it holds."""
        found = [
            cls._of(one.scored, "in", tokens=one.tokens, handle=one.handle, share=one.share) for one in trace.chosen[:limit]
        ]
        found += [
            cls._of(left.scored, "out", left.reason, LEFT_OUT_REASONS[left.reason], tokens=left.tokens)
            for left in trace.left_out[: limit - len(found)]
        ]
        found += [
            cls(
                id=one.id,
                category=one.domain,
                outcome="unread",
                reason="price",
                said=_UNREAD,
                tokens=one.tokens,
                score=one.probability,
            )
            for one in trace.unread[: limit - len(found)]
        ]
        return tuple(found), len(trace.chosen) + len(trace.left_out) + len(trace.unread) - len(found)

    @classmethod
    def _of(
        cls, scored: Scored, outcome: Literal["in", "out"], reason: str = "", said: str = "", **more: Any
    ) -> ConsideredThing:
        candidate = scored.candidate
        return cls(
            id=candidate.id,
            category=candidate.category,
            outcome=outcome,
            reason=reason,
            said=said,
            text="" if reason in UNSHOWN_REASONS else candidate.text[:_CONSIDERED_CHARACTERS],
            rank=scored.rank,
            score=scored.score,
            breakdown=scored.breakdown,
            found_by=(candidate.source, *candidate.also),
            created_at=candidate.created_at,
            session=candidate.session,
            speaker=candidate.speaker,
            role=candidate.role,
            **more,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteContext:
    """A context as `germane.Agent.build` builds it: `content` for a prompt, `token_count` of it, and what it is made of.
    `strategy` is the name of the strategy; `fallback_reason` is empty when all went well. `considered` is what was found, in
    and out, where the call asked for that, at most 100 things; `unlisted` counts the others."""

    content: str
    components: tuple[RemoteComponent, ...]
    token_count: int
    truncated: bool
    strategy: str
    events_considered: int = 0
    entities_considered: int = 0
    chunks_considered: int = 0
    assembly_ms: float = 0.0
    fallback_reason: str = ""
    degradation_level: int = 0
    considered: tuple[ConsideredThing, ...] = ()
    unlisted: int = 0

    def __repr__(self) -> str:
        return f"<RemoteContext {len(self.components)} components tokens={self.token_count}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteCompaction:
    """A conversation that the service made fit: `messages` for `provider`, `system` as it was given, and in `report` what was
    done, in figures. `summary` is the text that stands for what left, "" without one, `constraints` what the user demanded in
    it."""

    messages: list[Any]
    provider: str
    system: Any = None
    report: HistoryReport
    summary: str = ""
    constraints: tuple[str, ...] = ()

    def __repr__(self) -> str:
        done = self.report
        return f"<RemoteCompaction {done.tokens_before} → {done.tokens} of {done.max_tokens} tokens>"


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteEarlier:
    """What a handle stands for, as `germane.Agent.conversations.show` says it."""

    handle: str
    kind: str
    title: str
    text: str
    session: str
    provider: str
    messages: tuple[Mapping[str, Any], ...]
    previous: str
    part: int
    created_at: datetime

    def __repr__(self) -> str:
        return f"<RemoteEarlier {self.handle} {len(self.messages)} messages, {len(self.text)} chars>"


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteOutlineLine:
    """What one exchange was about, as `germane.Agent.conversations.outline` says it."""

    session: str
    text: str
    first_id: str
    last_id: str
    first_at: datetime
    last_at: datetime
    messages: int
    sensitivity: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteOutline:
    """One page of a session's outline, oldest line first. `cursor` continues it; None on the last page."""

    lines: tuple[RemoteOutlineLine, ...]
    cursor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteSummary:
    """A summary of a session: `text` stands for the messages before the index `covers`, which `fingerprint` names. `note` says
    why a language model's text wasn't used."""

    id: str
    session: str
    text: str
    covers: int
    tokens: int
    method: str
    note: str
    fingerprint: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteRequest:
    """A request for the provider's SDK, as the service has built it. `metadata` are the fields of `BuildMetadata`
    as JSON, `estimated_tokens` those of the whole request, `faults` the parts that are missing, with the reason."""

    provider: str
    kwargs: Mapping[str, Any]
    metadata: Mapping[str, Any]
    estimated_tokens: int = 0
    faults: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<RemoteRequest {self.provider} {self.estimated_tokens} tokens>"

    def as_kwargs(self, **more: Any) -> dict[str, Any]:
        """The arguments of the SDK's call, as `BuiltRequest.as_kwargs` gives them."""
        if isinstance(config := more.get("config"), Mapping) and "config" in self.kwargs:
            more["config"] = {**self.kwargs["config"], **config}
        return {**self.kwargs, **more}


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedCalls:
    """What the rules say of the calls of one batch, in order, and of the turn: `state` goes into the next call, and belongs
    where the agent can't write. `next_step` is None where no rule says what follows; `owed` is due before the turn ends."""

    verdicts: tuple[Verdict, ...]
    state: str
    next_step: Literal["end", "continue"] | None
    owed: tuple[Owed, ...]
    may_exit: bool

    def __repr__(self) -> str:
        return f"<CheckedCalls {len(self.verdicts)} verdicts, {len(self.owed)} owed>"


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteDelegation:
    """One task given to another agent, as a client of the service gets it. `messages` are what the other agent's model gets,
    and `system` its system prompt where the provider keeps that apart. `frame` is the task in the delegating stack; its
    `child_session` is the session that the other agent works in, and `allowed` the sensitivities that it may see.
    `explanation` says what it gets and why."""

    frame: TaskFrame
    messages: list[Mapping[str, Any]]
    system: Any = None
    tokens: int = 0
    explanation: str = ""

    def __repr__(self) -> str:
        return f"<RemoteDelegation {self.frame.id} {len(self.messages)} messages>"
