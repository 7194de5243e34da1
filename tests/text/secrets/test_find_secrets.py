"""Finding secrets: every kind, in all surroundings; and what only looks like one."""

from __future__ import annotations

import json
from itertools import pairwise
from random import Random

import pytest
from bench.secrets import caught
from bench.seeded import HALVES, KINDS, harmless, seeds
from hypothesis import given
from hypothesis import strategies as st

from germane.text.secrets.detection import find_secrets, marker, redacted
from germane.text.secrets.formats import FORMATS
from germane.text.secrets.named import named_kind
from support.examples import examples

pytestmark = pytest.mark.requirement("MEM-7")

AWS = "AKIA" + "Q3EGVCFDTZ7XN2LM"
"""Nobody's."""


def screened(text: str) -> str:
    return redacted(text, find_secrets(text))


@pytest.mark.parametrize("half", HALVES)
def test_nearly_every_seeded_secret_is_caught(half: str) -> None:
    """99 of 100, of each half, whatever surrounds them."""
    made = seeds(half, 20 * len(KINDS), seed=11)
    missed = [one.kind for one in made if not caught(one.text, one.secret)]
    assert len(missed) <= len(made) // 100, missed


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_caught(kind: str) -> None:
    """No kind hides behind the average."""
    made = [one for one in seeds("development", 20 * len(KINDS), seed=12) if one.kind == kind]
    assert sum(caught(one.text, one.secret) for one in made) >= len(made) - 1


def test_what_only_looks_like_a_secret_is_left_alone() -> None:
    """UUIDs, commits, hashes, ISBNs, order numbers, images, paths, prose, code and placeholders."""
    assert [(kind, text) for kind, text in harmless(1000, seed=13) if find_secrets(text)] == []


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("my password is hunter2", "my password is [redacted: password]"),
        ("My password is stored in the vault.", "My password is stored in the vault."),
        ('DB_PASSWORD="s3cr3t!"', 'DB_PASSWORD="[redacted: password]"'),
        ("postgres://bob:p4ss@db.test/x", "postgres://bob:[redacted: password]@db.test/x"),
        (f"it is {AWS}.", "it is [redacted: AWS access key]."),
        (f"key\\n{AWS}\\n", "key\\n[redacted: AWS access key]\\n"),
        (f"{AWS[:7]}\u200b{AWS[7:]} ok", "[redacted: AWS access key] ok"),
        (f"{AWS[:7]}<b>{AWS[7:]}</b> ok", "[redacted: AWS access key]</b> ok"),
        ("密码是hunter2abc，谢谢", "密码是[redacted: password]，谢谢"),
        ("?api_key=a8f3k2l9d8s7h6g5&limit=10", "?api_key=[redacted: API key]&limit=10"),
        ("card 4111 1111 1111 1111", "card [redacted: card number]"),
        ("order 4111111111111111", "order 4111111111111111"),
        ("visa 4111111111111111", "visa [redacted: card number]"),
        ("card 4111 1111 1111 1112", "card 4111 1111 1111 1112"),
        ("password is hunter2. Type hunter2!", "password is [redacted: password]. Type [redacted: password]!"),
        ("my pin is 4711, pin 4 is free", "my pin is [redacted: PIN], pin 4 is free"),
        (f"AKIA{'X' * 16} and ghp_{'x' * 36}", f"AKIA{'X' * 16} and ghp_{'x' * 36}"),
    ],
)
def test_a_secret_is_replaced_and_nothing_else(text: str, kept: str) -> None:
    """The name, the user and the host stay."""
    assert screened(text) == kept


def test_a_private_key_goes_as_a_whole() -> None:
    """With its lines escaped, and without its end too; what follows it stays."""
    key = "\n".join(["-----BEGIN RSA PRIVATE KEY-----", *["MIIEow" + "aB3/" * 14] * 9, "-----END RSA PRIVATE KEY-----"])
    assert screened(f"before\n{key}\nafter") == "before\n[redacted: private key]\nafter"
    assert screened(json.dumps({"key": key, "n": 1})) == '{"key": "[redacted: private key]", "n": 1}'
    assert screened(key[:300]) == "[redacted: private key]"
    public = key.replace("PRIVATE", "PUBLIC")
    assert screened(public) == public


def test_the_secret_key_beside_an_access_key_is_found() -> None:
    """It has no form of its own."""
    assert screened(f"{AWS}\nzF3kd82jsLmQ0aWx7RtYv5Bn1Cp9HgEe4UoKi6Td\n") == (
        "[redacted: AWS access key]\n[redacted: AWS secret key]\n"
    )


@pytest.mark.parametrize("place", [0, 100, 16_360, 16_384, 16_400, 40_000, 59_960])
def test_a_secret_is_found_anywhere_in_a_long_text(place: int) -> None:
    """Also where two windows meet."""
    words = ("some words about nothing in particular " * 1600)[:60_000]
    text = f"{words[:place]} password: hunter2 {words[place:]}"
    (found,) = find_secrets(text)
    assert text[found.start : found.end] == "hunter2"


@pytest.mark.parametrize("place", range(14_000, 17_000, 500))
def test_a_long_token_is_found_whole_where_a_text_has_no_blanks(place: int) -> None:
    """JSON without white space, as tools return it."""
    random = Random(place)
    token = f"eyJ{'a1B2' * 300}.eyJ{'c3D4' * 300}.{random.randbytes(30).hex()}"
    text = '{"a":"' + '1","b":"' * (place // 8) + token + '","c":"' * 2000 + '"}'
    assert [text[one.start : one.end] for one in find_secrets(text)] == [token]


def test_a_name_of_json_tells_what_its_value_is() -> None:
    """As it would in a text."""
    assert named_kind("dbPassword", "hunter2") == "password"
    assert named_kind("api_key", "a8f3k2l9d8s7h6g5") == "API key"
    assert named_kind("password_policy", "min8chars") is None
    assert named_kind("next_page_token", "a8f3k2l9d8s7h6g5") is None
    assert named_kind("city", "hunter2") is None


@examples(200)
@given(st.integers(0, 10**9), st.sampled_from(HALVES), st.text(max_size=40), st.text(max_size=40))
def test_what_was_redacted_stays_as_it_is(seed: int, half: str, before: str, after: str) -> None:
    """Redacting again changes nothing, findings don't overlap, and markers aren't findings."""
    (one,) = seeds(half, 1 + Random(seed).randrange(len(KINDS)), seed)[-1:]
    text = f"{before} {one.text} {after}"
    found = find_secrets(text)
    assert all(a.end <= b.start for a, b in pairwise(found))
    assert all(0 <= each.start < each.end <= len(text) for each in found)
    kept = redacted(text, found)
    assert redacted(kept, find_secrets(kept)) == kept


@examples(300)
@given(st.text(st.sampled_from("paswordkeytin=:\"'`\\ \n<b/>-AKIA1x.@%&{}[]|*_\u200bＡş"), max_size=120))
def test_any_text_can_be_searched(text: str) -> None:
    """The places are within the text, in order."""
    found = find_secrets(text)
    assert [each.start for each in found] == sorted(each.start for each in found)
    assert all(0 <= each.start < each.end <= len(text) for each in found)


@pytest.mark.parametrize("kind", [kind for kind, _ in FORMATS])
def test_no_kind_is_taken_for_a_secret_itself(kind: str) -> None:
    """A marker stays a marker wherever it stands."""
    for text in (marker(kind), f"password={marker(kind)}", f'"api_key": "{marker(kind)}"', f"my password is {marker(kind)}"):
        assert find_secrets(text) == ()
