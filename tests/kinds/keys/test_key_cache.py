"""Key cache: it holds valid keys only, is bounded, and never returns a key after its end."""

from __future__ import annotations

from datetime import timedelta

import pytest

from germane.kinds.keys.verifier import KeyCache
from germane_testing.builders import NOON
from germane_testing.injection_contract import a_key


@pytest.mark.requirement("RPC-5")
def test_a_key_is_known_from_when_the_store_was_asked() -> None:
    """The moment of the question counts, not that of the answer; an entry older than `since` isn't returned."""
    known, key = KeyCache(), a_key()
    known.learn(b"d", key, asked=5.0)
    assert known.recall(b"d", now=NOON, since=4.999) == key
    assert known.recall(b"d", now=NOON, since=5.0) is None
    assert known.recall(b"e", now=NOON, since=0.0) is None


@pytest.mark.requirement("RPC-5")
def test_an_end_that_is_known_is_kept_to() -> None:
    """The key isn't returned from its end on, to the microsecond."""
    known = KeyCache()
    known.learn(b"d", a_key(expires_at=NOON), asked=5.0)
    assert known.recall(b"d", now=NOON - timedelta(microseconds=1), since=0.0)
    assert known.recall(b"d", now=NOON, since=0.0) is None


def test_the_one_used_least_lately_goes_first() -> None:
    """However many keys are learnt, the cache keeps its bound."""
    known = KeyCache(2)
    for digest in (b"a", b"b"):
        known.learn(digest, a_key(digest.decode() * 16), asked=1.0)
    assert known.recall(b"a", now=NOON, since=0.0)
    known.learn(b"c", a_key("c" * 16), asked=1.0)
    assert [bool(known.recall(digest, now=NOON, since=0.0)) for digest in (b"a", b"b", b"c")] == [True, False, True]
    assert len(known) == 2


@pytest.mark.requirement("RPC-5")
def test_what_has_been_changed_is_known_no_longer() -> None:
    """An entry is removed by the key's id, or by the digest of a token."""
    known = KeyCache()
    for digest, id in ((b"a", "a"), (b"b", "a"), (b"c", "c"), (b"d", "d")):
        known.learn(digest, a_key(id * 16), asked=1.0)
    known.forget("a" * 16)
    known.drop(b"d")
    known.drop(b"never")
    assert len(known) == 1
    assert known.recall(b"c", now=NOON, since=0.0)
