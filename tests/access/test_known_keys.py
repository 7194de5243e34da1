"""What is known of keys without asking: good ones only, bounded, by digest, to their end and no longer."""

from __future__ import annotations

from datetime import timedelta

import pytest

from germane.access.key_cache import KeyCache
from germane.testing.key_contract import a_key
from germane.testing.stored import NOON


@pytest.mark.requirement("RPC-5")
def test_a_key_is_known_from_when_the_store_was_asked() -> None:
    """Not from when it answered: what is older than `since` counts for nothing."""
    known, key = KeyCache(), a_key()
    known.learn(b"d", key, asked=5.0)
    assert known.recall(b"d", now=NOON, since=4.999) == key
    assert known.recall(b"d", now=NOON, since=5.0) is None
    assert known.recall(b"e", now=NOON, since=0.0) is None


@pytest.mark.requirement("RPC-5")
def test_an_end_that_is_known_is_kept_to() -> None:
    """To the microsecond."""
    known = KeyCache()
    known.learn(b"d", a_key(expires_at=NOON), asked=5.0)
    assert known.recall(b"d", now=NOON - timedelta(microseconds=1), since=0.0)
    assert known.recall(b"d", now=NOON, since=0.0) is None


def test_the_one_used_least_lately_goes_first() -> None:
    """The bound holds however many come."""
    known = KeyCache(2)
    for digest in (b"a", b"b"):
        known.learn(digest, a_key(digest.decode() * 16), asked=1.0)
    assert known.recall(b"a", now=NOON, since=0.0)
    known.learn(b"c", a_key("c" * 16), asked=1.0)
    assert [bool(known.recall(digest, now=NOON, since=0.0)) for digest in (b"a", b"b", b"c")] == [True, False, True]
    assert len(known) == 2


@pytest.mark.requirement("RPC-5")
def test_what_has_been_changed_is_known_no_longer() -> None:
    """By the key's id, whatever it was known by; or by what was shown."""
    known = KeyCache()
    for digest, id in ((b"a", "a"), (b"b", "a"), (b"c", "c"), (b"d", "d")):
        known.learn(digest, a_key(id * 16), asked=1.0)
    known.forget("a" * 16)
    known.drop(b"d")
    known.drop(b"never")
    assert len(known) == 1
    assert known.recall(b"c", now=NOON, since=0.0)
