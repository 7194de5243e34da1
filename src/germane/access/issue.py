"""Issue: a new key, alone or in the place of another one that goes on for a while."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import cast

from germane.access.key import RIGHTS, Key, NewKey, Right, StoredKey
from germane.access.operations import AddKey, ChangeKey, KeyById
from germane.access.token import key_id, mint, presented
from germane.errors import InvalidInput, NotFound
from germane.memories.checks import label
from germane.types.limits import AGENTS, NAMES, shown, within
from germane.types.plan import Change, Decision, Plan, read
from germane.types.scope import Scope

__all__ = ["KeyRequest", "issue"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRequest:
    """What a caller asks of a new key; None leaves it to the default, or to the key that is replaced."""

    org: str
    agents: Iterable[str] | None = None
    rights: Iterable[str] | None = None
    lifetime: timedelta | None = None
    note: str | None = None


def issue(
    wanted: KeyRequest,
    *,
    replaces: str | None,
    overlap: timedelta,
    at: datetime,
    randomness: Callable[[int], bytes],
) -> Plan[NewKey]:
    """A new key. With `replaces`, what isn't said is taken over from that key, its lifetime too, so that a rotation can't widen
    anything by leaving something out; the old one ends after `overlap`, or earlier if it would have. Only a key that still
    holds and hasn't been replaced before can be.

    The outcome has the token, which is nowhere else. Raises `InvalidInput`, or `NotFound` where the org has no such key.
    """
    id, token = mint(randomness)
    key = Key(
        id=id,
        org=Scope(org=wanted.org).org,
        agents=None if wanted.agents is None else _agents(wanted.agents),
        rights=RIGHTS if wanted.rights is None else _rights(wanted.rights),
        note="" if not wanted.note else label("note", wanted.note),
        created_at=at,
        expires_at=None if wanted.lifetime is None else _after(at, "lifetime", wanted.lifetime),
    )
    changes: tuple[Change, ...] = ()
    if replaces is not None:
        end = _after(at, "overlap", overlap, least=timedelta(0))
        old = yield from read(KeyById(key_id(replaces) or ""))
        if old is None or old.org != key.org:
            raise NotFound(f"no key with this id in org {key.org!r} to replace (germane keys list shows ids)")
        _replaceable(old, at)
        key = _inheriting(key, old, wanted)
        ends = end if old.expires_at is None else min(end, old.expires_at)
        changes = (ChangeKey(replace(old, expires_at=ends, replaced_by=id)),)
    stored = StoredKey(key=key, digest=presented(token).digest)
    return Decision((AddKey(stored), *changes), NewKey(key=key, token=token))


def _replaceable(old: Key, at: datetime) -> None:
    if old.replaced_by is not None:
        raise InvalidInput(f"key {old.id} has been replaced by {old.replaced_by}: replace that one")
    if not old.holds(at):
        raise InvalidInput(f"key {old.id} is {old.state(at)}, there is nothing to overlap with: make a key without replacing")


def _inheriting(key: Key, old: Key, wanted: KeyRequest) -> Key:
    lifetime = None if old.expires_at is None else old.expires_at - old.created_at
    return replace(
        key,
        agents=old.agents if wanted.agents is None else key.agents,
        rights=old.rights if wanted.rights is None else key.rights,
        note=old.note if wanted.note is None else key.note,
        expires_at=key.expires_at if lifetime is None or wanted.lifetime else _after(key.created_at, "lifetime", lifetime),
    )


def _agents(given: Iterable[str]) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidInput(f"agents must be a list of names, not {type(given).__name__}")
    agents = tuple(islice(given, AGENTS.most + 1))
    if not 1 <= len(agents) <= AGENTS.most:
        raise InvalidInput(f"agents must be 1 to {AGENTS.most} names, not {len(agents)} (left out: every agent)")
    return tuple(dict.fromkeys(Scope(agent=agent).agent for agent in agents))


def _rights(given: Iterable[str]) -> tuple[Right, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidInput(f"rights must be a list of names, not {type(given).__name__}")
    named = tuple(islice(given, NAMES.most + 1))
    within("rights", len(named), NAMES, least=True)
    for name in named:
        if name not in RIGHTS:
            raise InvalidInput(f"rights must be of {', '.join(RIGHTS)}, not {shown(name)}")
    if not named:
        raise InvalidInput(f"rights is empty: name some of {', '.join(RIGHTS)}")
    return tuple(right for right in RIGHTS if right in cast("tuple[Right, ...]", named))


def _after(at: datetime, name: str, duration: timedelta, *, least: timedelta = timedelta(seconds=1)) -> datetime:
    if not isinstance(duration, timedelta):
        raise InvalidInput(f"{name} must be a timedelta, not {type(duration).__name__}")
    if duration < least:
        raise InvalidInput(f"{name} must be at least {least.seconds} s, not {duration.total_seconds():g} s")
    try:
        return at + duration
    except OverflowError:
        raise InvalidInput(f"{name} of {duration.days:,} days ends after the year 9999: give a shorter one") from None
