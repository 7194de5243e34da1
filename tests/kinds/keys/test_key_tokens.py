"""Tokens: their form, the digest that is stored, and the comparison of the two."""

from __future__ import annotations

import hmac
import secrets
from base64 import b32decode
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.kinds.keys.value import NewKey, PresentedToken, StoredKey, key_id, make_token, parse_token
from germane_testing.injection_contract import a_key
from support.examples import examples

ID, TOKEN = make_token(lambda count: bytes(range(count)))


def sealed_of(token: str) -> StoredKey:
    return StoredKey(key=a_key(), digest=parse_token(token).digest)


@pytest.mark.requirement("RPC-5")
def test_a_token_names_its_key_and_holds_256_random_bits() -> None:
    """`gk_<id>_<secret>`, both straight from the randomness that is passed in."""
    given: list[bytes] = []

    def drawn(count: int) -> bytes:
        given.append(secrets.token_bytes(count))
        return given[-1]

    id, token = make_token(drawn)
    prefix, named, secret = token.split("_")
    assert (prefix, named) == ("gk", id)
    assert b32decode(secret.upper() + "====") == given[1]
    assert len(given[1]) * 8 >= 256
    assert token not in {make_token(secrets.token_bytes)[1] for _ in range(100)}


@pytest.mark.requirement("RPC-5")
def test_only_the_same_token_matches() -> None:
    """A token with one other character doesn't match, though its id is the same."""
    stored = sealed_of(TOKEN)
    assert parse_token(TOKEN).matches(stored)
    for at in range(len(TOKEN)):
        other = TOKEN[:at] + ("b" if TOKEN[at] != "b" else "c") + TOKEN[at + 1 :]
        assert not parse_token(other).matches(stored)


@examples(200)
@given(st.text() | st.binary() | st.none() | st.from_regex(r"gk_[a-z2-7]{16}_[a-z2-7]{52}\n?", fullmatch=True))
def test_nothing_else_matches(shown: object) -> None:
    """Neither any text nor what is no text; it is looked up all the same, and never raises."""
    found = parse_token(shown)
    assert found.id
    assert not found.matches(sealed_of(TOKEN))
    assert not found.matches(None)


@pytest.mark.requirement("RPC-5")
def test_texts_that_are_no_token_cant_be_told_apart() -> None:
    """Not even by their cost: one lookup and one comparison, however long the text is."""
    strangers = {parse_token(shown) for shown in ("", "gk_", TOKEN + "\n", TOKEN.upper(), "x" * 10_000_000, None, 7)}
    assert len(strangers) == 1


@pytest.mark.requirement("RPC-5")
def test_digests_are_compared_in_constant_time_and_always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where there is no such key: a miss takes as long as a wrong secret."""
    compared: list[tuple[bytes, bytes]] = []
    exact: Callable[[bytes, bytes], bool] = hmac.compare_digest

    def compare(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return exact(one, other)

    monkeypatch.setattr("germane.kinds.keys.value.hmac.compare_digest", compare)
    shown = parse_token(TOKEN)
    assert not shown.matches(None)
    assert shown.matches(sealed_of(TOKEN))
    assert [one == shown.digest and len(other) == 32 for one, other in compared] == [True, True]


def test_no_digest_opens_the_place_of_a_key_that_there_isnt() -> None:
    """The digest that stands in for a missing key's matches no token."""
    assert not PresentedToken(id="-", digest=bytes(32)).matches(None)


@pytest.mark.requirement("RPC-5")
def test_no_repr_holds_a_token_or_its_digest() -> None:
    """They end up in logs and tracebacks."""
    told = repr((NewKey(key=a_key(), token=TOKEN), sealed_of(TOKEN), parse_token(TOKEN)))
    assert TOKEN.rpartition("_")[2] not in told
    assert repr(parse_token(TOKEN).digest) not in told


@pytest.mark.parametrize(
    ("text", "id"),
    [(ID, ID), (TOKEN, ID), (f" {TOKEN}\n", ID), (f"gk_{ID}", ID), ("nope", None), (TOKEN[:-1], None), (3, None)],
)
def test_an_id_is_found_in_a_key_that_has_leaked(text: object, id: str | None) -> None:
    """A leaked token can be revoked without looking up its id."""
    assert key_id(text) == id
