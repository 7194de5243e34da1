"""Selection: runs score, pack and gate for one assembly, the quick way if time is short.

If time is short, the candidates keep the order of their sources instead of being scored, or are packed by rank and by upper
bounds of their tokens instead of by price (ENGINE-12). The stages `score` and `pack` are pure and know no deadline; only this
module and the engine do. `best_of` selects for a search, which has no budget and no deadline.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence, Set
from functools import partial
from math import log
from types import MappingProxyType
from typing import Any, NamedTuple

from germane.clock import Clock
from germane.engine.assembly import Assembly, Deadline, Late
from germane.engine.bound_injections import planned_room
from germane.engine.breakers import Guard
from germane.engine.earlier_injections import EarlierTexts
from germane.kinds.injections import SessionInjections, WantedInjections
from germane.kinds.inventory import AllowedIds
from germane.kinds.profile.lines import choose_lines, lines_said_by
from germane.kinds.profile.reads import parse_clause_name
from germane.search.relevance import Relevance
from germane.stages.gate import gate
from germane.stages.gather.gather import Gathered
from germane.stages.gather.memories import PROFILE
from germane.stages.gather.merge import RequestContents, distinct
from germane.stages.gather.source import SearchDepth, recall_depth
from germane.stages.pack.greedy import Layout
from germane.stages.pack.pack import Packing, pack, pack_by_bounds, withhold
from germane.stages.score.clauses import ClauseReader, divide
from germane.stages.score.links import newer_beside, once, source_missing
from germane.stages.score.score import (
    assess_need,
    best_searched,
    in_source_order,
    message_spread,
    min_relevance,
    score,
    split_at_floor,
)
from germane.stages.write.layout import Format
from germane.stores.contract import ScopedStore
from germane.types.budget import Need
from germane.types.candidate import Candidate, LeftOut, ProfileLine, Scored
from germane.types.request import Request
from germane.types.strategy import Strategy

_SCORING_SHARE = 0.6
"""The share of the time after gathering (8 to 50 ms) that scoring and packing need; with less, nothing is scored."""


class Ranked(NamedTuple):
    """The candidates above the floor, the best first; those below it; and P(need), None where there was no time to score."""

    kept: Sequence[Scored]
    dropped: Sequence[Scored]
    need: Need | None
    divided: bool = False
    """Whether clauses stand in the place of messages, whose probabilities are those of being needed themselves."""


def _is_hurried(assembly: Assembly, deadline: Deadline, now: float, share: float) -> bool:
    """Whether the assembly is hurried, which it is from now on where less is left than this share of the time after
    gathering."""
    assembly.hurried |= deadline.closer(now, share)
    return assembly.hurried


def rank_candidates(
    assembly: Assembly,
    gathered: Gathered,
    candidates: Sequence[Candidate],
    relevance: Relevance,
    reader: ClauseReader,
    deadline: Deadline,
    now: float,
) -> Ranked:
    """Scores the candidates, each thing once. `now` is on the clock's steady scale."""
    if _is_hurried(assembly, deadline, now, _SCORING_SHARE):
        return Ranked(once(in_source_order(candidates)), (), None)
    request, strategy, query = assembly.request, assembly.strategy, gathered.query
    scored = newer_beside(score(candidates, strategy, request.at, relevance, query), clauses=strategy.clauses)
    kept, dropped = split_at_floor(scored, strategy.floor)
    need, found = assess_need(kept, query, relevance, strategy.need, gathered.unread)
    others, lines = _lines_apart(kept)
    kept = once(others)
    divided = divide(kept, query, reader, found, assembly.price) if strategy.clauses else None
    if divided is None:
        return Ranked((*kept, *lines), dropped, need)
    if divided.need is not None and query.asked_day is None:
        need = Need(
            max(divided.need, best_searched([one for one in divided.items if parse_clause_name(one.id) is None])),
            need.threshold,
        )
    return Ranked((*divided.items, *lines), dropped, need, True)


