"""Candidates: makes candidates of stored memories, events, blocks and archival entries.

The text of an event is clipped to what a prompt needs of it; the store keeps all of it (FORMAT-5).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import TypeVar

from germane.kinds.blocks.value import ArchivalEntry, Block, block_hash, entry_hash, prompt_text, shown_id
from germane.kinds.documents.value import place_label, without_heading
from germane.kinds.events.value import DOCUMENT, Event
from germane.kinds.memories.value import Fact, Memory, Note, Procedure
from germane.text.normal import fold
from germane.types.candidate import Candidate, Outdated
from germane.types.evidence import Evidence, Found, Unread
from germane.types.query import Query

T = TypeVar("T", Event, Memory, ArchivalEntry)


def from_memory(memory: Memory, source: str, evidence: Evidence, *, required: bool = False, position: int = 0) -> Candidate:
    """A candidate of a typed memory; its category and its kind are the candidate's kinds."""
    return Candidate(
        id=memory.id,
        source=source,
        category=memory.category,
        text=memory.text,
        created_at=memory.updated_at,
        kinds=(memory.category, memory.kind),
        evidence=evidence._replace(curated=_curated(memory)),
        confidence=memory.confidence if memory.stale_since is None else memory.confidence * _STALE,
        stale_since=memory.stale_since,
        helpful=memory.helpful,
        harmful=memory.harmful,
        retrievals=memory.retrieval_count,
        sensitivity=memory.sensitivity,
        required=required,
        title=_title(memory),
        position=position,
        content_hash=memory.content_hash,
        near_duplicates=memory.near_duplicates,
        provenance=memory.provenance,
    )


def _title(memory: Memory) -> str:
    match memory.content:
        case Fact(key=key):
            return key
        case Note(title=title) | Procedure(title=title):
            return title
        case _:
            return ""


_STALE = 0.5
"""The share of its confidence that a stale memory keeps."""
_EXTRACTED = MappingProxyType({"behavior": 1.0, "preference": 1.0, "fact": 0.5})
"""How purposely what rules found was stated, by kind; the others like any message. Measured: docs/research/extraction.md."""


def _curated(memory: Memory) -> float:
    """How purposely a memory was stated. What rules found counts by its kind; what people tell one another, no more than any
    other message."""
    about = memory.provenance.metadata
    if "extracted" not in about:
        return 1.0
    return 0.0 if "speaker" in about and memory.kind != "behavior" else _EXTRACTED.get(memory.kind, 0.0)


def from_event(
    event: Event, source: str, evidence: Evidence, *, at: datetime | None = None, words: Sequence[str] = ()
) -> Candidate:
    """A candidate of a stored event; its kind is `event`, its category `conversation` for a message and `activity` for a typed
    event, whose long output is clipped around the query's `words`. `at` is the time asked about. A passage of a document has
    the category and kind `document`."""
    if event.type == DOCUMENT:
        return _from_passage(event, source, evidence)
    found = event.passage is not None and event.passage.found
    replaced = [one for one in event.outdated if at is None or one.since <= at]
    return Candidate(
        id=event.id,
        source=source,
        category="activity" if event.typed else "conversation",
        text=clipped(event.text, words) if event.typed and not found else event.text,
        created_at=event.created_at,
        kinds=("event",),
        evidence=evidence,
        sensitivity=event.sensitivity,
        speaker=event.name,
        role=event.role,
        event_type=event.type if event.typed else "",
        outcome=event.outcome,
        task=event.task,
        session=event.session,
        session_started_at=event.session_started_at,
        session_number=event.session_number,
        position=event.position,
        content_hash=event.content_hash,
        provenance=event.provenance,
        passage=event.passage,
        outdated=Outdated(replaced[0].since, tuple(dict.fromkeys(name for one in replaced for name in one.names)))
        if replaced
        else None,
        replaced_by=event.replaced_by,
        newer=tuple(
            from_event(newer, source, Evidence(assistant=evidence.assistant), at=at, words=words)
            for newer in event.newer
            if at is None or newer.created_at <= at
        ),
    )


def _from_passage(event: Event, source: str, evidence: Evidence) -> Candidate:
    """The title says where the passage stands; that line isn't part of the text, which may be shortened."""
    return Candidate(
        id=event.id,
        source=source,
        category=DOCUMENT,
        text=without_heading(event.text) or event.text,
        created_at=event.created_at,
        kinds=(DOCUMENT,),
        evidence=evidence,
        sensitivity=event.sensitivity,
        title=place_label(event.provenance.metadata),
        session=event.session,
        position=event.position,
        content_hash=event.content_hash,
        provenance=event.provenance,
        passage=event.passage,
    )


