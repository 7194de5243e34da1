"""Match turns: finds the record of what was injected for each turn of a request (INJECT-6, INJECT-10)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace

from germane.injections.injection import InjectionHead, InjectionKey
from germane.pipeline.inject.turns import HumanTurn

__all__ = ["match_turns"]


def match_turns(turns: Sequence[HumanTurn], records: Sequence[InjectionHead], open: bool) -> dict[int, InjectionHead]:
    """The record of each turn, by the index of its message. Turns with the same key are matched in order, from the last:
    the first ones' records may be gone. Where the request has more of them than there are records, the newest is new. A turn
    whose chain has a record takes the latest one of it, before all others."""
    latest = {record.turn: record for record in records if record.prefix}
    if chained := {turn.index: latest[turn.chain] for turn in turns if turn.chain in latest}:
        taken = {record.key for record in chained.values()}
        rest = [turn for turn in turns if turn.index not in chained]
        others = [record for record in records if record.key not in taken]
        return chained | (_matched(rest, others, open and rest[-1] is turns[-1]) if rest else {})
    return _matched(turns, records, open)


def _matched(turns: Sequence[HumanTurn], records: Sequence[InjectionHead], open: bool) -> dict[int, InjectionHead]:
    place = {record.key: number for number, record in enumerate(records)}
    turns = _keyed_as_before(turns, records)
    found = _match_by_key(turns, records, open)
    if turns[0].index in found:
        # the records before the first turn's are those of turns that were cut off
        found = _match_by_key(turns, records[place[found[turns[0].index].key] :], open)
    _match_by_content(turns[:-1] if open else turns, records, found, place)
    newest = turns[-1]
    if open and newest.index in found:
        before = [place[found[turn.index].key] for turn in turns[:-1] if turn.index in found]
        if before and max(before) > place[found[newest.index].key]:
            # an older record than its predecessors' is that of another turn with the same words
            del found[newest.index]
    return found


def _keyed_as_before(turns: Sequence[HumanTurn], records: Sequence[InjectionHead]) -> Sequence[HumanTurn]:
    """The turns, the first of them with the key it had before its predecessor was cut off, where later turns with the same
    words have that key and no other record has the words: so they are counted together."""
    first = turns[0]
    keys = {record.turn for record in records if record.said == first.said}
    if first.first and first.key not in keys and len(keys) == 1 and any(turn.key in keys for turn in turns[1:]):
        return replace(first, key=keys.pop()), *turns[1:]
    return turns


def _match_by_key(turns: Sequence[HumanTurn], records: Sequence[InjectionHead], open: bool) -> dict[int, InjectionHead]:
    newest = turns[-1] if open else None
    of_key: dict[str, list[InjectionHead]] = defaultdict(list)
    for record in records:
        of_key[record.turn].append(record)
    groups: dict[str, list[HumanTurn]] = defaultdict(list)
    for turn in turns:
        groups[turn.key].append(turn)
    found: dict[int, InjectionHead] = {}
    for key, group in groups.items():
        kept = of_key[key]
        known = group[:-1] if newest is not None and group[-1] is newest and len(kept) < len(group) else group
        found |= {turn.index: record for turn, record in zip(reversed(known), reversed(kept), strict=False)}
    return found


def _match_by_content(
    turns: Sequence[HumanTurn],
    records: Sequence[InjectionHead],
    found: dict[int, InjectionHead],
    place: dict[InjectionKey, int],
) -> None:
    """Adds records for turns whose predecessor was cut off or edited: for the first turn of the request the latest record with
    its content that is older than the next turn's, else the only one, and for others the only one."""
    used = {record.key for record in found.values()}
    with_content: dict[str, list[InjectionHead]] = defaultdict(list)
    for record in records:
        with_content[record.said].append(record)
    open_turns = [turn for turn in turns if turn.index not in found and turn.said in with_content]
    counts = Counter(turn.said for turn in open_turns)
    for turn in reversed(open_turns):
        if not turn.first and counts[turn.said] > 1:
            continue
        options = [record for record in with_content[turn.said] if record.key not in used]
        if turn.first:
            later = [place[record.key] for index, record in found.items() if index > turn.index]
            older = [record for record in options if place[record.key] < min(later, default=len(records))]
            options = older[-1:] or options
        if len(options) == 1:
            found[turn.index] = options[0]
            used.add(options[0].key)