def _lines_apart(ranked: Sequence[Scored]) -> tuple[list[Scored], list[Scored]]:
    """What competes by its relevance, and the lines that may stand in the profile. A memory that a search found too is both:
    `profile_stage.py` decides which."""
    others, lines = list[Scored](), list[Scored]()
    for item in ranked:
        candidate = item.candidate
        if candidate.line is None or candidate.required:
            others.append(item if candidate.line is None else item._replace(candidate=candidate._replace(line=None)))
            continue
        lines.append(item._replace(candidate=candidate._replace(source=PROFILE, also=())))
        sources = [source for source in (candidate.source, *candidate.also) if source != PROFILE]
        if sources:
            found = candidate._replace(line=None, source=sources[0], also=tuple(sources[1:]))
            others.append(item._replace(candidate=found))
    return others, lines


# The profile: which lines always stand in this prompt, within the strategy's tokens for them (PERSON-1). The first turn
# of a session gets the profile and keeps it: later turns add no line. What the profile shows isn't shown a second time.


_CLAUSE_ENDS = " .,;:!?。！？"
_SPARE_CHARS = 12
"""Characters that a clause may have besides what a line says, to be shown by it."""
_MAX_SHOWN_SHARE = 0.7
"""The share of a message's characters that stand as lines of the profile from which on the message isn't shown too."""

Places = Mapping[str, Sequence[tuple[int, int]]]
"""By message: the places of its clauses that are shown."""


class ProfileChoice(NamedTuple):
    """What may be packed, the profile's lines as required items; and what was left out."""

    items: Sequence[Scored]
    left_out: tuple[LeftOut, ...] = ()


def choose_profile(
    new: Sequence[Scored], standing: Iterable[str], *, tokens: int, layout: Layout, stands: bool
) -> ProfileChoice:
    """Chooses the profile among the candidates `new` within so many `tokens`. `standing` are the ids of items that stand in the
    prompt since earlier calls; `stands` says that a profile is among them."""
    lines: dict[str, tuple[ProfileLine, Scored]] = {}
    for item in new:
        if item.candidate.line is not None:
            lines[item.id] = item.candidate.line, item
    if not lines:
        return ProfileChoice(*_without_shown(new, _shown_places(standing)))
    out = list[LeftOut]()
    chosen, again = set[str](), set[str]()
    if stands:
        out = [LeftOut(scored=item, reason="profile_kept") for _, item in lines.values() if _only_line(item.candidate)]
    else:
        found = choose_lines(
            [line for line, _ in lines.values()], tokens, lambda line: _line_cost(lines[line.id][1].candidate, layout)
        )
        chosen = {line.id for line, _ in found.lines}
        same = [one.line for one in found.others if one.reason == "duplicate"]
        again = {line.id for line in lines_said_by([line for line, _ in found.lines], same)}
        out = [
            LeftOut(scored=lines[one.line.id][1], reason=one.reason, tokens=one.tokens or None)
            for one in found.others
            if _only_line(lines[one.line.id][1].candidate) or one.line.id in again
        ]
    places = _shown_places((*standing, *chosen))
    items = list[Scored]()
    for item in new:
        line = item.candidate.line
        if line is not None and item.id in chosen:
            items.append(_as_required(item, line))
        elif not (_only_line(item.candidate) or item.id in chosen or item.id in again):
            items.append(item)
    said = defaultdict[str, list[str]](list)
    for line, _ in lines.values():
        if line.id in chosen and line.core:
            said[line.origin].append(line.core.strip(_CLAUSE_ENDS))
    kept, shown = _without_shown(items, places, said)
    return ProfileChoice(kept, (*out, *shown))


def _shown_places(ids: Iterable[str]) -> Places:
    """The places of the clauses among these ids, by message."""
    places = defaultdict[str, list[tuple[int, int]]](list)
    for id in ids:
        if (clause := parse_clause_name(id)) is not None:
            places[clause[0]].append(clause[1:])
    return places


def _only_line(candidate: Candidate) -> bool:
    """Whether the candidate is here as a line of the profile alone: nothing else offered it."""
    return candidate.line is not None and candidate.only_from(frozenset((PROFILE,)))


