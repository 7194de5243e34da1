"""The API under `/v1`: operations by path, arguments in body and query, errors as problem details."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from germane import Germane
from germane.api.agent import Agent
from germane.api.operations import operations
from germane.errors import LLMError, NotFound, StoreTooNew
from germane.grpc.server.admission import Limits
from germane.service.http import routes
from germane.service.http.api import closed_for
from germane.service.http.problems import problem
from germane.settings.serving import ServiceSettings
from germane.settings.values import Address
from support.http_api import HttpApi, serving_api
from support.listening import opened

pytestmark = pytest.mark.requirement("HTTP-1")

OWN = "/v1/agents/support"


@pytest.fixture
async def germane(tmp_path: Path) -> AsyncIterator[Germane]:
    async with opened(tmp_path) as found:
        yield found


@pytest.fixture
async def api(germane: Germane) -> AsyncIterator[HttpApi]:
    async with serving_api(germane) as served:
        yield served


async def test_an_operation_is_called_by_its_path(api: HttpApi) -> None:
    """Arguments in the body, whose data it is about in the query."""
    pushed = await api("POST", f"{OWN}/tasks/push", {"goal": "book a table", "session": "s1"}, org="acme", user="ana")
    assert (pushed.status, pushed.json["goal"]) == (200, "book a table")
    peeked = await api("GET", f"{OWN}/tasks/peek", org="acme", user="ana", session="s1")
    assert peeked.json == pushed.json
    assert (await api("GET", f"{OWN}/tasks/peek", org="acme", user="ben", session="s1")).json is None


async def test_what_reads_takes_its_arguments_in_the_query(api: HttpApi) -> None:
    """Text as it is, other values as JSON, a list by its name several times; the same as in a body."""
    for label in ("10", "true", "notes"):
        assert (await api("POST", f"{OWN}/blocks/create", {"label": label, "text": f"said {label}"}, org="acme")).status == 200
    assert (await api("GET", f"{OWN}/blocks/get", org="acme", label="10")).json["text"] == "said 10"
    assert (await api("POST", f"{OWN}/blocks/get", {"label": "true"}, org="acme")).json["text"] == "said true"
    listed = await api("GET", f"{OWN}/memories/list", org="acme", limit="1", filters='{"kinds": ["note"]}')
    assert [memory["content"]["body"] for memory in listed.json["memories"]] == ["The warehouse opens at seven"]
    ids = [memory["id"] for memory in listed.json["memories"]]
    for given in ({"ids": ids}, {"ids": [*ids, "x"]}, {"ids": '["x"]'}):
        assert (await api("GET", f"{OWN}/texts", org="acme", **given)).status == 200


async def test_an_error_is_a_problem(api: HttpApi) -> None:
    """It names the argument and what to do, and shows nothing that was said."""
    wrong = await api("GET", f"{OWN}/memories/list", org="acme", limit="0")
    assert (wrong.status, wrong.headers["content-type"]) == (400, "application/problem+json")
    assert wrong.json["path"] == "limit"
    assert wrong.json["type"] == "urn:germane:problem:invalid-input"
    assert wrong.json["detail"].startswith("limit ")
    hidden = await api("POST", f"{OWN}/tasks/push", {"goal": ["a secret"]}, org="acme")
    assert (hidden.status, hidden.json["path"]) == (400, "goal")
    assert b"secret" not in hidden.body
    missing = await api("POST", f"{OWN}/tasks/push", {}, org="acme")
    assert missing.json["detail"] == "goal is missing"
    assert (await api("GET", f"{OWN}/memories/get", org="acme", id="nobody")).status == 404


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1/", 404),
        ("GET", "/v1/agents/support", 404),
        ("GET", "/v1/agents/support/tasks", 404),
        ("GET", "/v1/agents/support/tasks/push", 405),
        ("DELETE", "/v1/agents/support/tasks/peek", 405),
        ("GET", "/v1/agents/%ff/tasks/peek", 400),
        ("GET", "/v1/agents//tasks/peek", 400),
        ("GET", "/v1/agents/support/../support/tasks/peek", 404),
        ("GET", "/v1/agents/support/tasks%2fpeek", 404),
        ("GET", "/v1/agents/support/tasks/peek?org=acme&org=b", 400),
        ("GET", "/v1/agents/support/tasks/peek?org=acme&wrong=1", 400),
        ("GET", "/v1/agents/support/tasks/peek?org=acme&session=%ff", 400),
        ("GET", "/v1/agents/support/tasks/list?org=acme&limit=ten", 400),
        ("GET", "/v1/agents/support/tasks/list?org=acme&limit=" + "[" * 90_0, 400),
        ("GET", "/v1/agents/support/tasks/peek?" + "&".join(f"a{index}=1" for index in range(99)), 400),
    ],
)
async def test_what_no_route_has_is_refused(api: HttpApi, method: str, path: str, status: int) -> None:
    """With a problem, never with a redirect."""
    found = await api.raw(method, path)
    assert (found.status, found.headers["content-type"]) == (status, "application/problem+json")


async def test_an_agent_may_have_any_name(api: HttpApi) -> None:
    """Percent-encoded in the path."""
    path = "/v1/agents/caf%C3%A9%2Fbar%3F/tasks/peek"
    assert (await api.raw("GET", f"{path}?org=acme&session=s1")).json is None
    pushed = await api.raw("POST", path.replace("peek", "push") + "?org=acme", {"goal": "x", "session": "s1"})
    assert pushed.status == 200
    assert {page["agent"] for page in (await api.raw("GET", "/v1/agents?org=acme")).json["agents"]} == {"support", "café/bar?"}


async def test_an_edit_can_be_held_to_what_was_read(api: HttpApi) -> None:
    """`If-Match` with the ETag; 412 where the content is another by now, and nothing is written."""
    await api("POST", f"{OWN}/blocks/create", {"label": "notes", "text": "one"}, org="acme")
    read = await api("GET", f"{OWN}/blocks/get", org="acme", label="notes")
    edit = {"label": "notes", "mutations": [{"op": "append_text", "text": " two"}]}
    done = await api.raw("POST", f"{OWN}/blocks/edit?org=acme", edit, if_match=read.headers["etag"])
    assert done.status == 200, done.body
    late = await api.raw("POST", f"{OWN}/blocks/edit?org=acme", edit, if_match=read.headers["etag"])
    assert (late.status, late.json["type"]) == (412, "urn:germane:problem:stale")
    again = await api.raw("POST", f"{OWN}/blocks/edit?org=acme", edit, if_match=done.headers["etag"])
    assert again.status == 200
    other = await api.raw("POST", f"{OWN}/tasks/push?org=acme", {"goal": "x"}, if_match='"a"')
    assert other.status == 400
    same = await api.raw("GET", f"{OWN}/blocks/get?org=acme&label=notes", if_none_match=again.headers["etag"])
    assert (same.status, same.body) == (304, b"")
    new = await api.raw("GET", f"{OWN}/blocks/get?org=acme&label=notes", if_none_match=read.headers["etag"])
    assert new.status == 200


async def test_without_keys_the_org_is_the_librarys_default(germane: Germane, api: HttpApi) -> None:
    """So that the service shows what a script on the same machine has stored."""
    await germane.agent("support").remember("The office is in Ghent", kind="note")
    found = await api("GET", f"{OWN}/memories/list")
    assert [memory["content"]["body"] for memory in found.json["memories"]] == ["The office is in Ghent"]


async def test_head_has_no_body(api: HttpApi) -> None:
    """But the length of it."""
    whole = await api("GET", f"{OWN}/stats", org="acme")
    head = await api("HEAD", f"{OWN}/stats", org="acme")
    assert (head.status, head.body, head.headers["content-length"]) == (200, b"", str(len(whole.body)))


async def test_a_request_has_an_id(api: HttpApi) -> None:
    """The caller's, or one of its own."""
    assert (await api.raw("GET", f"{OWN}/stats?org=acme", x_request_id="abc-1")).headers["x-request-id"] == "abc-1"
    assert len((await api.raw("GET", f"{OWN}/stats?org=acme")).headers["x-request-id"]) == 36


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"{", {}, 400),
        (b"[]", {}, 400),
        (b'{"goal": "x", "goal": "y"}', {}, 400),
        (b'{"goal": NaN}', {}, 400),
        (b'{"goal": "\xff"}', {}, 400),
        (b'{"goal": ' + b"[" * 100_000, {}, 400),
        (b'{"goal": "x"}', {"content_type": "text/plain"}, 415),
        (b'{"goal": "x"}', {"content_encoding": "gzip"}, 415),
        (b'{"goal": "' + b"x" * (1 << 20) + b'"}', {}, 413),
    ],
)
async def test_a_body_that_can_not_be_read_is_refused(api: HttpApi, body: bytes, headers: dict[str, str], status: int) -> None:
    """And nothing of it is told."""
    found = await api.raw("POST", f"{OWN}/tasks/push?org=acme", body, **headers)
    assert found.status == status
    assert found.json["status"] == status


