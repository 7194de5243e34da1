"""Redaction: only listed fields are logged, and each only with a value that it may hold."""

from __future__ import annotations

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.kinds.keys.value import pseudonym
from germane.service import redaction
from germane.service.redaction import EVENTS, FIELDS
from support.examples import examples

pytestmark = pytest.mark.requirement("OPS-1")

CANARY = "my card is 4000 1234, PIN sesame"
AS_THEY_ARE = {"request_id", "logger", "method", "fallback_reason", "cause"}
"""Fields that take a word as it is: an id of the caller's, or names out of code."""

KEY = bytes(range(32))


def allowed(fields: dict[str, object]) -> dict[str, object]:
    return redaction.redact(fields, named)


def named(id: str) -> str:
    return pseudonym(KEY, id)


values = st.recursive(
    st.text() | st.integers() | st.floats() | st.booleans() | st.none() | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@pytest.mark.parametrize("field", sorted(FIELDS))
@pytest.mark.parametrize(
    "shape", [lambda text: text, lambda text: [text], lambda text: {text: text}, lambda text: {"x": [text]}]
)
def test_no_field_holds_a_sentence(field: str, shape: object) -> None:
    """In whatever it is wrapped."""
    said = json.dumps(allowed({field: shape(CANARY)}))  # type: ignore[operator]
    assert not any(word in said for word in ("card", "4000", "sesame"))


@pytest.mark.parametrize("field", sorted(FIELDS.keys() - AS_THEY_ARE))
def test_no_other_field_holds_a_single_word(field: str) -> None:
    """A password is one."""
    assert "sesame" not in json.dumps(allowed({field: "sesame"}))


def test_what_nobody_allowed_is_dropped_and_counted() -> None:
    """The count tells a developer that a field isn't on the list."""
    assert allowed({"event": "request", "messages": [CANARY], "key": "sesame"}) == {"event": "request", "dropped": 2}


def test_an_event_is_one_of_those_known() -> None:
    """It would be the first place for a text."""
    assert "ready" in EVENTS
    assert allowed({"event": f"request {CANARY}"}) == {"event": "redacted"}


def test_for_ids_of_orgs_and_agents_stand_pseudonyms() -> None:
    """An id may be an address or a name; the same id has the same pseudonym, so a line can be found."""
    assert allowed({"org": "acme", "agent": "support"}) == {"org": named("acme"), "agent": named("support")}


def test_who_guesses_a_name_cant_confirm_it_without_the_key() -> None:
    """No hash that anybody can make stands in a line, nor does another deployment's key give the same."""
    stands = named("acme")
    for function in (hashlib.blake2b, hashlib.sha256, hashlib.md5, hashlib.sha1):
        assert not function(b"acme").hexdigest().startswith(stands)
    assert hashlib.blake2b(b"acme", digest_size=6).hexdigest() != stands
    assert hashlib.blake2b(b"acme", digest_size=6, key=KEY).hexdigest() != stands
    assert pseudonym(bytes(32), "acme") != stands
    assert len(stands) == 12


def test_a_callers_request_id_is_kept_if_it_is_one() -> None:
    """It is how two logs are brought together; for anything else under that name stands a pseudonym."""
    assert allowed({"request_id": "01a2007d-168f:x.1"}) == {"request_id": "01a2007d-168f:x.1"}
    assert allowed({"request_id": CANARY}) == {"request_id": named(CANARY)}
    assert allowed({"request_id": "a" * 65}) == {"request_id": named("a" * 65)}


def test_an_exception_is_its_type_and_its_place() -> None:
    """And the type before it; never what they say, which may quote a message."""
    try:
        try:
            raise KeyError(CANARY)
        except KeyError as error:
            raise ValueError(CANARY) from error
    except ValueError as error:
        error.add_note(CANARY)
        said = allowed({"error": error})
    assert (said["error"], said["cause"]) == ("ValueError", "KeyError")
    assert str(said["at"]).startswith("service/test_redaction.py:")
    assert "sesame" not in json.dumps(said)


@given(st.dictionaries(st.sampled_from(sorted(FIELDS)) | st.text(), values, max_size=4))
@examples(200)
def test_whatever_is_given_comes_out_as_plain_json(fields: dict[str, object]) -> None:
    """Without raising: a log call is no place to fail."""
    said = allowed(fields)
    json.dumps(said)
    assert said.keys() <= FIELDS.keys() | {"dropped"}


@given(
    st.text(
        st.characters(blacklist_characters="abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:-"), min_size=1
    )
)
@examples(200)
def test_signs_that_no_name_has_are_in_no_line(text: str) -> None:
    """Anything but letters, digits and what stands between them."""
    said = allowed({field: text for field in FIELDS if field not in ("text", "stack", "not_ready", "sources")})
    pseudonymised = ("org", "agent", "request_id")
    assert said == {field: named(text) if field in pseudonymised else "redacted" for field in said}