def _line_cost(candidate: Candidate, layout: Layout) -> int:
    named_apart = candidate._replace(id=f"{candidate.id}@{PROFILE}")  # a clause of this name may be written elsewhere
    return layout.cost(named_apart, candidate.text)


def _as_required(item: Scored, line: ProfileLine) -> Scored:
    standing = item.candidate._replace(required=True, category=line.kind, source=PROFILE)
    return item._replace(candidate=standing, score=line.worth, log_odds=log(line.worth / (1 - line.worth)))


def _without_shown(
    items: Sequence[Scored], places: Places, said: Mapping[str, Sequence[str]] = MappingProxyType({})
) -> tuple[list[Scored], tuple[LeftOut, ...]]:
    """The items without the clauses that are shown already, and without the messages of which most is; and those. `said` is
    what the lines say that were found in messages, by message."""
    if not places and not said:
        return list(items), ()
    kept, out = list[Scored](), list[LeftOut]()
    for item in items:
        if not item.candidate.required and (_is_shown(item.candidate, places) or _is_said(item.candidate, said)):
            out.append(LeftOut(scored=item, reason="already_shown"))
        else:
            kept.append(item)
    return kept, tuple(out)


def _is_shown(candidate: Candidate, places: Places) -> bool:
    clause = parse_clause_name(candidate.id)
    if clause is not None:
        id, start, end = clause
        return any(start < stop and begin < end for begin, stop in places.get(id, ()))
    shown = sum(end - start for start, end in places.get(candidate.id, ()))
    return shown > 0 and shown >= _MAX_SHOWN_SHARE * len(candidate.text)


def _is_said(candidate: Candidate, said: Mapping[str, Sequence[str]]) -> bool:
    """Whether a line of the profile says all that the clause, or a short message, does."""
    clause = parse_clause_name(candidate.id)
    id, text = candidate.id if clause is None else clause[0], candidate.text
    return any(core in text and len(text) <= len(core) + _SPARE_CHARS for core in said.get(id, ()))


# Many long texts take tens of milliseconds to pack, most of it for excerpts. Such a packing runs in a thread, so that
# the event loop stays free for other calls (ENGINE-8).


_PACKING_SHARE = 0.5
"""The share of the time after gathering (8 to 50 ms) that packing needs; with less, it is done the quick way."""
_WRITING_SECONDS = 0.004
"""Seconds before the answer is due at which an exact packing stops searching: the gate and the writing come after it."""
_CLOSING_SHARE = 0.35
"""The share of the time after gathering at which hasty packing ends: the gate needs the rest."""
_MAX_INLINE_CHARS = 32_000
"""Characters of candidates that are packed on the event loop."""


def room_for_new(assembly: Assembly, gathered: Gathered, standing: EarlierTexts, available: int, layout: Format) -> int:
    """The tokens for the directive and new items. For a model that binds its thinking something is left for later turns
    (INJECT-10)."""
    if not assembly.binds:
        return available - standing.cost
    directive = "" if gathered.directive is None else gathered.directive.text
    fixed = layout.total(directive, ()) if directive else 0
    return planned_room(available, standing, fixed, assembly.cap)


async def pack_in_time(
    assembly: Assembly,
    gathered: Gathered,
    ranked: Ranked,
    new: Sequence[Scored],
    layout: Format,
    bounds: Callable[[], Format],
    available: int,
    deadline: Deadline,
    clock: Clock,
) -> Packing:
    """Packs `new`, what of `ranked` doesn't stand in the prompt already, into `available` tokens. `bounds` opens a layout that
    costs each line by an upper bound of its tokens."""
    request, strategy, need = assembly.request, assembly.strategy, ranked.need
    directive = "" if gathered.directive is None else gathered.directive.text
    if _is_hurried(assembly, deadline, clock.steady(), _PACKING_SHARE) or need is None:
        return pack_by_bounds(
            new,
            ranked.dropped,
            available=available,
            layout=layout,
            bounds=bounds(),
            strategy=strategy,
            directive=directive,
            sensitivities=request.filters.sensitivities,
            needed=need is None or need.met,
            stop=lambda: deadline.closer(clock.steady(), _CLOSING_SHARE),
        )
    steady = clock.steady_in_thread()
    work = partial(
        pack,
        new,
        ranked.dropped,
        available=available,
        layout=layout,
        strategy=strategy,
        directive=directive,
        sensitivities=request.filters.sensitivities,
        price=assembly.token_price(ranked.kept, need, gathered, divided=ranked.divided),
        broad=gathered.query.broad,
        stop=lambda: deadline.missed(steady() + _WRITING_SECONDS),
    )
    packing = work() if sum(len(item.candidate.text) for item in new) <= _MAX_INLINE_CHARS else await asyncio.to_thread(work)
    return packing if need.met else withhold(packing, available, layout)


