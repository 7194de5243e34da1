"""`/mcp/{agent}` on the port: the SDK's client over HTTP, with the keys, rights and guards of `/v1`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitResult

from germane import Germane, MissingExtra
from germane.service.http import mcp as mcp_over_http
from support.http_api import HttpApi, serving_api
from support.listening import opened

pytestmark = pytest.mark.requirement("MCP-1")
ERAS = pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
ACCEPT = "application/json, text/event-stream"


@pytest.fixture
async def germane(tmp_path: Path) -> AsyncIterator[Germane]:
    async with opened(tmp_path) as found:
        yield found


@asynccontextmanager
async def connected(api: HttpApi, path: str, era: str, key: str = "", **options: Any) -> AsyncIterator[Client]:
    headers = {"authorization": f"Bearer {key}"} if key else {}
    async with httpx2.AsyncClient(headers=headers) as http:
        transport = streamable_http_client(f"http://{api.address}{path}", http_client=http)
        async with Client(transport, mode=era, **options) as client:
            yield client


async def called(client: Client, tool: str, *, fails: bool = False, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert bool(result.is_error) == fails, result
    return str(result.content[0].model_dump()["text"])


@ERAS
async def test_the_url_says_whose_memory_it_is(germane: Germane, era: str) -> None:
    """One user's is none of another's, nor of another agent's."""
    async with serving_api(germane) as api:
        async with connected(api, "/mcp/support?org=acme&user=ana", era) as client:
            id = (await called(client, "remember", text="Rex lives in Porto")).split()[-1]
            assert "Rex lives in Porto" in await called(client, "recall", query="Where does Rex live?")
            assert "Rex lives in Porto" in (await client.read_resource(f"germane://memory/{id}")).model_dump_json()
        for other in ("/mcp/support?org=acme&user=ben", "/mcp/sales?org=acme&user=ana", "/mcp/support?org=b&user=ana"):
            async with connected(api, other, era) as client:
                await called(client, "open", fails=True, id=id)
                assert await called(client, "forget", ids=[id]) == "nothing matches: nothing was forgotten"


@ERAS
async def test_requests_at_once_dont_meet(germane: Germane, era: str) -> None:
    """Each request is answered from the scope of its own URL, whatever else runs."""
    async with serving_api(germane) as api:

        async def told(user: str) -> list[str]:
            async with connected(api, f"/mcp/support?org=acme&user={user}", era) as client:
                await called(client, "remember", text=f"The code of the door is {user}-17")
                return [await called(client, "recall", query="What is the code of the door?") for _ in range(5)]

        users = [f"user{number}" for number in range(6)]
        for user, answers in zip(users, await asyncio.gather(*map(told, users)), strict=True):
            for answer in answers:
                assert [one for one in users if f"{one}-17" in answer] == [user]


async def test_without_the_extra_the_port_says_what_to_install(germane: Germane, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest of the port works."""

    def missing(name: str) -> Any:
        raise MissingExtra("mcp", "mcp")

    async with serving_api(germane) as api:
        monkeypatch.setattr(mcp_over_http, "import_module", missing)
        for _ in range(2):
            refused = await api.raw("POST", "/mcp/support", LIST, accept=ACCEPT)
            assert refused.status == 501
            assert "germane[mcp]" in refused.json["detail"]
        monkeypatch.undo()
        assert (await api.raw("POST", "/mcp/support", LIST, accept=ACCEPT)).status == 200


async def test_the_person_is_asked_over_http(germane: Germane) -> None:
    """Without sessions the new era asks by an answer that the client sends back; the older one takes two calls."""
    asked: list[str] = []

    async def person(context: Any, params: Any) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action="accept", content={"forget": len(asked) > 1})

    async with serving_api(germane) as api:
        path = "/mcp/support?org=acme&user=ana"
        async with connected(api, path, "2026-07-28", elicitation_callback=person) as client:
            id = (await called(client, "remember", text="Rex lives in Porto")).split()[-1]
            assert "said no" in await called(client, "forget", ids=[id])
            assert "forgot 1 memories" in await called(client, "forget", ids=[id])
        async with connected(api, path, "legacy", elicitation_callback=person) as client:
            id = (await called(client, "remember", text="Rex lives in Rome")).split()[-1]
            assert "nothing was forgotten yet" in await called(client, "forget", ids=[id])
    assert len(asked) == 2


@ERAS
async def test_a_key_opens_what_it_opens_elsewhere(germane: Germane, era: str) -> None:
    """Its org without naming it, its agents, its rights; a key that may only read changes nothing."""
    reading = await germane.keys.create(org="acme", agents=["support"], rights=["read"])
    both = await germane.keys.create(org="acme", agents=["support"])
    async with serving_api(germane, keys=germane.keys) as api:
        async with connected(api, "/mcp/support?user=ana", era, both.token) as client:
            id = (await called(client, "remember", text="Rex lives in Porto")).split()[-1]
        async with connected(api, "/mcp/support?user=ana", era, reading.token) as client:
            assert "Porto" in await called(client, "recall", query="Where does Rex live?")
            for tool, arguments in (("remember", {"text": "a"}), ("forget", {"ids": [id]}), ("feedback", {"ids": [id]})):
                assert "doesn't open this" in await called(client, tool, fails=True, **arguments)
        for path in ("/mcp/sales?user=ana", "/mcp/support?org=other&user=ana"):
            async with connected(api, path, era, both.token) as client:
                assert "doesn't open this" in await called(client, "recall", fails=True, query="Rex")
        await germane.keys.revoke(both.key.id)
        for key in ("", "gk_none", both.token):
            refused = await api.raw("POST", "/mcp/support", LIST, accept=ACCEPT, authorization=f"Bearer {key}")
            assert refused.status == 401


async def test_a_page_of_another_site_calls_nothing(germane: Germane) -> None:
    """Without keys, by Host and Origin, as under `/v1`; and not at all where the service is closed."""
    async with serving_api(germane) as api:
        for headers in ({"host": "evil.example"}, {"origin": "http://evil.example"}, {"sec_fetch_site": "cross-site"}):
            assert (await api.raw("POST", "/mcp/support", LIST, accept=ACCEPT, **headers)).status == 403
    async with serving_api(germane, closed="keys are needed") as api:
        assert (await api.raw("POST", "/mcp/support", LIST, accept=ACCEPT)).status == 403


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/mcp/support", 405),
        ("DELETE", "/mcp/support", 405),
        ("POST", "/mcp/", 404),
        ("POST", "/mcp/support/x", 404),
        ("POST", "/mcp/%ff", 400),
        ("POST", "/mcp/support?user=a&user=b", 400),
        ("POST", "/mcp", 404),
    ],
)
async def test_what_isnt_there_is_a_problem(germane: Germane, method: str, path: str, status: int) -> None:
    """Refused before the SDK sees it."""
    async with serving_api(germane) as api:
        assert (await api.raw(method, path, LIST if method == "POST" else None, accept=ACCEPT)).status == status


async def test_bodies_are_bounded_and_the_port_lives_on(germane: Germane) -> None:
    """Too much, no JSON, deep JSON, a batch: an answer each, and the next request works."""
    async with serving_api(germane, max_bytes=100_000) as api:
        for body, status in (
            (b"x" * 150_000, 413),
            (b"{", 400),
            (b"[" * 50_000, 400),
            (b"\xff\xfe", 400),
            (b"[]", 400),
        ):
            assert (await api.raw("POST", "/mcp/support", body, accept=ACCEPT)).status == status, body[:10]
        async with connected(api, "/mcp/support?org=acme", "2026-07-28") as client:
            assert len((await client.list_tools()).tools) == 5
