"""Remember: builds a new memory, and plans how storing it affects the memories already there (MEM-1, MEM-4).

Not here: near-duplicates, which the store links when a memory gets its vector (`link.py`), and any judgement of whether a text
is worth remembering.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, get_args

from germane.errors import InvalidInput
from germane.memories.checks import ends_after, flag, moment, share, tag_names
from germane.memories.compose import a_kind, compose, content_fields
from germane.memories.extraction.keys import same_keys
from germane.memories.memory import Content, Fact, Memory
from germane.memories.operations import EndMemory, FactsOnKey, MemoriesByHash, PutConflict, PutMemory
from germane.memories.screened_content import screened_attributes, screened_content, screened_provenance
from germane.text.normal import content_hash
from germane.text.secrets.screen import SecretPolicy, SecretScreen
from germane.types.candidate import Provenance, Sensitivity
from germane.types.ids import uuid7
from germane.types.limits import ID, REFERENCES, entries, shown
from germane.types.plan import Change, Decision, Plan, Read, read
from germane.types.scope import Scope

__all__ = ["ATTRIBUTES", "Remembered", "attributes", "hash_of", "new_memory", "place", "remember", "repeats"]

AT_ONCE = timedelta(seconds=1)
"""Two values of a fact that begin within this time were stated at the same time."""
SENSITIVITIES: tuple[Sensitivity, ...] = get_args(Sensitivity)


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """`memory` is the stored memory. `created` is false where it is an exact duplicate that was stored before. `superseded` are
    the ids of the facts whose validity the new memory ended."""

    memory: Memory
    created: bool
    superseded: tuple[str, ...] = ()


def _sensitivity(value: object, _: str) -> Sensitivity:
    for known in SENSITIVITIES:
        if value == known:
            return known
    raise InvalidInput(f"sensitivity {shown(value)} is unknown: it is one of {', '.join(SENSITIVITIES)}")


def _or_none(name: str) -> Callable[[object, str], datetime | None]:
    return lambda value, zone: None if value is None else moment(name, value, zone)


ATTRIBUTES: Mapping[str, Callable[[object, str], Any]] = MappingProxyType(
    {
        "tags": lambda value, _: tag_names(value),
        "sensitivity": _sensitivity,
        "confidence": lambda value, _: share("confidence", value),
        "pinned": lambda value, _: flag("pinned", value),
        "expires_at": _or_none("expires_at"),
        "valid_from": lambda value, zone: moment("valid_from", value, zone),
        "valid_to": _or_none("valid_to"),
        "derived_from": lambda value, _: entries("derived_from", value, REFERENCES, ID),
    }
)
"""The attributes that memories of every kind have, each with its check `check(value, zone)`."""


def attributes(kind: str, given: Mapping[str, Any], zone: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Splits `given` into content fields (unchecked) and attributes (checked). Raises `InvalidInput` for other names."""
    fields = content_fields(kind)
    if strangers := sorted(set(given) - set(fields) - set(ATTRIBUTES)):
        allowed = ", ".join((*fields, *ATTRIBUTES))
        named = ", ".join(name[:40] for name in strangers[:5])
        raise InvalidInput(f"{a_kind(kind)} has no {named}: what can be given is {allowed}")
    content = {name: value for name, value in given.items() if name in fields}
    return content, {name: ATTRIBUTES[name](value, zone) for name, value in given.items() if name in ATTRIBUTES}


def hash_of(kind: str, content: Content) -> int:
    """Returns a 64-bit hash of the kind and the text with single blanks. The text's case is folded except in facts, where
    values may differ by case."""
    text = content.text if isinstance(content, Fact) else content.text.casefold()
    return content_hash(kind, " ".join(text.split()))


def new_memory(
    text: str | None = None,
    *,
    kind: str = "note",
    scope: Scope,
    now: datetime,
    make_id: Callable[[int], str] = uuid7,
    provenance: Provenance | None = None,
    given: Mapping[str, Any] | None = None,
    secrets: SecretPolicy = "redact",
) -> Memory:
    """Returns a memory of the scope's user (agent-wide without one) that isn't stored yet.

    `given` holds fields of the kind and `ATTRIBUTES`, by name. The memory is valid from `valid_from`, where that isn't given
    from a fact's `observed_at`, else from `now`. Its end (`valid_to`, `expires_at`) must lie after that; both may lie in the
    past, so that history can be imported. The policy on `secrets` is applied to every field; the content hash is
    that of the text as it is stored. Raises `InvalidInput` and `UnknownName`.
    """
    screen = SecretScreen(secrets, "the memory")
    fields, about = attributes(kind, given or {}, scope.zone)
    content = compose(text, kind=kind, given=fields, zone=scope.zone)
    content = screened_content(content, content_fields(kind), screen)
    provenance = Provenance(session=scope.session) if provenance is None else screened_provenance(provenance, screen)
    about = screened_attributes(about, screen, about.get("tags", ()))
    observed = content.observed_at if isinstance(content, Fact) else None
    about.setdefault("valid_from", observed or now)
    memory = Memory(
        id=make_id(int(now.timestamp() * 1000)),
        kind=kind,
        content=content,
        user=scope.user,
        created_at=now,
        updated_at=now,
        content_hash=hash_of(kind, content),
        provenance=provenance,
        secrets=dict(screen.found),
        **about,
    )
    given_too = observed is not None or "valid_from" in (given or {})
    ends_after(memory.valid_from, given=given_too, expires_at=memory.expires_at, valid_to=memory.valid_to)
    return memory