# The gate: the store is asked once more, right before the text is written, which items may be shown (PACK-8).


async def ask_gate(
    assembly: Assembly,
    packing: Packing,
    standing: EarlierTexts,
    store: ScopedStore,
    guard: Guard,
    patience: float | None,
    registered: Set[str],
) -> tuple[Packing, EarlierTexts]:
    """Asks the store once more which chosen items, and which items of earlier texts, may be shown. Where it can't answer within
    `patience` seconds, none of its items may; raises `Late` where no other item is left. The items of `registered` sources
    aren't the store's to judge."""
    request = assembly.request
    stored = {item.id for item in packing.chosen if not item.scored.candidate.only_from(registered)}
    before = standing.ids
    if not stored and not before:
        return packing, standing
    start: Any = partial(store.ask, AllowedIds(sorted(stored | before), request.at, request.filters))
    if standing.bound:
        start = partial(_with_presence, store, stored, before, request)
    others = {item.id for item in packing.chosen if item.id not in stored}
    try:
        passed = await guard.call("gate", start, (frozenset, set, _Passed), patience=patience)
    except Late:
        if not others:
            raise
        assembly.hurried, passed = True, _Passed(frozenset(), before if standing.bound else frozenset())
    new, earlier = passed if isinstance(passed, _Passed) else (passed, passed)
    standing = standing.passed(earlier)
    if standing.bound:
        assembly.known = standing.kept()
    return gate(packing, new | others), standing


class _Passed(NamedTuple):
    """The ids of new items that may be shown, and of items that stand in texts which may go on standing."""

    new: Set[str]
    earlier: Set[str]


async def _with_presence(store: ScopedStore, new: Set[str], before: Set[str], request: Request) -> _Passed:
    """For a model that binds its thinking, what stands already is asked about in another way (INJECT-10)."""
    at, filters = request.at, request.filters
    wanted = WantedInjections(ids=before, presence=True)
    allowed, kept = await asyncio.gather(
        store.ask(AllowedIds(sorted(new), at, filters)),
        store.ask(SessionInjections(lambda _: wanted, at, filters)),
    )
    return _Passed(frozenset(allowed), kept.present)


# Recall: the best candidates of a search, read no further down than the best can come from.


async def best_of(
    search: Callable[[SearchDepth], Awaitable[Gathered]],
    request: Request,
    said: RequestContents,
    strategy: Strategy,
    relevance: Relevance,
    limit: int,
) -> tuple[Scored, ...]:
    """The first `limit` of what a search of everything returns, scored.

    Messages beyond the best few aren't read, as none of them can be among the first. But a message stands for what was
    extracted from it, which may score far above it: where that may be a message that wasn't read, the search is done once more
    and reads everything. Measured with `limit` 10, that happens for 1 of 760 questions about what people told one another
    (LoCoMo), and for 33 of 179 about chats with an assistant (BEAM).
    """

    async def ranked(depth: SearchDepth) -> tuple[Scored, ...]:
        gathered = await search(depth)
        found = score(distinct(gathered.candidates, request, said), strategy, request.at, relevance, gathered.query)
        return split_at_floor(found, strategy.floor)[0]

    depth = recall_depth(limit, message_spread(strategy), min_relevance(strategy))
    found = await ranked(depth)
    best = once(found)[:limit]
    if len(found) >= depth.leading and source_missing(best, found):
        return once(await ranked(depth.unlimited()))[:limit]
    return best
