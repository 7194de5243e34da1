"""Profile stage: decides which lines always stand in this prompt, within the strategy's tokens for them (PERSON-1).

A session's first turn gets the profile, and keeps it: later turns add nothing to it. What the profile shows isn't shown again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import log
from types import MappingProxyType
from typing import NamedTuple

from germane.pipeline.gather.profile import PROFILE
from germane.pipeline.pack.cost import Layout
from germane.profile.choose import choose_lines, said_by
from germane.profile.shown_clause import stored_clause
from germane.types.candidate import Candidate, LeftOut, Scored
from germane.types.profile_line import ProfileLine

__all__ = ["ProfileChoice", "choose_profile"]

_ENDS = " .,;:!?。！？"
_SPARE = 12
"""Characters that a clause may have besides what a line says, to be shown by it."""
_MOSTLY = 0.7
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
            [line for line, _ in lines.values()], tokens, lambda line: _cost(lines[line.id][1].candidate, layout)
        )
        chosen = {line.id for line, _ in found.lines}
        same = [one.line for one in found.others if one.reason == "duplicate"]
        again = {line.id for line in said_by([line for line, _ in found.lines], same)}
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
            items.append(_standing(item, line))
        elif not (_only_line(item.candidate) or item.id in chosen or item.id in again):
            items.append(item)
    said = defaultdict[str, list[str]](list)
    for line, _ in lines.values():
        if line.id in chosen and line.core:
            said[line.origin].append(line.core.strip(_ENDS))
    kept, shown = _without_shown(items, places, said)
    return ProfileChoice(kept, (*out, *shown))


def _shown_places(ids: Iterable[str]) -> Places:
    """The places of the clauses among these ids, by message."""
    places = defaultdict[str, list[tuple[int, int]]](list)
    for id in ids:
        if (clause := stored_clause(id)) is not None:
            places[clause[0]].append(clause[1:])
    return places


def _only_line(candidate: Candidate) -> bool:
    """Whether the candidate is here as a line of the profile alone: nothing else offered it."""
    return candidate.line is not None and candidate.only_from(frozenset((PROFILE,)))


def _cost(candidate: Candidate, layout: Layout) -> int:
    named_apart = candidate._replace(id=f"{candidate.id}@{PROFILE}")  # a clause of this name may be written elsewhere
    return layout.cost(named_apart, candidate.text)


def _standing(item: Scored, line: ProfileLine) -> Scored:
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
    clause = stored_clause(candidate.id)
    if clause is not None:
        id, start, end = clause
        return any(start < stop and begin < end for begin, stop in places.get(id, ()))
    shown = sum(end - start for start, end in places.get(candidate.id, ()))
    return shown > 0 and shown >= _MOSTLY * len(candidate.text)


def _is_said(candidate: Candidate, said: Mapping[str, Sequence[str]]) -> bool:
    """Whether a line of the profile says all that the clause, or a short message, does."""
    clause = stored_clause(candidate.id)
    id, text = candidate.id if clause is None else clause[0], candidate.text
    return any(core in text and len(text) <= len(core) + _SPARE for core in said.get(id, ()))
