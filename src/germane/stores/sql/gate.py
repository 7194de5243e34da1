"""Gate: which of some ids a scope may see now, each with a hash of what is shown of it (PACK-8, INJECT-6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import Any

from germane.kinds.injections import KeptInjections, PutInjection, SessionInjections
from germane.kinds.inventory import AllowedIds
from germane.stores.sql.injections import put_injection, session_records
from germane.stores.sql.kind import GateQuestion
from germane.stores.sql.kinds import KINDS
from germane.stores.sql.reading import Answers, ScopeReading
from germane.stores.sql.statements import rows, to_json
from germane.stores.sql.tasks.task_rows import delegated_session
from germane.stores.sql.transaction import Appliers, ScopeWriting
from germane.types.candidate import Sensitivity
from germane.types.query import EVERY_SENSITIVITY, Filters

_WHATEVER_HOLDS = replace(EVERY_SENSITIVITY, with_ended=True)


def allowed_of(reading: ScopeReading, ids: Sequence[str], at: datetime, held: Filters) -> dict[str, int]:
    """Returns those of `ids` that may be shown to the scope that asks, each with its content hash. `held` are its
    `held_filters`."""
    return allowed_now(_asked(reading, at, held), ids)


def present_of(reading: ScopeReading, ids: Sequence[str], held: Filters) -> frozenset[str]:
    """Returns those of `ids` of which a text may go on standing for the scope that asks. `held` are its `held_filters`."""
    return present_now(_asked(reading, datetime.min, held), ids)


def _asked(reading: ScopeReading, at: datetime, held: Filters) -> GateQuestion:
    filters = _of_gate(held.sensitivities, held.with_ended)
    return GateQuestion(reading.connection, reading.visible, reading.scope.user, at, filters)


def held_filters(reading: ScopeReading, filters: Filters) -> Filters:
    """Returns the filters; in the session of a delegated agent with the sensitivities alone that its parent allowed."""
    given = delegated_session(reading.connection, reading.scope)
    if given is None:
        return filters
    return replace(filters, sensitivities=tuple(one for one in filters.sensitivities if one in given.allowed))


def allowed_now(asked: GateQuestion, ids: Sequence[str]) -> dict[str, int]:
    """Returns those of `ids` that may be shown, each with its content hash. One statement finds what most assemblies show;
    other kinds are asked for what is left. A kind that none of the ids can be of needs no statement."""
    if not ids or not asked.visible or not asked.filters.sensitivities:
        return {}
    wanted = to_json(ids)
    parts, bound = list[str](), list[Any]()
    for joined in _JOINED:
        sql, values = joined(asked)
        parts.append(sql)
        bound += (wanted, *values)
    found: dict[str, int] = dict(rows(asked.connection, " UNION ALL ".join(parts), bound))
    rest = [id for id in ids if id not in found]
    for named, shown in _OTHERS:
        if not rest:
            break
        if named is None:
            found |= shown(asked, rest)
            rest = [id for id in rest if id not in found]
        elif theirs := [id for id in rest if named(id)]:
            found |= shown(asked, theirs)
            rest = [id for id in rest if not named(id)]
    return found


_JOINED = [kind.joined for kind in KINDS if kind.joined is not None]
_OTHERS = [(kind.named, kind.shown) for kind in sorted(KINDS, key=lambda kind: kind.asked_last) if kind.shown is not None]
"""The other kinds, in the order in which they are asked."""


def present_now(asked: GateQuestion, ids: Sequence[str]) -> frozenset[str]:
    """Returns those of `ids` of which a text may go on standing (INJECT-10): they are stored, visible and of an allowed
    sensitivity, whatever their present content is and whether they still hold."""
    wide = asked._replace(at=datetime.min, filters=_of_gate(asked.filters.sensitivities, True))
    found = frozenset(allowed_now(wide, ids))
    rest = [id for id in ids if id not in found]
    return found.union(*(kind.stands(wide, rest) for kind in KINDS)) if rest else found


@lru_cache(maxsize=64)
def _of_gate(sensitivities: tuple[Sensitivity, ...], with_ended: bool) -> Filters:
    """Returns filters with nothing else. They are checked when they are made, so the few that there are get kept."""
    return Filters(sensitivities=sensitivities, with_ended=with_ended)


# What was injected of these things is read, and kept, by the same rules.


def _session_injections(reading: ScopeReading, read: SessionInjections) -> KeptInjections:
    if reading.scope.session is None:
        return KeptInjections()
    heads, records, wanted = session_records(reading.connection, reading.own, reading.scope.session, read.wanting)
    ids = sorted({item.id for record in records for item in record.items if item.stored} | wanted.ids)
    held = held_filters(reading, read.filters)
    present = present_of(reading, ids, held) if wanted.presence else frozenset()
    return KeptInjections(heads, records, allowed_of(reading, ids, read.at, held), present)


def _put_injection(writing: ScopeWriting, change: PutInjection) -> None:
    """Writes nothing where an item isn't stored any more; and, unless the record's text has to go on standing, where one isn't
    stored with the content that it was made from."""
    partition, record = writing.own_id(), change.injection
    hashes = {item.id: item.content_hash for item in record.items if item.stored}
    if record.prefix:
        kept = present_of(writing, list(hashes), EVERY_SENSITIVITY).issuperset(hashes)
    else:
        shown = allowed_of(writing, list(hashes), datetime.min, _WHATEVER_HOLDS)
        kept = all(shown.get(id) == content_hash for id, content_hash in hashes.items())
    if kept:
        put_injection(writing.connection, partition, change)


GATE_READS: Answers = {
    AllowedIds: lambda reading, read: frozenset(allowed_of(reading, read.ids, read.at, held_filters(reading, read.filters))),
    SessionInjections: _session_injections,
}
GATE_CHANGES: Appliers = {PutInjection: _put_injection}
