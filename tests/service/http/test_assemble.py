"""`assemble` over HTTP: the context, the deadline, and what is answered where germane fails; `export` as a stream."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from germane import Germane
from germane.api.agent import Agent
from germane.errors import StoreUnavailable
from support.http_api import HttpApi, serving_api
from support.listening import opened

pytestmark = pytest.mark.requirement("HTTP-1")

OWN = "/v1/agents/support"
ASKED = [{"role": "user", "content": "When does the warehouse open?"}]


@pytest.fixture
async def germane(tmp_path: Path) -> AsyncIterator[Germane]:
    async with opened(tmp_path) as found:
        yield found


@pytest.fixture
async def api(germane: Germane) -> AsyncIterator[HttpApi]:
    async with serving_api(germane) as served:
        yield served


async def test_the_context_is_the_librarys(germane: Germane, api: HttpApi) -> None:
    """Messages, what was added, and the report."""
    own = await germane.agent("support", org="acme").assemble(ASKED, model="gpt-4o", deadline=None)
    found = await api("POST", f"{OWN}/assemble", {"messages": ASKED, "model": "gpt-4o"}, org="acme")
    assert found.status == 200, found.body
    assert found.json["messages"] == list(own.messages)
    assert [item["text"] for item in found.json["items"]] == [item.text for item in own.items]
    assert found.json["metadata"]["memories_injected"] == own.metadata.memories_injected == 1


async def test_messages_come_back_as_they_were(api: HttpApi) -> None:
    """With all their fields and characters; the system prompt of a provider that keeps it apart beside them."""
    odd = {"role": "user", "content": [{"type": "text", "text": 'Ω \u2028 \\ " é', "cache_control": {"type": "ephemeral"}}]}
    asked = {"messages": [odd], "model": "claude-sonnet-4-5", "provider": "anthropic", "system": "Be brief."}
    found = await api("POST", f"{OWN}/assemble", asked, org="acme")
    assert found.status == 200, found.body
    assert odd in found.json["messages"]
    assert "Be brief." in json.dumps(found.json["system"])


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({}, "messages"),
        ({"messages": ASKED}, "model"),
        ({"messages": [], "model": "gpt-4o"}, "messages"),
        ({"messages": "hi", "model": "gpt-4o"}, "messages"),
        ({"messages": [{"role": "nobody", "content": "x"}], "model": "gpt-4o"}, "messages[0].role"),
        ({"messages": ASKED, "model": "gpt-4o", "deadline": -1}, "deadline"),
        ({"messages": ASKED, "model": "gpt-4o", "history": True}, ""),
        ({"messages": ASKED, "model": "gpt-4o", "strategy": "none such"}, ""),
    ],
)
async def test_what_the_caller_must_correct_is_a_problem(api: HttpApi, given: Any, path: str) -> None:
    """And never a context."""
    found = await api("POST", f"{OWN}/assemble", given, org="acme")
    assert found.status == 400
    assert found.json.get("path", "").startswith(path)


async def test_a_fault_of_germanes_is_answered_with_the_callers_messages(
    germane: Germane, monkeypatch: pytest.MonkeyPatch
) -> None:
    """200, with the reason; and the directive, as long as that one can be had."""

    async def fails(self: Agent, *_: Any, **__: Any) -> Any:
        raise StoreUnavailable("gone")

    async with serving_api(germane) as api:
        monkeypatch.setattr(Agent, "assemble", fails)
        found = await api("POST", f"{OWN}/assemble", {"messages": ASKED, "model": "gpt-4o"}, org="acme")
        assert (found.status, found.json["metadata"]["fallback_reason"]) == (200, "assembly_error:StoreUnavailable")
        assert "Answer kindly." in json.dumps(found.json["messages"])
        monkeypatch.setattr(Agent, "fallback", fails)
        bare = await api("POST", f"{OWN}/assemble", {"messages": ASKED, "model": "gpt-4o"}, org="acme")
        assert (bare.status, bare.json["messages"]) == (200, ASKED)
        assert bare.json["metadata"]["degradation_level"] == 3


async def test_an_engine_that_hangs_is_answered_in_time(germane: Germane, monkeypatch: pytest.MonkeyPatch) -> None:
    """The caller's own deadline, where it is earlier than the service's."""

    async def hangs(self: Agent, *_: Any, **__: Any) -> Any:
        await asyncio.Event().wait()

    monkeypatch.setattr(Agent, "assemble", hangs)
    async with serving_api(germane) as api:
        asked = {"messages": ASKED, "model": "gpt-4o", "deadline": 0.01}
        found = await api("POST", f"{OWN}/assemble", asked, org="acme")
        assert (found.status, found.json["metadata"]["fallback_reason"]) == (200, "assembly_timeout")


async def test_what_is_recorded_is_found(api: HttpApi) -> None:
    """record, remember, search, feedback and forget."""
    talk = [{"role": "user", "content": "My locker is number 4417"}]
    recorded = await api("POST", f"{OWN}/record", {"messages": talk, "session": "s1"}, org="acme", user="ana")
    assert len(recorded.json["added"]) == 1
    kept = await api(
        "POST", f"{OWN}/remember", {"text": "The locker is blue", "fields": {"tags": ["x"]}}, org="acme", user="ana"
    )
    assert kept.json["tags"] == ["x"]
    found = await api("GET", f"{OWN}/search", org="acme", user="ana", query="locker", limit="5")
    assert {one["candidate"]["text"] for one in found.json} >= {"My locker is number 4417", "The locker is blue"}
    counted = await api("POST", f"{OWN}/feedback", {"ids": [kept.json["id"]]}, org="acme", user="ana")
    assert counted.json == 1
    gone = await api("POST", f"{OWN}/forget", {"tag": "x"}, org="acme", user="ana")
    assert gone.json["memory_ids"] == [kept.json["id"]], gone.json
    forged = {"text": "x", "fields": {"provenance": {"source_kind": "system"}}}
    assert (await api("POST", f"{OWN}/remember", forged, org="acme", user="ana")).status == 400


async def test_an_export_is_a_stream(germane: Germane, api: HttpApi) -> None:
    """Lines, or server-sent events for who accepts these."""
    talk = [{"role": "user", "content": f"Box {at} is here"} for at in range(150)]
    await germane.agent("support", org="acme").record(talk, session="s")
    lines = await api("GET", f"{OWN}/export", org="acme")
    assert lines.headers["content-type"] == "application/x-ndjson"
    found = [json.loads(line) for line in lines.body.splitlines()]
    assert [one["type"] for one in found] == ["header", "directive", "memory", "session"] + ["message"] * 150
    events = await api.raw("GET", f"{OWN}/export?org=acme", accept="text/event-stream")
    told = [json.loads(part.removeprefix(b"data: ")) for part in events.body.split(b"\n\n") if part]
    assert told[1:] == found[1:]
    assert (await api("GET", f"{OWN}/export", org="acme", wrong="1")).status == 400
