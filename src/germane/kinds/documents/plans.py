"""Plans: store the passages of a document, and replace those of its earlier version.

A document has no versions: what its file doesn't hold any more is forgotten. Passages that stay the same keep their ids. A
short document is replaced in one transaction; of a long one, what is gone goes with the first slice, so that nothing
outdated is shown, and an interrupted ingestion is completed by the next one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

from germane.errors import Conflict
from germane.kinds.documents.reads import (
    DocumentContents,
    DocumentMark,
    MarkOfDocument,
    PassagesOfDocument,
    PlacePassages,
    PutMark,
)
from germane.kinds.documents.value import DocumentPassage, source_of
from germane.kinds.events.reads import PutEvent
from germane.kinds.events.value import DOCUMENT, Event
from germane.kinds.memories.reads import Forget
from germane.search.unit import Analysis
from germane.text.normal import content_hash
from germane.types.candidate import Provenance, Sensitivity
from germane.types.plan import Change, Decision, Plan, read, uuid7
from germane.types.scope import Scope


class NewPassage(NamedTuple):
    """A passage as it is to be stored. `text` has the title and the path in its first line."""

    passage: DocumentPassage
    text: str
    sensitivity: Sensitivity


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentUpdate:
    """What an ingestion changes: `new` are the passages to be added, each with its position; `moved` those that stay, where
    their place in the document is another one; `gone` the ids of those that go."""

    base: datetime
    new: tuple[tuple[NewPassage, int], ...] = field(repr=False)
    moved: PlacePassages
    gone: tuple[str, ...] = field(repr=False)
    kept: int


def read_document(session: str) -> Plan[DocumentContents | None]:
    """Reads what is stored in the session of a document. Changes nothing. Raises `Conflict` where a conversation has its
    name."""
    found = yield from read(PassagesOfDocument(session))
    if found is not None and found.mark is None:
        raise Conflict(
            "session {} is a conversation", session, advice="give the document another source, or forget the session"
        )
    return Decision((), found)


def begin_document(session: str, digest: str, writer: str) -> Plan[DocumentContents | None]:
    """Begins an ingestion: reads what is stored and, unless that has the same `digest`, marks the document as being written by
    `writer`. Raises `Conflict` as `read_document` does."""
    found = (yield from read_document(session)).outcome
    if found is None or found.mark is None or found.mark.digest == digest:
        return Decision((), found)
    mark = DocumentMark(
        title=found.mark.title,
        media_type=found.mark.media_type,
        size=found.mark.size,
        writer=writer,
        updated_at=found.mark.updated_at,
    )
    return Decision((PutMark(session, mark),), found)


def update_of(
    stored: DocumentContents | None, new: Sequence[NewPassage], *, session: str, mark: DocumentMark, now: datetime
) -> DocumentUpdate:
    """Returns what has to change for the document to have the `new` passages."""
    old = () if stored is None else stored.passages
    keys = [(content_hash("", one.text), one.sensitivity) for one in new]
    placed = place_passages([((one.content_hash, one.sensitivity), one.position) for one in old], keys)
    metadata = {index: new[index].passage.metadata(mark.title, mark.media_type) for index in placed.kept}
    moved = [
        (old[at].id, {**old[at].place, **metadata[index]})
        for index, at in placed.kept.items()
        if any(old[at].place.get(name) != value for name, value in metadata[index].items())
    ]
    stay = set(placed.kept.values())
    return DocumentUpdate(
        base=stored.base if stored is not None and old else now,
        new=tuple((new[index], position) for index, position in sorted(placed.positions.items())),
        moved=PlacePassages(session, tuple(moved)),
        gone=tuple(one.id for number, one in enumerate(old) if number not in stay),
        kept=len(stay),
    )


def write_document(
    update: DocumentUpdate,
    part: slice,
    analyses: Sequence[tuple[Analysis, ...]],
    *,
    scope: Scope,
    mark: DocumentMark,
    expected: str | None,
    make_id: Callable[[int], str] = uuid7,
) -> Plan[None]:
    """Writes a part of the new passages, whose `analyses` are given; with the first part also what moved and what goes. `mark`
    says whether more follows (`writer`) or the document is complete (`digest`). Raises `Conflict` where the document is being
    written by somebody else than `expected` (None: it must not exist)."""
    session, now = update.moved.session, mark.updated_at or update.base
    found = yield from read(MarkOfDocument(session))
    if (None if found is None else found.writer) != expected:
        raise Conflict("{} was ingested by another call meanwhile", source_of(session), advice="ingest it again")
    events = [_event(one, position, update, scope, mark, now, make_id) for one, position in update.new[part]]
    changes: list[Change] = [PutEvent(event, analysis) for event, analysis in zip(events, analyses, strict=True)]
    if not part.start:
        changes += [update.moved] if update.moved.places else []
        changes += [Forget(event_ids=update.gone, at=now, reason="the document changed")] if update.gone else []
    return Decision((*changes, PutMark(session, mark)), None)


def _event(
    new: NewPassage,
    position: int,
    update: DocumentUpdate,
    scope: Scope,
    mark: DocumentMark,
    now: datetime,
    make_id: Callable[[int], str],
) -> Event:
    session = update.moved.session
    return Event(
        id=make_id(int(now.timestamp() * 1000)),
        type=DOCUMENT,
        user=scope.user,
        session=session,
        position=position,
        text=new.text,
        created_at=update.base + timedelta(microseconds=position),
        recorded_at=now,
        sensitivity=new.sensitivity,
        content_hash=content_hash("", new.text),
        provenance=Provenance(
            source_kind="import",
            channel=DOCUMENT,
            session=session,
            metadata=new.passage.metadata(mark.title, mark.media_type),
        ),
    )


# Which stored passages a new version keeps, and the positions of the new ones. Positions leave gaps, so that an
# inserted passage gets one between its neighbours, which stay. Where a gap is full, the passage behind it is stored
# anew.


POSITION_GAP = 1_024
"""The distance between the positions of two passages that are stored together."""


class Placement(NamedTuple):
    """`kept` maps indexes of new passages to those of stored ones, `positions` the other new ones to their positions."""

    kept: dict[int, int]
    positions: dict[int, int]


def place_passages(stored: Sequence[tuple[Hashable, int]], new: Sequence[Hashable]) -> Placement:
    """Returns how the new passages are placed; n·log n. `stored` are keys and rising positions, `new` are keys; equal keys mean
    equal passages. The order of those that are kept doesn't change."""
    taken = [position for _, position in stored]
    kept, positions, waiting = dict[int, int](), dict[int, int](), list[int]()
    before, after = -1, (taken[-1] if taken else 0)
    anchors = _anchors(stored, new)
    for index in range(len(new)):
        if index not in anchors:
            waiting.append(index)
            continue
        here = taken[anchors[index]]
        free = _between(taken, before, here, len(waiting))
        if free is None:
            waiting.append(index)
            continue
        positions.update(zip(waiting, free, strict=True))
        waiting, before = [], here
        kept[index] = anchors[index]
    positions.update((index, after + POSITION_GAP * count) for count, index in enumerate(waiting, start=1))
    return Placement(kept, positions)


