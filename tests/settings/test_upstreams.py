"""Upstreams are named by the operator alone, by name or by address, and a wrong entry says what to write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.errors import InvalidInput
from germane.settings.upstreams import Upstream, known_upstreams, parse_upstreams
from support.examples import examples

pytestmark = pytest.mark.requirement("PROXY-3")


def test_a_known_name_alone_is_enough() -> None:
    """As a table, a list and a text."""
    for written in ({"openai": True}, ["openai"], "openai"):
        (upstream,) = parse_upstreams(written).values()
        assert (upstream.name, upstream.url, upstream.inject) == ("openai", "https://api.openai.com", True)
    assert parse_upstreams("anthropic")["anthropic"].key_header == "x-api-key"


def test_any_other_is_named_with_its_address() -> None:
    """In the order in which they are given; one that is false is left out."""
    found = parse_upstreams({"b": "https://b.example/base/", "openai": False, "a": {"url": "http://127.0.0.1:8000"}})
    assert list(found) == ["b", "a"]
    assert (found["b"].authority, found["b"].base, found["b"].port) == ("b.example", "/base", 443)
    assert (found["a"].authority, found["a"].base, found["a"].secure) == ("127.0.0.1:8000", "", False)
    assert list(parse_upstreams("openai, b=https://b.example")) == ["openai", "b"]


def test_each_field_of_a_table_is_read(tmp_path: Path) -> None:
    """The key comes from the environment, so that no file holds it."""
    ca = tmp_path / "ca.pem"
    ca.write_text("-----BEGIN CERTIFICATE-----\n")
    table = {
        "url": "http://llm:8000",
        "key_env": "KEY",
        "key_header": "api-key",
        "inject": False,
        "ca": str(ca),
        "plaintext": True,
    }
    (upstream,) = parse_upstreams({"mine": table}, environ={"KEY": " secret\n"}).values()
    made = Upstream(name="mine", url="http://llm:8000", key="secret", key_header="api-key", inject=False, ca=ca, plaintext=True)
    assert upstream == made
    assert "secret" not in repr(upstream)
    assert parse_upstreams({"anthropic": {"key_env": "KEY"}}, environ={"KEY": "k"})["anthropic"].key_header == "x-api-key"


def test_each_known_provider_is_reached_over_tls_or_on_this_machine() -> None:
    """Its address is what stands before `/v1`."""
    assert len(known_upstreams()) >= 13
    for upstream in known_upstreams().values():
        assert upstream.secure or upstream.loopback
        assert not upstream.base.endswith("/v1")


WRONG: list[tuple[Any, str]] = [
    ("nobody", "upstreams.nobody: isn't a provider that germane knows: write nobody=https://llm.example.com"),
    ("a=http://llm.example", "upstreams.a.url 'http://llm.example' isn't this machine"),
    ("a=ftp://llm.example", "upstreams.a.url must be an address such as"),
    ("a=llm.example", "must be an address"),
    ("a=https://", "must be an address"),
    ("a=https://x:99999", "must be an address"),
    ("a=https://x:0", "must be an address"),
    ("a=https://[::1", "must be an address"),
    ("a=https://ex ample.com", "must be an address"),
    ("a=https://exämple.com", "must be an address"),
    ("a=https://me:secret@llm.example", "must not hold a name or password: name the key's variable in key_env"),
    ("a=https://llm.example?x=secret", "must end with its path, without ? and #"),
    ("a=https://llm.example/?", "must end with its path, without ? and #"),
    ("a=https://llm.example/#a", "must end with its path, without ? and #"),
    ("a=https://llm.example/../b", "has a path that can't stand in front of others"),
    ("a=https://llm.example//b", "has a path that can't stand in front of others"),
    ("a=https://llm.example/%2e%2e", "has a path that can't stand in front of others"),
    ("A=https://llm.example", "must be 1 to 40 of a-z, 0-9 and -"),
    ("a/b=https://llm.example", "must be 1 to 40 of a-z, 0-9 and -"),
    ("-a=https://llm.example", "must be 1 to 40 of a-z, 0-9 and -"),
    ("openai,openai", "upstreams.openai is given more than once"),
    (["openai", 3], "upstreams must be a list of NAME or NAME=URL, not int"),
    (3, "upstreams must be a table of upstreams, not int: write openai = true"),
    ({"a": 3}, "upstreams.a"),
    ({"a": {}}, "upstreams.a.url is needed"),
    ({"a": {"url": ""}}, "upstreams.a.url is blank"),
    ({"a": {"url": "https://x", "key": "secret"}}, "unknown key; known are ca, inject, key_env, key_header, plaintext, url"),
    ({"a": {"url": "https://x", "key_env": "UNSET"}}, "upstreams.a.key_env is 'UNSET', a variable that isn't set"),
    ({"a": {"url": "https://x", "key_env": "ODD"}}, "upstreams.a.key must be printable ASCII without spaces around it"),
    ({"a": {"url": "https://x", "key_header": "cookie"}}, "must be one of authorization, x-api-key, api-key"),
    ({"a": {"url": "https://x", "inject": 3}}, "upstreams.a.inject must be true or false"),
    ({f"a{number}": "https://x" for number in range(65)}, "has 65 upstreams, 64 are allowed"),
]


@pytest.mark.parametrize(("written", "said"), WRONG)
def test_what_cannot_be_used_is_refused_and_no_secret_shown(written: Any, said: str) -> None:
    """The error names the upstream, and says what to do."""
    with pytest.raises(InvalidInput) as refused:
        parse_upstreams(written, environ={"ODD": "secr\x01et"})
    assert said in str(refused.value)
    assert "secret" not in str(refused.value).replace("'a', 'secret'", "")


@given(st.text(max_size=80) | st.from_regex(r"https?://[^/]{0,20}(/.{0,20})?", fullmatch=True))
@examples(400)
def test_every_address_is_one_host_with_a_plain_path_or_is_refused(url: str) -> None:
    """Whatever it looks like."""
    try:
        upstream = Upstream(name="a", url=url, plaintext=True)
    except InvalidInput:
        return
    assert upstream.host
    assert 0 < upstream.port < 65536
    assert upstream.authority.isascii()
    assert not any(mark in upstream.authority + upstream.base for mark in "@?#\\ \r\n%")
    assert not {".", ".."} & set(upstream.base.split("/"))