def from_block(block: Block, source: str, position: int) -> Candidate:
    """A required candidate of a block that is shown as one, at this place among the blocks."""
    return Candidate(
        id=shown_id(block.id, block.version),
        source=source,
        category="block",
        text=block.text,
        created_at=block.updated_at,
        kinds=("block", block.type),
        evidence=_STANDING,
        required=True,
        title=block.label,
        position=position,
        content_hash=block_hash(block.id, block.version, None if block.shared_from is None else block),
        block=prompt_text(block),
    )


def from_entry(entry: ArchivalEntry, source: str, evidence: Evidence) -> Candidate:
    """A candidate of an archival entry or of a block that a search found. Somebody keeps it on purpose."""
    kind = "archival" if entry.type in (None, "archival") else "block"
    block = entry.label is not None and entry.version is not None
    return Candidate(
        id=shown_id(entry.id, entry.version or 0) if block else entry.id,
        source=source,
        category=kind,
        text=f"{entry.label}: {entry.text}" if block else entry.text,
        created_at=entry.created_at,
        kinds=(kind,),
        evidence=evidence._replace(curated=1.0),
        title=entry.label or "",
        content_hash=block_hash(entry.id, entry.version or 0) if block else entry_hash(entry.id),
    )


_STANDING = Evidence(structured=1.0)


def offered(
    found: Found[T], source: str, query: Query, make: Callable[[T, str, Evidence], Candidate]
) -> list[Candidate | Unread]:
    """What a search found, as its source offers it."""
    offers: list[Candidate | Unread] = [*found.unread]
    offers += [make(hit.thing, source, verbatim(query, hit.thing.text, hit.evidence)) for hit in found.hits]
    return offers


def words_of(query: Query) -> tuple[str, ...]:
    """The folded words of the query."""
    return tuple(term.word for term in query.terms)


def verbatim(query: Query, text: str, evidence: Evidence) -> Evidence:
    """`evidence` with the fraction of the query's identifiers and quoted phrases that the text contains verbatim, ignoring
    case; unchanged for a query without any."""
    wanted = (*query.identifiers, *query.phrases)
    if not wanted:
        return evidence
    low = text.casefold()
    return evidence._replace(identifier=sum(name.casefold() in low for name in wanted) / len(wanted))


# The part of an event's text that a prompt needs (FORMAT-5).


_MAX_CHARS, _MAX_LINES = 1_600, 24
"""A text within both is shown whole."""
_HEAD_LINES, _TAIL_LINES, _MATCHING_LINES = 8, 8, 7
"""Lines that are kept: from the beginning, from the end, where errors stand, and of those that the query's words stand in."""
_MAX_LINE = 240
"""Characters of a line."""


def clipped(text: str, words: Sequence[str] = ()) -> str:
    """The text of an event with its first and last lines, and the first lines between them that hold one of `words` (folded).
    A mark says how many lines are left out at each place. Deterministic; takes linear time."""
    lines = text.split("\n")
    if len(text) <= _MAX_CHARS and len(lines) <= _MAX_LINES:
        return text
    last = len(lines) - _TAIL_LINES
    kept = {*range(min(_HEAD_LINES, len(lines))), *range(max(0, last), len(lines))}
    if len(kept) < len(lines) and words:
        between = (index for index in range(_HEAD_LINES, last) if _holds(lines[index], words))
        kept.update(index for index, _ in zip(between, range(_MATCHING_LINES), strict=False))
    shown, before = list[str](), -1
    for index in sorted(kept):
        if index > before + 1:
            shown.append(_left_out(index - before - 1))
        shown.append(_cut(lines[index]))
        before = index
    return "\n".join(shown)


def _holds(line: str, words: Sequence[str]) -> bool:
    folded = fold(line)
    return any(word in folded for word in words)


def _left_out(count: int) -> str:
    return f"… ({count:,} {'line' if count == 1 else 'lines'} left out)"


def _cut(line: str) -> str:
    return line if len(line) <= _MAX_LINE else f"{line[: _MAX_LINE // 2]} … {line[-_MAX_LINE // 2 :]}"
