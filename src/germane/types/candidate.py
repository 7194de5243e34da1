"""Candidate: one thing that may go into the context, what it is, and what was decided about it.

A source offers a `Candidate`; `Scored` adds the score and its breakdown; `Chosen` adds the text that is written and its
tokens; `LeftOut` adds the reason. Each of them wraps the value before it. They are named tuples, as a request makes some
hundreds of them, and a frozen dataclass takes three times as long to make. A candidate may be a block, an item of the graph
or a line of the profile, as it is shown in a prompt, whatever stores it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple

from germane.types.codec import Hash
from germane.types.evidence import Evidence

Sensitivity = Literal["public", "private", "sensitive"]
SENSITIVITIES: tuple[Sensitivity, ...] = ("public", "private", "sensitive")
"""All levels, the strictest last. Stores keep the position."""
SourceKind = Literal["user", "operator", "tool", "system", "import"]
Reason = Literal[
    "budget",
    "kind_cap",
    "source_cap",
    "duplicate",
    "below_floor",
    "not_needed",
    "price",
    "sensitivity",
    "filter",
    "superseded",
    "withdrawn",
    "already_shown",
    "turn_kept",
    "profile_kept",
    "other_task",
    "task_share",
]
"""`already_shown`: the item stands in a text injected for an earlier turn. `turn_kept`: nothing is added, because the newest
turn has its text already (INJECT-6). `profile_kept`: the profile of the session's first turn stands, and isn't made anew.
`other_task`: activity of a task that isn't the current one. `task_share`: the share of its role in the task stack was used
up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Where a memory or message came from. `message_id` and `tool_call_id` are the caller's own ids."""

    source_kind: SourceKind = "user"
    channel: str | None = None
    session: str | None = None
    message_id: str | None = None
    tool_call_id: str | None = None
    refs: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def speaker(self) -> str:
        """The name under which what was found in a message was said; "" where there is none."""
        return str(self.metadata.get("speaker", ""))


LONG_TEXT = 6_144
"""Bytes of UTF-8 above which a stored text is long: it is searched in parts, and a request reads only one of them."""


class PassageRange(NamedTuple):
    """The place of a passage in a long text: bytes `start` to `end` of `size`, in UTF-8. `found` says that a search found this
    passage; otherwise it is the text's beginning."""

    start: int
    end: int
    size: int
    found: bool = False


class Outdated(NamedTuple):
    """A statement in a message that no longer holds: since when a later one replaces it, and the names of what it is about,
    where they are known."""

    since: datetime
    names: tuple[str, ...]


class Candidate(NamedTuple):
    """What a source offers. `category` is the section that it is written in: block, procedural, factual, preference,
    behavioral, episodic, archival, conversation, or any other. `kinds` choose its half-life; of several the shortest counts.
    `confidence` is in [0, 1]."""

    id: str
    source: str
    category: str
    text: str
    created_at: datetime
    kinds: tuple[str, ...] = ()
    evidence: Evidence = Evidence()
    confidence: float = 0.8
    helpful: int = 0
    harmful: int = 0
    retrievals: int = 0
    sensitivity: Sensitivity = "private"
    required: bool = False
    """Pinned, or named by the strategy's keys or tags: packed before anything else and exempt from the floor."""
    speaker: str = ""
    role: str = ""
    event_type: str = ""
    """The type of the event, where the candidate is something done and not said, such as `file_read`; else empty."""
    outcome: str = ""
    """How the event ended, such as `success` or `failure`; empty where nobody said."""
    task: str | None = None
    """The id of the task that the event belongs to."""
    title: str = ""
    """A fact's key, or a title, with which `text` begins."""
    session: str | None = None
    session_started_at: datetime | None = None
    session_number: int | None = None
    """Counts the sessions of the scope from 1, in the order they began."""
    position: int = 0
    """Place within the session, or among the required items, counted from 0."""
    content_hash: Hash = 0
    stale_since: datetime | None = None
    """Since when something that it was made from no longer is as it was; `confidence` is halved."""
    near_duplicates: tuple[str, ...] = ()
    """Ids of stored things that say nearly the same; of these, one is shown."""
    also: tuple[str, ...] = ()
    """Further sources that offered the same thing."""
    provenance: Provenance = Provenance()
    passage: PassageRange | None = None
    """Set where the stored text is long and `text` is a passage of it, with `…` where it was cut; None for a whole text."""
    outdated: Outdated | None = None
    """Set where the message states something that a later statement replaced by the time asked about."""
    replaced_by: tuple[tuple[str, bool], ...] = ()
    """The ids of later messages that make this one outdated (true), or may, so that they are shown beside it."""
    newer: tuple[Candidate, ...] = ()
    """Those of `replaced_by` that make it outdated, and those that make these outdated."""
    block: BlockText | None = None
    """Set where a memory block is shown as one, between its own tags."""
    graph: GraphItem | None = None
    """Set for an entity, a relation or a pattern; it is written from this, and `text` says the same in one line."""
    line: ProfileLine | None = None
    """Set for what may stand in the profile."""

    def only_from(self, sources: Set[str]) -> bool:
        """Whether no other source than these offered the candidate."""
        return sources >= {self.source, *self.also}

    @property
    def share(self) -> float:
        """The fraction of the stored text that `text` holds, in (0, 1]."""
        return 1.0 if self.passage is None else (self.passage.end - self.passage.start) / self.passage.size


