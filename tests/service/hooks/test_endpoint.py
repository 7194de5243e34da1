"""Endpoint: who may send an event; and whatever happens behind it, an answer that stops nothing comes before its deadline."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from germane import Germane
from germane.grpc.server.admission import Ports
from germane.service.hooks.answers import HookAnswers
from germane.service.hooks.endpoint import MAX_BODY, HookPort
from germane.service.http.server import HttpServer
from germane.settings.values import Address
from support.http_api import Answered, HttpApi

pytestmark = pytest.mark.requirement("HOOK-1", "HOOK-2")
EVENT = {"session_id": "s", "cwd": "/", "hook_event_name": "UserPromptSubmit", "prompt": "What is known?"}


@asynccontextmanager
async def serving(germane: Germane, folder: Path, stop: Callable[[], object] = lambda: None) -> AsyncIterator[HttpApi]:
    """Serves the hooks of a store with a key."""
    ports, answers = Ports(keys=germane.keys), HookAnswers(germane, folder)
    server = HttpServer(HookPort(answers, ports, stop), Address(host="127.0.0.1", port=0), takes_body=lambda target: True)
    await ports.open()
    try:
        await ports.bridge.on_port(server.start)
        key = (await germane.keys.create(org="default")).token
        async with aiohttp.ClientSession() as session:
            yield HttpApi(server.address, session, {"authorization": f"Bearer {key}"})
        await ports.bridge.on_port(server.stop)
    finally:
        await answers.close()
        await ports.close()


@pytest.fixture
async def germane(tmp_path: Path) -> AsyncIterator[Germane]:
    async with Germane.open(tmp_path / "germane.db") as opened:
        yield opened


async def sent(api: HttpApi, given: Any = EVENT, target: str = "/hooks/claude-code", **headers: str) -> Answered:
    return await api.raw("POST", target, given, **headers)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"authorization": "Bearer gk_wrong_key"}, 401),
        ({"authorization": ""}, 401),
        ({"origin": "https://evil.example"}, 403),
        ({"sec_fetch_site": "cross-site"}, 403),
        ({"host": "evil.example"}, 403),
    ],
)
async def test_only_callers_with_the_key_are_answered(
    germane: Germane, tmp_path: Path, headers: dict[str, str], status: int
) -> None:
    """No other user of the machine, and no page of another site, whatever name it has for this machine."""
    async with serving(germane, tmp_path / "data") as api:
        assert (await sent(api, **headers)).status == status


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff", b"[" * 100_000, b'{"session_id": "a"}', b"null"])
async def test_what_is_no_event_adds_nothing(germane: Germane, tmp_path: Path, body: bytes) -> None:
    """And is no error."""
    async with serving(germane, tmp_path / "data") as api:
        answer = await sent(api, body)
        assert (answer.status, answer.json) == (200, {})


async def test_a_body_beyond_the_limit_is_refused(germane: Germane, tmp_path: Path) -> None:
    """It isn't kept while it is read."""
    async with serving(germane, tmp_path / "data") as api:
        assert (await sent(api, b" " * (MAX_BODY + 1))).status == 413


async def test_an_unknown_client_is_refused(germane: Germane, tmp_path: Path) -> None:
    """So that a mistyped path is seen."""
    async with serving(germane, tmp_path / "data") as api:
        assert (await sent(api, target="/hooks/nobody")).status == 404


async def test_an_engine_that_hangs_or_fails_adds_nothing(
    germane: Germane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer comes at the deadline of its event, and says nothing."""

    async def hang(self: object, event: object) -> dict[str, Any]:
        await asyncio.get_running_loop().create_future()
        return {}

    async def fail(self: object, event: object) -> dict[str, Any]:
        raise RuntimeError("disk full")

    async with serving(germane, tmp_path / "data") as api:
        for behaviour in (hang, fail):
            monkeypatch.setattr(HookAnswers, "answer", behaviour)
            answer = await sent(api)
            assert (answer.status, answer.json) == (200, {})


async def test_a_caller_of_a_later_version_is_told_what_to_do(germane: Germane, tmp_path: Path) -> None:
    """In one line, and without a stop; one of this version isn't."""
    async with serving(germane, tmp_path / "data") as api:
        told = (await sent(api, target="/hooks/codex?protocol=2")).json
        assert told.keys() == {"systemMessage"}
        assert "doctor --client codex" in told["systemMessage"]
        assert (await sent(api, target="/hooks/codex?protocol=1")).json == {}
        assert (await sent(api, target="/hooks/codex")).json == {}


async def test_fifty_sessions_at_once_are_answered(germane: Germane, tmp_path: Path) -> None:
    """Each with a prompt, and the ends of their turns beside."""
    async with serving(germane, tmp_path / "data") as api:
        names = ("SessionStart", "UserPromptSubmit", "Stop", "PostToolUse")
        events = [{**EVENT, "session_id": f"s{number}", "hook_event_name": name} for number in range(50) for name in names]
        await sent(api)
        answers = await asyncio.gather(*(sent(api, event) for event in events))
        assert {answer.status for answer in answers} == {200}


async def test_the_service_ends_when_it_is_told(germane: Germane, tmp_path: Path) -> None:
    """By a caller with the key alone."""
    told: list[bool] = []
    async with serving(germane, tmp_path / "data", lambda: told.append(True)) as api:
        assert (await sent(api, {}, "/hooks/stop", authorization="")).status == 401
        assert told == []
        assert (await sent(api, {}, "/hooks/stop")).json == {}
        assert told == [True]
        assert (await sent(api, {}, "/hooks/alive")).json == {}