def remember(memory: Memory) -> Plan[Remembered]:
    """Stores `memory`, unless a memory with the same normalised text, kind and owner is valid already: then that memory is the
    outcome, with the stricter sensitivity of the two.

    The facts with one key form a timeline ordered by `valid_from`: a newer fact ends the fact before it; a fact that arrives
    late is inserted at its place and ends where the next one begins. A fact that supersedes a pinned fact becomes pinned. That
    a fact was repeated isn't stored: a late fact between the two statements ends it all the same.

    What superseding can't decide is recorded as a conflict besides: the fact that is ended was pinned, or it had begun within
    the second before, as when two clients supersede a fact at once.
    """
    same = yield from read(MemoriesByHash(memory.content_hash, min(memory.valid_from, memory.created_at)))
    for twin in same:
        if twin.kind == memory.kind and repeats(memory, twin):
            stricter = max(twin.sensitivity, memory.sensitivity, key=SENSITIVITIES.index)
            if stricter == twin.sensitivity:
                return Decision((), Remembered(memory=replace(twin, secrets=memory.secrets), created=False))
            twin = replace(twin, sensitivity=stricter, updated_at=memory.created_at, secrets=memory.secrets)
            return Decision((PutMemory(twin),), Remembered(memory=twin, created=False))
    if not isinstance(memory.content, Fact):
        return Decision((PutMemory(memory),), Remembered(memory=memory, created=True))
    line = yield from read(FactsOnKey(memory.content.key, memory.valid_from))
    decision = place(memory, [fact for fact in line if fact.valid_to is None or fact.valid_from < fact.valid_to])
    found = yield from _found_by_other_names(memory, memory.content.key)
    ended = tuple(EndMemory(id=fact.id, at=memory.valid_from, superseded_by=memory.id) for fact in found)
    superseded = (*decision.outcome.superseded, *(fact.id for fact in found))
    return Decision((*decision.changes, *ended), replace(decision.outcome, superseded=superseded))


def _found_by_other_names(memory: Memory, key: str) -> Generator[Read[Any], Any, list[Memory]]:
    """The facts that were found in messages under another key that means the same, and hold when the memory begins. What was
    stated on purpose under another key is another fact."""
    found: list[Memory] = []
    for name in same_keys(key):
        if name != key:
            found += yield from read(FactsOnKey(name, memory.valid_from))
    return [fact for fact in found if "extracted" in fact.provenance.metadata and fact.holds(memory.valid_from)]


def repeats(memory: Memory, twin: Memory) -> bool:
    """Whether `twin` already says the same: it is valid when `memory` begins or, unless that is a fact, now."""
    return twin.holds(memory.valid_from) or (not isinstance(memory.content, Fact) and twin.holds(memory.created_at))


def place(memory: Memory, line: list[Memory]) -> Decision[Remembered]:
    """Puts a fact into the timeline of its key. `line` are the key's facts by `valid_from`, at least those that haven't ended
    when it begins."""
    begins = memory.valid_from
    after = next((fact for fact in line if fact.valid_from > begins), None)
    before = [fact for fact in line if fact.valid_from <= begins and (fact.valid_to is None or fact.valid_to > begins)]
    if after is not None and (memory.valid_to is None or memory.valid_to > after.valid_from):
        memory = replace(memory, valid_to=after.valid_from, superseded_by=after.id)
    if after is None and any(fact.pinned for fact in before):
        memory = replace(memory, pinned=True)
    changes: list[Change] = [PutMemory(memory)]
    changes += [EndMemory(id=fact.id, at=begins, superseded_by=memory.id) for fact in before]
    changes += [
        PutConflict(older=fact.id, newer=memory.id, reason="pinned" if fact.pinned else "same_time", at=memory.created_at)
        for fact in before
        if after is None and (fact.pinned or begins - fact.valid_from <= AT_ONCE)
    ]
    outcome = Remembered(memory=memory, created=True, superseded=tuple(fact.id for fact in before))
    return Decision(tuple(changes), outcome)
