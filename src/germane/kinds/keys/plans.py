"""Plans: make a new key, let the key that it replaces end after an overlap, and revoke a key."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import cast

from germane.errors import InvalidInput, NotFound
from germane.kinds.keys.reads import AddKey, ChangeKey, KeyById
from germane.kinds.keys.value import RIGHTS, Key, NewKey, Right, StoredKey, key_id, make_token, parse_token
from germane.kinds.memories.fields import label
from germane.types.checks import check_size, check_some_of, check_type
from germane.types.limits import AGENTS, NAMES
from germane.types.plan import StoreChange, StoreDecision, StorePlan, read
from germane.types.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRequest:
    """The properties of a new key. A property that is None is copied from the replaced key, or is the default where no key is
    replaced."""

    org: str
    agents: Iterable[str] | None = None
    rights: Iterable[str] | None = None
    lifetime: timedelta | None = None
    note: str | None = None


def issue(
    request: KeyRequest,
    *,
    replaces: str | None,
    overlap: timedelta,
    at: datetime,
    randomness: Callable[[int], bytes],
) -> StorePlan[NewKey]:
    """Makes a new key; the outcome holds its token, which is stored nowhere.

    `replaces` is the id or the token of a key of the same org that is still valid and wasn't replaced before. Properties that
    `request` omits, the lifetime included, are copied from it, so that a rotation never widens what a key allows by omission.
    The replaced key ends after `overlap`, or at its own end where that is earlier. `randomness(n)` returns n secret bytes.

    Raises `InvalidInput`, and `NotFound` where the org has no key `replaces`.
    """
    id, token = make_token(randomness)
    key = Key(
        id=id,
        org=Scope(org=request.org).org,
        agents=None if request.agents is None else _agents(request.agents),
        rights=RIGHTS if request.rights is None else _rights(request.rights),
        note="" if not request.note else label("note", request.note),
        created_at=at,
        expires_at=None if request.lifetime is None else _after(at, "lifetime", request.lifetime),
    )
    changes: tuple[StoreChange, ...] = ()
    if replaces is not None:
        end = _after(at, "overlap", overlap, minimum=timedelta(0))
        found = yield from read(KeyById(key_id(replaces) or ""))
        if found is None or found.key.org != key.org:
            raise NotFound("no key with this id in org {} to replace (germane keys list shows ids)", key.org)
        old = found.key
        _replaceable(old, at)
        key = _inheriting(key, old, request)
        ends = end if old.expires_at is None else min(end, old.expires_at)
        changes = (ChangeKey(replace(old, expires_at=ends, replaced_by=id)),)
    stored = StoredKey(key=key, digest=parse_token(token).digest)
    return StoreDecision((AddKey(stored), *changes), NewKey(key=key, token=token))


def _replaceable(old: Key, at: datetime) -> None:
    if old.replaced_by is not None:
        raise InvalidInput(f"key {old.id} has been replaced by {old.replaced_by}: replace that one")
    if not old.holds(at):
        raise InvalidInput(
            f"key {old.id} is {old.state(at)}, there is nothing to overlap with", advice="make a key without replacing"
        )


def _inheriting(key: Key, old: Key, request: KeyRequest) -> Key:
    lifetime = None if old.expires_at is None else old.expires_at - old.created_at
    return replace(
        key,
        agents=old.agents if request.agents is None else key.agents,
        rights=old.rights if request.rights is None else key.rights,
        note=old.note if request.note is None else key.note,
        expires_at=key.expires_at if lifetime is None or request.lifetime else _after(key.created_at, "lifetime", lifetime),
    )


def _agents(given: Iterable[str]) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidInput(f"must be a list of names, not {type(given).__name__}", path="agents")
    agents = tuple(islice(given, AGENTS.maximum + 1))
    if not 1 <= len(agents) <= AGENTS.maximum:
        problem = f"must be 1 to {AGENTS.maximum} names, not {len(agents)}"
        raise InvalidInput(problem, path="agents", advice="leave it out for every agent")
    return tuple(dict.fromkeys(Scope(agent=agent).agent for agent in agents))


def _rights(given: Iterable[str]) -> tuple[Right, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidInput(f"must be a list of names, not {type(given).__name__}", path="rights")
    named = tuple(islice(given, NAMES.maximum + 1))
    check_size("rights", len(named), NAMES, at_least=True)
    check_some_of("rights", named, RIGHTS)
    if not named:
        raise InvalidInput("is empty", path="rights", advice=f"name some of {', '.join(RIGHTS)}")
    return tuple(right for right in RIGHTS if right in cast("tuple[Right, ...]", named))


def _after(at: datetime, name: str, duration: timedelta, *, minimum: timedelta = timedelta(seconds=1)) -> datetime:
    check_type(name, duration, timedelta, "a timedelta")
    if duration < minimum:
        raise InvalidInput(f"must be at least {minimum.seconds} s, not {duration.total_seconds():g} s", path=name)
    try:
        return at + duration
    except OverflowError:
        raise InvalidInput(
            f"of {duration.days:,} days ends after the year 9999", path=name, advice="give a shorter one"
        ) from None


# A revoked key stays in the list.


def revoke(id: str, *, at: datetime) -> StorePlan[Key]:
    """Revokes the key with this id; `id` may also be the whole token. The outcome is the revoked key. Idempotent. Raises
    `NotFound`."""
    found = yield from read(KeyById(key_id(id) or ""))
    if found is None:
        raise NotFound("no key with this id (germane keys list shows ids)")
    if found.key.revoked_at is not None:
        return StoreDecision((), found.key)
    revoked = replace(found.key, revoked_at=at)
    return StoreDecision((ChangeKey(revoked),), revoked)
