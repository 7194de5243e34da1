"""Plans about keys: issuing, rotating, revoking, noting their use."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from germane.errors import InvalidInput, NotFound
from germane.kinds.keys.plans import revoke
from germane.kinds.keys.reads import AddKey, ChangeKey, KeyById
from germane.kinds.keys.value import Grant, Key, NewKey, StoredKey, parse_token
from germane.kinds.keys.verifier import note_uses
from germane.types.plan import StoreDecision, replay
from germane_testing.builders import NOON
from germane_testing.injection_contract import a_key, issuing

DAY = timedelta(days=1)
OLD = a_key(agents=("support",), rights=("read",), note="gateway", expires_at=NOON + 30 * DAY, created_at=NOON - 60 * DAY)


def stored(key: Key | None) -> StoredKey | None:
    return None if key is None else StoredKey(key=key, digest=b"d" * 32)


def new_key(old: Key | None = None, **asked: Any) -> StoreDecision[NewKey]:
    return replay(issuing(replaces=None if old is None else old.id, **asked), {KeyById: stored(old)})


@pytest.mark.requirement("RPC-5", "SCOPE-2")
def test_a_key_is_of_one_org_and_opens_all_of_it_unless_told_otherwise() -> None:
    """By default a key allows every agent and both rights and has no end; the store gets the digest of its token."""
    decision = new_key()
    key, token = decision.outcome.key, decision.outcome.token
    assert (key.org, key.agents, key.rights, key.expires_at) == ("acme", None, ("read", "write"), None)
    (added,) = decision.changes
    assert isinstance(added, AddKey)
    assert (added.stored.key, added.stored.digest) == (key, parse_token(token).digest)


@pytest.mark.requirement("RPC-5")
def test_a_key_may_be_limited() -> None:
    """To agents, rights and a lifetime; names are deduplicated and rights sorted."""
    key = new_key(agents=["b", "a", "b"], rights=["write", "read"], lifetime=90 * DAY, note=" for  Ana ").outcome.key
    assert (key.agents, key.rights, key.expires_at) == (("b", "a"), ("read", "write"), NOON + 90 * DAY)
    assert key.note == "for Ana"
    assert new_key(rights=["read"]).outcome.key.rights == ("read",)


@pytest.mark.requirement("RPC-5")
def test_a_rotation_overlaps() -> None:
    """The new key is valid now, the old one until the overlap is over."""
    decision = new_key(OLD, overlap=DAY)
    (_, changed) = decision.changes
    assert isinstance(changed, ChangeKey)
    new, old = decision.outcome.key, changed.key
    assert (old.expires_at, old.replaced_by) == (NOON + DAY, new.id)
    assert [old.state(NOON), old.state(NOON + DAY)] == ["ending", "expired"]
    assert [key.holds(NOON + DAY - timedelta(microseconds=1)) for key in (old, new)] == [True, True]
    assert [key.holds(NOON + DAY) for key in (old, new)] == [False, True]


@pytest.mark.requirement("RPC-5")
def test_a_rotation_widens_nothing_by_leaving_something_out() -> None:
    """Agents, rights, note and lifetime are copied unless they are given."""
    new = new_key(OLD).outcome.key
    assert (new.agents, new.rights, new.note, new.expires_at) == (("support",), ("read",), "gateway", NOON + 90 * DAY)
    new = new_key(OLD, agents=["sales"], rights=["write"], note="", lifetime=DAY).outcome.key
    assert (new.agents, new.rights, new.note, new.expires_at) == (("sales",), ("write",), "", NOON + DAY)


@pytest.mark.requirement("RPC-5")
def test_an_overlap_never_lengthens_a_key() -> None:
    """Where the old key ends before the overlap does, its end stays."""
    decision = new_key(replace(OLD, expires_at=NOON + timedelta(hours=1)), overlap=DAY)
    assert decision.changes[1] == ChangeKey(
        replace(OLD, expires_at=NOON + timedelta(hours=1), replaced_by=decision.outcome.key.id)
    )
    now = new_key(OLD, overlap=timedelta(0))
    assert isinstance(now.changes[1], ChangeKey)
    assert not now.changes[1].key.holds(NOON)


@pytest.mark.requirement("RPC-5")
@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"revoked_at": NOON}, "revoked"),
        ({"expires_at": NOON}, "expired"),
        ({"replaced_by": "b" * 16}, "replace that one"),
    ],
)
def test_only_a_key_that_holds_is_replaced_and_once(changed: dict[str, Any], said: str) -> None:
    """The message says what to do instead."""
    with pytest.raises(InvalidInput, match=said):
        new_key(replace(OLD, **changed))


@pytest.mark.requirement("RPC-5", "SCOPE-3")
def test_a_key_of_another_org_is_not_there_to_be_replaced() -> None:
    """A missing key and another org's key give the same error."""
    told = []
    for old in (None, replace(OLD, org="other")):
        with pytest.raises(NotFound) as error:
            replay(issuing(replaces=OLD.id), {KeyById: stored(old)})
        told.append(str(error.value))
    assert told[0] == told[1]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"org": ""}, "org"),
        ({"org": 3}, "org"),
        ({"agents": []}, "agents must be 1 to 256"),
        ({"agents": "support"}, "agents must be a list"),
        ({"agents": ["a\n"]}, "agent must not hold control"),
        ({"rights": ["admin"]}, "rights must be some of read, write, not 'admin'"),
        ({"rights": []}, "rights is empty"),
        ({"rights": "read"}, "rights must be a list"),
        ({"lifetime": timedelta(0)}, "lifetime must be at least 1 s"),
        ({"lifetime": 90}, "lifetime must be a timedelta"),
        ({"lifetime": timedelta(days=9_999_999)}, "after the year 9999"),
        ({"note": "x" * 257}, "note"),
        ({"note": "a\x00b"}, "note must not hold control"),
    ],
)
def test_what_cant_be_used_is_named(asked: dict[str, Any], said: str) -> None:
    """Nothing is made of it."""
    with pytest.raises(InvalidInput, match=said):
        new_key(**asked)


