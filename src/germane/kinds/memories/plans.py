"""Plans: how memories are made, stored, corrected, decided between and voted on (MEM-1, MEM-3, MEM-4, MEM-5).

Not here: near-duplicates, which the store links when a memory gets its vector (`conflicts.py`); forgetting
(`forgetting.py`); and any judgement of whether a text is worth remembering. What is no longer true is superseded with
`remember`; `update` corrects a memory in place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, get_args

from germane.errors import Conflict, InvalidInput, NotFound, Phrase
from germane.extraction.memories.statements import same_keys
from germane.kinds.memories.conflicts import Contradiction
from germane.kinds.memories.fields import (
    MAIN_FIELDS,
    a_kind,
    compose,
    content_fields,
    ends_after,
    moment,
    screened_attributes,
    screened_content,
    screened_provenance,
    tag_names,
)
from germane.kinds.memories.reads import (
    ConflictById,
    CountFeedback,
    CountRetrievals,
    EndMemory,
    FactsOnKey,
    MemoriesByHash,
    MemoriesById,
    PutConflict,
    PutMemory,
    ResolveConflict,
)
from germane.kinds.memories.value import Content, Fact, Memory
from germane.text.normal import content_hash
from germane.text.secrets.detection import SecretPolicy, SecretScreen
from germane.types.candidate import Provenance, Sensitivity
from germane.types.checks import check_entries, check_flag, check_number, check_one_of
from germane.types.limits import ID, REFERENCES
from germane.types.plan import Change, Decision, Plan, Read, read, uuid7
from germane.types.scope import Scope

_SAME_TIME = timedelta(seconds=1)
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
    return check_one_of("sensitivity", value, SENSITIVITIES)


def _or_none(name: str) -> Callable[[object, str], datetime | None]:
    return lambda value, zone: None if value is None else moment(name, value, zone)


ATTRIBUTES: Mapping[str, Callable[[object, str], Any]] = MappingProxyType(
    {
        "tags": lambda value, _: tag_names(value),
        "sensitivity": _sensitivity,
        "confidence": lambda value, _: check_number("confidence", value, 0, 1),
        "pinned": lambda value, _: check_flag("pinned", value),
        "expires_at": _or_none("expires_at"),
        "valid_from": lambda value, zone: moment("valid_from", value, zone),
        "valid_to": _or_none("valid_to"),
        "derived_from": lambda value, _: check_entries("derived_from", value, REFERENCES, ID),
    }
)
"""The attributes that memories of every kind have, each with its check `check(value, zone)`."""


def attributes(kind: str, given: Mapping[str, Any], zone: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Splits `given` into content fields (unchecked) and attributes (checked). Raises `InvalidInput` for other names."""
    fields = content_fields(kind)
    if strangers := sorted(set(given) - set(fields) - set(ATTRIBUTES)):
        allowed = ", ".join((*fields, *ATTRIBUTES))
        named = ", ".join(name[:40] for name in strangers[:5])
        raise InvalidInput(f"{a_kind(kind)} has no {{}}", Phrase(named), advice=f"what can be given is {allowed}")
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
    past, so that memories that have ended can be imported. The policy on `secrets` is applied to every field; the content hash
    is that of the text as it is stored. Raises `InvalidInput` and `UnknownName`.
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
    decision = place_fact(memory, [fact for fact in line if fact.valid_to is None or fact.valid_from < fact.valid_to])
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


def place_fact(memory: Memory, line: list[Memory]) -> Decision[Remembered]:
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
        if after is None and (fact.pinned or begins - fact.valid_from <= _SAME_TIME)
    ]
    outcome = Remembered(memory=memory, created=True, superseded=tuple(fact.id for fact in before))
    return Decision(tuple(changes), outcome)


def put_fact(memory: Memory) -> Plan[Memory]:
    """Stores a fact in the place of the one that holds under its key, or as a new one where none does; the outcome is the fact
    as stored. The id, the beginning and the counts stay, and the earlier value is no version of it. Nothing is written where
    nothing differs. Raises `Conflict` where the key has a fact without any of the tags of this one: somebody else's."""
    assert isinstance(memory.content, Fact)
    line = yield from read(FactsOnKey(memory.content.key, memory.created_at))
    held = [fact for fact in line if fact.holds(memory.created_at)]
    if not held:
        return Decision((PutMemory(memory),), memory)
    old = held[-1]
    if memory.tags and not set(memory.tags) & set(old.tags):
        raise Conflict("the key {} has a fact of another origin", memory.content.key, path="key")
    new = replace(
        old,
        content=memory.content,
        content_hash=memory.content_hash,
        updated_at=memory.updated_at,
        stale_since=None,
        expires_at=memory.expires_at,
        tags=memory.tags,
        sensitivity=memory.sensitivity,
        provenance=memory.provenance,
        secrets=memory.secrets,
    )
    unchanged = replace(new, updated_at=old.updated_at) == old
    return Decision((), old) if unchanged else Decision((PutMemory(new),), new)


# Corrections: a memory is changed in place, and the earlier text is no version of it.