async def test_only_this_machine_reaches_a_service_without_keys(api: HttpApi) -> None:
    """Another name in `Host` is a page's that points to this machine (DNS rebinding); another origin is another site's page."""
    path = f"{OWN}/stats?org=acme"
    for host in ("evil.example", "evil.example:7412", "127.0.0.1.evil.example", "[::2]:1", ""):
        assert (await api.raw("GET", path, host=host)).status in (400, 403)
    for host in ("localhost", "localhost:7412", "127.0.0.1:1", "[::1]:7412"):
        assert (await api.raw("GET", path, host=host)).status == 200
    assert (await api.raw("GET", path, origin="https://evil.example")).status == 403
    assert (await api.raw("GET", path, origin="null")).status == 403
    assert (await api.raw("GET", path, sec_fetch_site="cross-site")).status == 403
    assert (await api.raw("GET", path, host="localhost:1", origin="http://localhost:1")).status == 200


@pytest.mark.parametrize(
    ("settings", "closed"),
    [
        ({"http": "127.0.0.1:7412"}, ""),
        ({"http": "[::1]:7412"}, ""),
        ({"http": "off"}, ""),
        ({"http": "0.0.0.0:7412"}, "keys"),
        ({"http": "0.0.0.0:7412", "require_keys": True}, "TLS"),
        ({"http": "0.0.0.0:7412", "require_keys": True, "plaintext": True}, ""),
    ],
)
async def test_what_others_reach_needs_keys_and_tls(tmp_path: Path, settings: dict[str, object], closed: str) -> None:
    """Else no operation is called; health is."""
    found = ServiceSettings.of({name: (value, name) for name, value in settings.items()})
    why = closed_for(found)
    assert closed in why
    assert bool(why) == bool(closed)
    async with opened(tmp_path) as germane, serving_api(germane, closed=why) as api:
        assert (await api.raw("GET", f"{OWN}/stats?org=acme")).status == (403 if closed else 200)