def test_an_overlap_that_ends_before_it_begins_is_refused() -> None:
    """An overlap of zero is allowed, a negative one isn't."""
    with pytest.raises(InvalidInput, match="overlap must be at least 0 s"):
        new_key(OLD, overlap=-DAY)


@pytest.mark.requirement("RPC-5")
def test_a_key_is_revoked_once() -> None:
    """By its id or its token. Revoking again changes nothing, not even the time."""
    first = replay(revoke(OLD.id, at=NOON), {KeyById: stored(OLD)})
    assert first.changes == (ChangeKey(first.outcome),)
    assert first.outcome.state(NOON) == "revoked"
    again = replay(revoke(OLD.id, at=NOON + DAY), {KeyById: stored(first.outcome)})
    assert again == StoreDecision((), first.outcome)
    with pytest.raises(NotFound):
        replay(revoke("a secret typed wrong", at=NOON), {KeyById: None})


def test_an_unknown_key_is_refused_without_repeating_what_was_given() -> None:
    """It may have been a key."""
    wrong = "gk_" + "z" * 40
    with pytest.raises(NotFound) as error:
        replay(revoke(wrong, at=NOON), {KeyById: None})
    assert wrong not in str(error.value)


@pytest.mark.requirement("RPC-5")
def test_the_last_use_is_written_once_an_hour() -> None:
    """The first process writes it; keys that don't exist are skipped."""
    hour = timedelta(hours=1)
    for last, written in ((None, 1), (NOON - hour, 1), (NOON - hour + timedelta(microseconds=1), 0), (NOON + DAY, 0)):
        key = replace(OLD, last_used_at=last)
        decision = replay(note_uses({key.id: NOON}), {KeyById: stored(key)})
        assert decision.outcome == written
        assert decision.changes == ((ChangeKey(replace(key, last_used_at=NOON)),) if written else ())
    assert replay(note_uses({"gone": NOON}), {KeyById: None}) == StoreDecision((), 0)


@pytest.mark.requirement("RPC-5", "SCOPE-2")
def test_a_grant_allows_what_the_key_was_made_for_and_nothing_else() -> None:
    """Its org, its agents, its rights, all three."""
    grant = Grant.of(OLD)
    assert grant.allows("read", org="acme", agent="support")
    assert not grant.allows("write", org="acme", agent="support")
    assert not grant.allows("read", org="other", agent="support")
    assert not grant.allows("read", org="acme", agent="sales")
    everything = Grant.of(a_key())
    assert everything.allows("write", org="acme", agent="anything")
    assert not everything.allows("write", org="other", agent="anything")
    assert not Grant.of(a_key(agents=())).allows("read", org="acme", agent="support")
