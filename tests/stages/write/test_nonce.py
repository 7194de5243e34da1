"""The nonce that marks germane's sections."""

from __future__ import annotations

from itertools import combinations

import pytest

from germane.stages.write.escape import NONCE_LENGTH, nonce
from germane.types.scope import Scope

KEY = bytes(range(32))


@pytest.mark.requirement("FORMAT-4")
def test_it_stays_the_same_within_a_session() -> None:
    """Prompt caches hold only if the bytes do."""
    scope = Scope(org="acme", agent="support", user="caroline", session="s1")
    assert nonce(KEY, scope) == nonce(KEY, Scope(org="acme", agent="support", user="caroline", session="s1"))


@pytest.mark.requirement("FORMAT-4")
def test_every_part_of_the_scope_changes_it() -> None:
    """Parts are framed by their lengths, so no two scopes run together, and absent differs from present."""
    scopes = [
        Scope(),
        Scope(org="ab", agent="c"),
        Scope(org="a", agent="bc"),
        Scope(user="x"),
        Scope(session="x"),
        Scope(user="x", session="y"),
        Scope(user="y", session="x"),
        Scope(user="xy"),
    ]
    assert all(nonce(KEY, one) != nonce(KEY, other) for one, other in combinations(scopes, 2))


@pytest.mark.requirement("FORMAT-4")
def test_another_key_gives_another() -> None:
    """Who doesn't hold the key can't know it."""
    assert nonce(KEY, Scope()) != nonce(bytes(32), Scope())


@pytest.mark.requirement("FORMAT-4")
def test_it_is_lowercase_letters_of_at_least_fifty_bits() -> None:
    """26^12 is above 2^56."""
    word = nonce(KEY, Scope())
    assert word.isascii()
    assert word.isalpha()
    assert word.islower()
    assert len(word) == NONCE_LENGTH
    assert 26**NONCE_LENGTH > 2**50


def test_the_zone_does_not_change_it() -> None:
    """It is about who speaks with whom, not about how times are written."""
    assert nonce(KEY, Scope(zone="Europe/Vienna")) == nonce(KEY, Scope())
