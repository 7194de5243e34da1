"""Restore history: the plans that store archived entries and summaries of an export as they were."""

from __future__ import annotations

from collections.abc import Sequence

from germane.compaction.kept_history import KeptEntry, KeptSummary
from germane.compaction.operations import HandlesKept, HistoryIdsInUse, PutArchived, PutSummary, SummariesKept
from germane.transfer.placed import OTHER, TAKEN, Placed, decided
from germane.types.plan import Change, Plan, read

__all__ = ["restore_archived", "restore_summaries"]


def restore_archived(entries: Sequence[KeptEntry], *, strict: bool) -> Plan[Placed]:
    """Stores the entries whose handle their session's archive doesn't have. `strict`: where any of them clashes, none is
    stored."""
    use = yield from read(HistoryIdsInUse(tuple(one.id for one in entries)))
    held = set[tuple[str, str]]()
    for session in dict.fromkeys(one.session for one in entries):
        handles = tuple(one.entry.handle for one in entries if one.session == session)
        held |= {(session, handle) for handle in (yield from read(HandlesKept(session, handles)))}
    placed, changes, known = Placed(), list[Change](), dict(use.own)
    for index, one in enumerate(entries):
        under = (one.session, one.entry.handle, "")
        if one.id in use.forgotten:
            placed.forgotten += 1
        elif one.id in use.elsewhere:
            placed.clash(index, TAKEN)
        elif known.get(one.id, under) != under:
            placed.clash(index, OTHER)
        elif one.id in known or under[:2] in held:
            placed.known += 1
        else:
            known[one.id] = under
            held.add(under[:2])
            changes.append(PutArchived(one))
    return decided(placed, changes, strict)


def restore_summaries(summaries: Sequence[KeptSummary], *, strict: bool) -> Plan[Placed]:
    """Stores the summaries whose session has none with their fingerprint and method. `strict`: where any of them clashes, none
    is stored."""
    use = yield from read(HistoryIdsInUse(tuple(one.id for one in summaries)))
    held = set[tuple[str, ...]]()
    for session in dict.fromkeys(one.session for one in summaries):
        fingerprints = tuple(one.fingerprint for one in summaries if one.session == session)
        held |= {_under(one) for one in (yield from read(SummariesKept(session, fingerprints)))}
    placed, changes, known = Placed(), list[Change](), dict(use.own)
    for index, one in enumerate(summaries):
        under = _under(one)
        if one.id in use.forgotten:
            placed.forgotten += 1
        elif one.id in use.elsewhere:
            placed.clash(index, TAKEN)
        elif known.get(one.id, under) != under:
            placed.clash(index, OTHER)
        elif one.id in known or under in held:
            placed.known += 1
        else:
            known[one.id] = under
            held.add(under)
            changes.append(PutSummary(one))
    return decided(placed, changes, strict)


def _under(one: KeptSummary) -> tuple[str, ...]:
    return one.session, one.fingerprint, one.summary.method