def test_with_tls_others_may_call_operations_with_a_key() -> None:
    """Whether callers need a certificate too or not; without keys nobody may."""
    outside = Address(host="0.0.0.0", port=7412)
    pair: dict[str, Any] = {"http": outside, "tls_cert": Path("cert.pem"), "tls_key": Path("key.pem")}
    assert closed_for(ServiceSettings(**pair, require_keys=True)) == ""
    assert closed_for(ServiceSettings(**pair, require_keys=True, tls_client_ca=Path("ca.pem"))) == ""
    assert "keys" in closed_for(ServiceSettings(**pair))


async def test_a_key_opens_its_org_and_nothing_else(tmp_path: Path) -> None:
    """Org, agents and rights, as over gRPC."""
    async with opened(tmp_path) as germane:
        await _keys_hold(germane)


async def _keys_hold(germane: Germane) -> None:
    token = (await germane.keys.create(org="acme", agents=["support"], rights=["read"])).token
    async with serving_api(germane, keys=germane.keys) as api:
        assert (await api("GET", f"{OWN}/stats")).status == 401
        wrong = await api.raw("GET", f"{OWN}/stats", authorization="Bearer gk_x")
        assert (wrong.status, wrong.headers["www-authenticate"]) == (401, "Bearer")
        for headers in ({"authorization": f"Bearer {token}"}, {"x_api_key": token}):
            assert (await api.raw("GET", f"{OWN}/stats", **headers)).status == 200
        held = {"authorization": f"Bearer {token}"}
        assert (await api.raw("GET", f"{OWN}/stats?org=other", **held)).status == 403
        assert (await api.raw("GET", "/v1/agents/other/stats", **held)).status == 403
        assert (await api.raw("GET", "/v1/agents", **held)).status == 403
        assert (await api.raw("POST", f"{OWN}/tasks/push", {"goal": "x"}, **held)).status == 403
        assert (await api.raw("GET", f"{OWN}/stats", host="memory.example", **held)).status == 200