class Breakdown(NamedTuple):
    """The parts of a score, each in [0, 1] (SCORE-6)."""

    relevance: float
    recency: float
    usefulness: float
    confidence: float
    frequency: float


class Scored(NamedTuple):
    """`score` is in [0, 1]. `log_odds` is the score before the logistic function in the log-odds form, else ln(score)."""

    candidate: Candidate
    score: float
    log_odds: float
    breakdown: Breakdown
    rank: int = 0
    """Counted from 1 over all candidates, in score order."""

    @property
    def id(self) -> str:
        return self.candidate.id


class Chosen(NamedTuple):
    """A candidate that goes into the context. `text` is what is written of it, before escaping; `share` is the fraction of the
    original's characters that `text` keeps (1.0: whole); `tokens` is what adding it cost, as written."""

    scored: Scored
    text: str
    tokens: int
    share: float = 1.0
    handle: str = ""
    """Its name in the written text, such as `a3`; the context resolves it to `id` (FORMAT-6)."""

    @property
    def id(self) -> str:
        return self.scored.candidate.id

    @property
    def source(self) -> str:
        return self.scored.candidate.source

    @property
    def category(self) -> str:
        return self.scored.candidate.category

    @property
    def score(self) -> float:
        return self.scored.score

    @property
    def provenance(self) -> Provenance:
        return self.scored.candidate.provenance

    def __repr__(self) -> str:
        return f"<Chosen {self.id} {self.source} score={self.score:.3f} tokens={self.tokens}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A candidate that doesn't go into the context, and the reason."""

    scored: Scored
    reason: Reason
    tokens: int | None = None
    """Its cost, where it was counted."""
    value: float | None = None
    """What was offered to the price: the score, less where only a passage would have been shown."""

    @property
    def id(self) -> str:
        return self.scored.candidate.id


# A memory block as it is shown.


BlockType = Literal["core", "working", "archival", "log"]
"""Core blocks are always in the context; working ones where they are pinned or referenced; archival ones are found by
searching; a log grows by entries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockText:
    """`text` is the rendered content; `permission` is shown as it is (`ReadOnly` … `Admin`). `shared_from` is the agent that
    owns the block, None for one of the reader's own. `schema` is shown on request only. `id` and `label` are what a reference
    may name."""

    id: str
    label: str
    type: BlockType
    text: str
    description: str = ""
    permission: str = "ReadWrite"
    shared_from: str | None = None
    pinned: bool = False
    schema: str = ""


# An entity, a relation or a pattern as it is shown.


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityText:
    """An entity as it is shown. `properties` are names with values, in the order in which they are written."""

    type: str
    name: str
    properties: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationText:
    """A relation as it is shown: `source` and `target` are names. `valid_to` is set where it has ended, or will."""

    source: str
    type: str
    target: str
    valid_from: datetime | None = None
    valid_to: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternText:
    """A pattern as it is shown: `action` is what to do; it worked `successes` times of `applications`."""

    action: str
    successes: int = 0
    applications: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphItem:
    """What a candidate of the graph has besides a text. `prior` is P(relevant) by what the graph says, in [0, 1): it is
    combined with what the evidence says by noisy-or. `salience`, in [0, 1], stands for usefulness, which no feedback tells of
    such an item (SCORE-4)."""

    shown: EntityText | RelationText | PatternText
    prior: float
    salience: float


# What may always be shown: a standing instruction, or what holds about the person.


LineKind = Literal["about", "instruction"]
ABOUT: Final = "about"
INSTRUCTION: Final = "instruction"


class ProfileLine(NamedTuple):
    """`id` is the memory's, or the name of a clause (`kinds/profile/reads.py`). `worth`, in [0, 1], orders the lines of one
    kind; `why` says in words where it comes from. `stated` lines were remembered on purpose; the others were found in the
    message `origin` (germane's id), and `core` is what they say of it: a fact's value, else the text. `replaces` are the lines
    in whose place it stands. `speaker` is the name under which it was said, where there is one."""

    id: str
    kind: LineKind
    text: str
    worth: float
    said_at: datetime
    why: str = ""
    stated: bool = False
    origin: str = ""
    core: str = ""
    pinned: bool = False
    replaces: tuple[str, ...] = ()
    speaker: str = ""


def replaced_by(lines: Iterable[ProfileLine]) -> set[str]:
    """Returns the ids of the lines in whose place one of these stands."""
    return {name for line in lines for name in line.replaces}
