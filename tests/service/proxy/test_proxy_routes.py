"""A target leads to the upstream that its path names, byte for byte behind the upstream's own path, and never anywhere else."""

from __future__ import annotations

import re
from urllib.parse import unquote_to_bytes, urljoin

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.service.http.problems import HttpRefused
from germane.service.proxy.routes import is_proxied, proxy_route
from germane.settings.upstreams import Upstream
from support.examples import examples
from support.proxying import upstreams_of

pytestmark = pytest.mark.requirement("PROXY-1", "PROXY-3", "PROXY-4")

UPSTREAMS = upstreams_of(openai="https://api.openai.com", groq="https://api.groq.com/openai")


@pytest.mark.parametrize(
    ("target", "sent"),
    [
        (b"/proxy/openai/v1/chat/completions", b"/v1/chat/completions"),
        (b"/proxy/groq/v1/models", b"/openai/v1/models"),
        (b"/proxy/openai/v1/models?", b"/v1/models?"),
        (b"/proxy/openai/v1/a?b=../..&c=//d", b"/v1/a?b=../..&c=//d"),
        (b"/proxy/openai/v1//files/a%2Fb%20c%ff/", b"/v1//files/a%2Fb%20c%ff/"),
        (b"/proxy/openai/v1beta/models/gemini:generateContent", b"/v1beta/models/gemini:generateContent"),
        (b"/proxy/openai/v1/.../..a/a..", b"/v1/.../..a/a.."),
        (b"/proxy/openai", b"/"),
        (b"/proxy/openai?a", b"/?a"),
        (b"/proxy/groq", b"/openai"),
        (b"/proxy/groq/", b"/openai/"),
    ],
)
def test_the_rest_of_the_target_goes_on_as_it_stands(target: bytes, sent: bytes) -> None:
    """With its percent-encodings and its query."""
    assert proxy_route(target, UPSTREAMS).target == sent


def test_agent_user_and_session_are_named_by_segments_of_the_path() -> None:
    """In any order, percent-encoded, and only in front of the provider's own path."""
    route = proxy_route(b"/proxy/groq/agent:help%20desk/user:an%C3%A4/session:a%2Fb:c/v1/x", UPSTREAMS)
    assert (route.agent, route.user, route.session, route.target) == ("help desk", "anä", "a/b:c", b"/openai/v1/x")
    route = proxy_route(b"/proxy/openai/session:1/v1/agent:2", UPSTREAMS)
    assert (route.agent, route.session, route.target) == (None, "1", b"/v1/agent:2")
    assert proxy_route(b"/proxy/openai/user:1", UPSTREAMS).target == b"/"


@pytest.mark.parametrize(
    "segment", [b"agent:", b"agent:%20", b"user:%ff", b"session:" + b"x" * 257, b"agent:a/agent:b", b"user:%ED%A0%80"]
)
def test_a_name_that_cannot_be_used_is_refused(segment: bytes) -> None:
    """And one that is given twice."""
    with pytest.raises(HttpRefused) as refused:
        proxy_route(b"/proxy/openai/" + segment + b"/v1/x", UPSTREAMS)
    assert refused.value.status == 400


@pytest.mark.parametrize("target", [b"/proxy/nobody/v1", b"/proxy/", b"/proxy//v1", b"/proxy/OPENAI/v1", b"/proxy/%6fpenai/v1"])
def test_an_unknown_upstream_is_refused(target: bytes) -> None:
    """A stranger learns neither names nor addresses."""
    with pytest.raises(HttpRefused) as refused:
        proxy_route(target, UPSTREAMS)
    assert refused.value.status == 404
    assert not {"openai", "groq", "https"} & {*re.findall(r"[a-z]+", refused.value.text)}


@pytest.mark.parametrize("target", [b"http://evil/proxy/openai/v1", b"//evil/proxy/openai/v1", b"evil:443", b"*", b"/proxy"])
def test_a_target_that_names_a_host_is_not_the_proxys(target: bytes) -> None:
    """Absolute form, and what CONNECT and OPTIONS have."""
    assert not is_proxied(target)


LEAVING = b"""/.. /../x /v1/../../x /v1/./x /%2e%2e/x /.%2E/x /%252e%252e/x /v1/..%2fx /v1/..%5cx /v1/..;a=b/x //evil/x
/v1/\\evil /\\..\\x /v1#/x /v1/%25252e%25252e/ /%2e /a%2f..%2fb""".split()


@pytest.mark.parametrize("rest", LEAVING)
@pytest.mark.parametrize("before", [b"/proxy/groq", b"/proxy/groq/agent:a"])
def test_a_path_that_could_leave_the_upstreams_own_is_refused(before: bytes, rest: bytes) -> None:
    """Also where a server behind the upstream decodes it again."""
    with pytest.raises(HttpRefused) as refused:
        proxy_route(before + rest, UPSTREAMS)
    assert refused.value.status == 400


PARTS = b"/ // . .. %2e %2E %252e \\ %5c %2f ; # ? v1 agent: @ http:".split()


@given(st.lists(st.sampled_from(PARTS) | st.binary(max_size=3).map(lambda raw: raw.translate(None, b" \t\r\n")), max_size=12))
@examples(2000)
def test_no_target_reaches_another_host_or_path(parts: list[bytes]) -> None:
    """However a server resolves it."""
    upstream = Upstream(name="groq", url="https://api.groq.com/openai")
    try:
        sent = proxy_route(b"/proxy/groq" + b"".join(parts), {"groq": upstream}).target
    except HttpRefused:
        return
    path = sent.partition(b"?")[0]
    assert path == b"/openai" or path.startswith((b"/openai/", b"/openai?"))
    for _ in range(3):
        resolved = urljoin("https://api.groq.com/", path.decode("latin-1"))
        assert resolved.startswith("https://api.groq.com/openai")
        path = unquote_to_bytes(path)