async def _opened_with(api: HttpApi, head: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection(api.address.host, api.address.port)
    writer.write(head)
    return reader, writer


async def test_a_hash_is_text_in_what_is_found(germane: Germane, api: HttpApi) -> None:
    """A number of 64 bits would lose some of them in JavaScript. Python's client reads the library's own value."""
    agent = germane.agent("support", org="acme", user="ana")
    await agent.remember("The east gate is locked at nine")
    [found] = (await api("GET", f"{OWN}/search", org="acme", user="ana", query="east gate", limit="1")).json
    assert re.fullmatch("[0-9a-f]{16}", found["candidate"]["content_hash"])
    async with Germane.connect(f"http://{api.address}", org="acme") as remote:
        [there] = await remote.agent("support", user="ana").search("east gate", 1)
    [here] = await agent.search("east gate", 1)
    assert there.candidate.content_hash == here.candidate.content_hash


async def test_a_body_that_does_not_come_is_refused(germane: Germane) -> None:
    """408, and the connection holds no slot any longer."""
    async with serving_api(germane, limits=Limits(body_seconds=0.01)) as api:
        head = (
            f"POST {OWN}/tasks/push HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n"
        )
        reader, writer = await _opened_with(api, head.encode() + b'{"g')
        assert (await reader.readline()).startswith(b"HTTP/1.1 408 ")
        writer.close()


async def test_a_caller_who_goes_away_ends_the_work(germane: Germane, monkeypatch: pytest.MonkeyPatch) -> None:
    """What runs for nobody is cancelled."""
    begun, ended = asyncio.Event(), asyncio.Event()

    async def endless(self: Agent) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    stats = operations()["stats"]
    monkeypatch.setattr(routes, "operations", lambda: {"stats": replace(stats, method=endless)})
    routes._names.cache_clear()
    try:
        async with serving_api(germane) as api:
            _, writer = await _opened_with(api, f"GET {OWN}/stats HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            await begun.wait()
            writer.close()
            await ended.wait()
    finally:
        routes._names.cache_clear()


async def test_calls_beyond_the_slots_are_told_to_come_again(germane: Germane) -> None:
    """429 with the seconds to wait."""
    async with serving_api(germane, limits=Limits(calls=0)) as api:
        found = await api("GET", f"{OWN}/stats")
        assert (found.status, found.headers["retry-after"]) == (429, "1")
        assert (await api("GET", "/v1/openapi.json")).status == 200


@pytest.mark.parametrize(
    ("error", "kind"),
    [(LLMError("x"), "llm-error"), (NotFound("x"), "not-found"), (StoreTooNew("x"), "store-too-new"), (KeyError(), "internal")],
)
def test_a_problem_is_named_by_the_class_of_the_error(error: Exception, kind: str) -> None:
    """In kebab case; what isn't germane's own is internal, and says nothing more."""
    assert problem(error).kind == kind