def _anchors(stored: Sequence[tuple[Hashable, int]], new: Sequence[Hashable]) -> dict[int, int]:
    """The longest run of equal passages that stand in the same order in both: new index → stored index."""
    where: defaultdict[Hashable, deque[int]] = defaultdict(deque)
    for number, (key, _) in enumerate(stored):
        where[key].append(number)
    pairs = [(index, where[key].popleft()) for index, key in enumerate(new) if where[key]]
    ends, tops, before = list[int](), list[int](), [-1] * len(pairs)
    for at, (_, number) in enumerate(pairs):
        length = bisect_left(ends, number)
        before[at] = tops[length - 1] if length else -1
        ends[length : length + 1] = [number]
        tops[length : length + 1] = [at]
    found, at = dict[int, int](), tops[-1] if tops else -1
    while at >= 0:
        found[pairs[at][0]] = pairs[at][1]
        at = before[at]
    return found


def _between(taken: Sequence[int], low: int, high: int, count: int) -> list[int] | None:
    """Returns `count` rising positions between two others that aren't taken, spread evenly where that is possible; None where
    there are too few."""
    occupied = taken[bisect_left(taken, low + 1) : bisect_left(taken, high)]
    if high - low - 1 - len(occupied) < count:
        return None
    closed, found = set(occupied), list[int]()
    for number in range(1, count + 1):
        place = max(low + (high - low) * number // (count + 1), found[-1] + 1 if found else low + 1)
        while place in closed:
            place += 1
        found.append(place)
    if found and found[-1] >= high:
        return list(_free_positions(low, closed, count))
    return found


def _free_positions(low: int, closed: set[int], count: int) -> Iterator[int]:
    place = low
    while count:
        place += 1
        if place not in closed:
            count -= 1
            yield place
