"""Plans: make a new key, let the key that it replaces end after an overlap, and revoke a key."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import ClassVar, Protocol, TypeVar, cast

from germane.errors import InvalidInput, NotFound
from germane.kinds.keys.value import RIGHTS, Key, NewKey, Right, StoredKey, key_id, make_token, parse_token
from germane.kinds.memories.fields import label
from germane.types.limits import AGENTS, NAMES, check_size
from germane.types.plan import Change, Decision, Plan, Read, TextOf, read
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
) -> Plan[NewKey]:
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
    changes: tuple[Change, ...] = ()
    if replaces is not None:
        end = _after(at, "overlap", overlap, minimum=timedelta(0))
        old = yield from read(KeyById(key_id(replaces) or ""))
        if old is None or old.org != key.org:
            raise NotFound("no key with this id in org {} to replace (germane keys list shows ids)", key.org)
        _replaceable(old, at)
        key = _inheriting(key, old, request)
        ends = end if old.expires_at is None else min(end, old.expires_at)
        changes = (ChangeKey(replace(old, expires_at=ends, replaced_by=id)),)
    stored = StoredKey(key=key, digest=parse_token(token).digest)
    return Decision((AddKey(stored), *changes), NewKey(key=key, token=token))


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
        raise InvalidInput(f"agents must be a list of names, not {type(given).__name__}")
    agents = tuple(islice(given, AGENTS.maximum + 1))
    if not 1 <= len(agents) <= AGENTS.maximum:
        raise InvalidInput(f"agents must be 1 to {AGENTS.maximum} names, not {len(agents)} (left out: every agent)")
    return tuple(dict.fromkeys(Scope(agent=agent).agent for agent in agents))


def _rights(given: Iterable[str]) -> tuple[Right, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidInput(f"must be a list of names, not {type(given).__name__}", path="rights")
    named = tuple(islice(given, NAMES.maximum + 1))
    check_size("rights", len(named), NAMES, at_least=True)
    for name in named:
        if name not in RIGHTS:
            raise InvalidInput(f"must be of {', '.join(RIGHTS)}, not {{}}", name, path="rights")
    if not named:
        raise InvalidInput("is empty", path="rights", advice=f"name some of {', '.join(RIGHTS)}")
    return tuple(right for right in RIGHTS if right in cast("tuple[Right, ...]", named))


def _after(at: datetime, name: str, duration: timedelta, *, minimum: timedelta = timedelta(seconds=1)) -> datetime:
    if not isinstance(duration, timedelta):
        raise InvalidInput(f"must be a timedelta, not {type(duration).__name__}", path=name)
    if duration < minimum:
        raise InvalidInput(f"must be at least {minimum.seconds} s, not {duration.total_seconds():g} s", path=name)
    try:
        return at + duration
    except OverflowError:
        raise InvalidInput(f"{name} of {duration.days:,} days ends after the year 9999", advice="give a shorter one") from None


# A revoked key stays in the list.


def revoke(id: str, *, at: datetime) -> Plan[Key]:
    """Revokes the key with this id; `id` may also be the whole token. The outcome is the revoked key. Idempotent. Raises
    `NotFound`."""
    key = yield from read(KeyById(key_id(id) or ""))
    if key is None:
        raise NotFound("no key with this id (germane keys list shows ids)")
    if key.revoked_at is not None:
        return Decision((), key)
    revoked = replace(key, revoked_at=at)
    return Decision((ChangeKey(revoked),), revoked)


# Reads: what a store answers about API keys: the reads and changes of plans, and the store's protocol. Keys belong to
# no scope: a caller's scope follows from its key.


@dataclass(frozen=True, slots=True)
class KeyById(Read[Key | None]):
    """The key with this id, or None."""

    id: str


@dataclass(frozen=True, slots=True)
class AddKey(Change):
    """Inserts a key. Where its id exists already, the commit raises `Conflict` and nothing of the plan is written."""

    text_of: ClassVar[TextOf] = "somebody"
    stored: StoredKey


@dataclass(frozen=True, slots=True)
class ChangeKey(Change):
    """Replaces the properties of the key with this id; its digest stays. Does nothing where there is no such key."""

    text_of: ClassVar[TextOf] = "somebody"
    key: Key


T = TypeVar("T")


class KeyStore(Protocol):
    """Every `Store` has one, as `keys`. Keys aren't content: changes to them raise no revision."""

    async def find(self, id: str) -> StoredKey | None:
        """Returns the key with this id as stored now, whatever its state; None where there is none. One small read outside the
        event loop."""

    async def list(self, org: str | None = None) -> tuple[Key, ...]:
        """Returns all keys, or those of one org, oldest first."""

    async def commit(self, plan: Plan[T]) -> T:
        """Runs the plan in one transaction and returns its outcome once its changes are durable. Raises what the plan raises,
        and `StoreUnavailable` where nothing can be written."""