def update(
    id: str,
    changes: Mapping[str, Any],
    *,
    text: str | None = None,
    at: datetime,
    scope: Scope,
    secrets: SecretPolicy = "redact",
) -> Plan[Memory]:
    """Applies `changes` (fields of the memory's kind, and `ATTRIBUTES`) and, where given, a new main `text`; the outcome is the
    memory, which isn't stale any more. Nothing is written where nothing differs. The policy on `secrets` is applied to the
    fields that are given.

    The memory must belong to the scope's own user: the scope of a user can't change an agent-wide memory, nor the other way
    round. Raises `NotFound`, and `InvalidInput` for an empty change, an unknown field, an invalid value, and a new key of a
    fact, whose timeline depends on it.
    """
    if not changes and text is None:
        raise InvalidInput("nothing to update", advice="give a text or a field")
    found = yield from read(MemoriesById((id,)))
    memory = found.get(id)
    if memory is None or memory.user != scope.user:
        raise NotFound("no memory {} here", id)
    given, about = attributes(memory.kind, changes, scope.zone)
    if "key" in given:
        raise InvalidInput("of a fact can't be changed", path="key", advice="remember it under the new key and forget this one")
    screen = SecretScreen(secrets, "the memory")
    held = {field.name: getattr(memory.content, field.name) for field in fields(memory.content)}
    if text is not None:
        main = MAIN_FIELDS[memory.kind]
        if main in given:
            raise InvalidInput(f"is given twice: it is what the text of {a_kind(memory.kind)} is", path=main)
        del held[main]
    content = compose(text, kind=memory.kind, given=held | given, zone=scope.zone)
    content = screened_content(content, set(given) | ({MAIN_FIELDS[memory.kind]} if text is not None else set()), screen)
    about = screened_attributes(about, screen, about.get("tags", memory.tags))
    changed = replace(memory, content=content, content_hash=hash_of(memory.kind, content), stale_since=None, **about)
    begins = "valid_from" in about
    ends = {name: end for name in ("expires_at", "valid_to") if (end := getattr(changed, name)) and (begins or name in about)}
    ends_after(changed.valid_from, given=True, **ends)
    secrets_found = dict(screen.found)
    if changed == memory:
        return Decision((), replace(memory, secrets=secrets_found))
    changed = replace(changed, updated_at=at, secrets=secrets_found)
    return Decision((PutMemory(changed),), changed)


# Conflicts: a person decides which of two memories is kept, or that both are.


BOTH = "both"


def resolve(id: str, keep: str, *, at: datetime) -> Plan[Contradiction]:
    """Closes the conflict; the outcome is the conflict as it was resolved. `keep` is the id of one of its two memories, or
    `both`, which changes nothing else.

    The memory that isn't kept ends at `at`, superseded by the other one. Where the kept memory is a fact that the other one had
    superseded, the other one was never true: it ends where it began, and the kept one takes its place in the timeline. Nothing
    is forgotten. Resolving a conflict again the same way changes nothing. Raises `NotFound`, and `InvalidInput` for another
    `keep`, and for a conflict that was resolved otherwise before.
    """
    conflict = yield from read(ConflictById(id))
    if conflict is None:
        raise NotFound("no conflict {} here", id)
    if keep not in (BOTH, conflict.older.id, conflict.newer.id):
        raise InvalidInput(f"{{}} is none of {conflict.older.id}, {conflict.newer.id} and {BOTH}", keep, path="keep")
    if conflict.resolved_at is not None:
        if conflict.kept != keep:
            raise InvalidInput(f"conflict {{}} was resolved before: {conflict.kept} was kept", id)
        return Decision((), conflict)
    changes: list[Change] = [ResolveConflict(id=id, kept=keep, at=at)]
    if keep != BOTH:
        kept, other = conflict.older, conflict.newer
        if keep == other.id:
            kept, other = other, kept
        changes += _keeping(kept, other, at)
    return Decision(tuple(changes), replace(conflict, resolved_at=at, kept=keep))


def _keeping(kept: Memory, other: Memory, at: datetime) -> list[Change]:
    if kept.superseded_by == other.id:
        restored = replace(kept, valid_to=other.valid_to, superseded_by=other.superseded_by, updated_at=at)
        return [EndMemory(id=other.id, at=other.valid_from, superseded_by=kept.id), PutMemory(restored)]
    if other.holds(at):
        return [EndMemory(id=other.id, at=at, superseded_by=kept.id)]
    return []


# Counts: votes on memories and their retrievals never change content (MEM-5).


def feedback(ids: Iterable[str], helpful: bool, *, scope: Scope) -> Plan[int]:
    """Counts one vote for each memory in `ids` that the scope owns; the outcome is their number. Repeated ids count once. Ids
    of messages, of other owners' memories and unknown ids are skipped, so the ids of a whole context can be given.

    Where the scope has a user, agent-wide memories are skipped too: a vote on them changes their usefulness for every user of
    the agent, so it takes a scope without a user. Raises `InvalidInput` where `helpful` isn't a bool.
    """
    check_flag("helpful", helpful)
    wanted = tuple(dict.fromkeys((ids,) if isinstance(ids, str) else ids))
    if not wanted:
        return Decision((), 0)
    found = yield from read(MemoriesById(wanted))
    own = tuple(id for id in wanted if id in found and found[id].user == scope.user)
    return Decision((CountFeedback(own, helpful),) if own else (), len(own))


def count_retrievals(ids: Iterable[str]) -> Plan[int]:
    """Adds one retrieval to a memory for each time that `ids` names it: a batch of several contexts names a memory once for
    each of them. Ids that aren't memories of the scope are skipped. The outcome is the length of `ids`."""
    yield from ()
    mentions = Counter(ids)
    rounds = range(max(mentions.values(), default=0))
    changes = tuple(CountRetrievals(tuple(id for id, times in mentions.items() if times > turn)) for turn in rounds)
    return Decision(changes, mentions.total())
