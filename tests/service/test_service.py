"""The command `germane serve` in real processes: start, shared data, restart and end."""

from __future__ import annotations

import json
import os
import signal
import socket
import urllib.request
from pathlib import Path

import pytest

from germane import Germane
from germane.api.remote.answer import Answer
from germane.cli import main
from germane.grpc.client import Client
from support.running import Service, serving

CANARY = "The spare key lies under the blue flowerpot"
ASKED = [{"role": "user", "content": "Where is the spare key?"}]
MANY = 400
"""Retries on a machine that may be busy."""


def client(service: Service) -> Client:
    return Client(service.grpc, org="acme", agent="house")


async def full(service: Service, absent: str = "") -> Answer:
    """Asks until an answer has every source; no answer on the way may contain `absent`."""
    async with client(service) as asking:
        for number in range(MANY):
            answer = await asking.assemble(ASKED, model="gpt-4o", session=f"s{number}")
            assert not absent or absent not in str(answer.messages)
            if answer.metadata.degradation_level == 0:
                return answer
            await asking.warm()
    pytest.fail(f"no full answer in {MANY}: {answer.metadata}")


def get(service: Service, path: str) -> str:
    with urllib.request.urlopen(f"http://{service.http}{path}") as answer:
        return str(answer.read().decode())


@pytest.mark.requirement("OPS-2", "PACK-8")
async def test_what_one_process_forgets_no_other_shows(tmp_path: Path) -> None:
    """Two processes over one file: the next answer of the other process is without the forgotten memory."""
    db = tmp_path / "germane.db"
    with serving(db, log=tmp_path / "one") as one, serving(db, log=tmp_path / "other") as other:
        async with client(one) as writing:
            kept = await writing.remember(CANARY)
            for service in (one, other):
                assert CANARY in str((await full(service)).messages)
            await writing.forget(ids=[kept.id])
        for service in (other, one):
            await full(service, absent=CANARY)


@pytest.mark.requirement("OPS-2", "RPC-3")
async def test_a_worker_that_is_killed_is_missed_by_nobody(tmp_path: Path) -> None:
    """Meanwhile callers get their messages back, and full answers again soon after. Then all processes end in order."""
    with socket.socket() as free, socket.socket() as too:
        for one in (free, too):
            one.bind(("127.0.0.1", 0))
        grpc, http = (f"127.0.0.1:{one.getsockname()[1]}" for one in (free, too))
    with serving(tmp_path / "germane.db", "--workers", "2", "--grpc", grpc, "--http", http) as service:
        await full(service)
        before = service.children
        while len(before) < 2:
            before = service.children
        os.kill(before[0], signal.SIGKILL)
        await full(service)
        assert service.stop() == 0
    assert "ended with -9" in service.log.read_text("utf-8")


@pytest.mark.requirement("RPC-3", "ENGINE-2", "OPS-1")
async def test_killing_the_service_hurts_no_caller_and_loses_nothing(tmp_path: Path) -> None:
    """Whatever it was doing: the messages come back as they were, and what was answered is there after a restart."""
    db = tmp_path / "germane.db"
    with serving(db) as service:
        async with client(service) as asking:
            await asking.remember(CANARY)
            await asking.assemble(ASKED, model="gpt-4o")
            service.process.kill()
            for _ in range(20):
                answer = await asking.assemble(ASKED, model="gpt-4o")
                assert list(answer.messages) == ASKED or answer.metadata.degradation_level < 3
            assert answer.metadata.fallback_reason.startswith("grpc_error:")
    with serving(db) as service:
        assert CANARY in str((await full(service)).messages)


@pytest.mark.requirement("RPC-5")
@pytest.mark.parametrize(("options", "said"), [([], "tls_cert and tls_key"), (["--plaintext"], "keys create")])
def test_an_address_that_others_reach_needs_keys(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], said: str
) -> None:
    """Refused at the start, with what to do; with a key there it begins."""
    assert main(["--db", str(tmp_path / "germane.db"), "serve", "--grpc", "0.0.0.0:0", "--http", "off", *options]) == 2
    out, errors = capsys.readouterr()
    assert out == ""
    assert said in errors


@pytest.mark.requirement("RPC-5")
async def test_a_key_opens_its_org(tmp_path: Path) -> None:
    """And nothing without one."""
    db = tmp_path / "germane.db"
    async with Germane.open(db) as germane:
        issued = await germane.keys.create(org="acme")
    with serving(db, "--require-keys") as service:
        async with client(service) as nobody:
            answer = await nobody.assemble(ASKED, model="gpt-4o")
            assert answer.metadata.fallback_reason == "grpc_error:UNAUTHENTICATED"
        async with Client(service.grpc, org="acme", agent="house", key=issued.token) as somebody:
            assert (await somebody.remember(CANARY)).text == CANARY
        assert issued.token not in service.log.read_text("utf-8")


@pytest.mark.requirement("OPS-1")
async def test_health_readiness_and_metrics_are_there(tmp_path: Path) -> None:
    """And the log says what happened, without content."""
    with serving(tmp_path / "germane.db") as service:
        async with client(service) as asking:
            await asking.remember(CANARY)
        await full(service)
        assert json.loads(get(service, "/health"))["status"] == "alive"
        assert json.loads(get(service, "/ready")) == {"status": "ready", "reasons": []}
        metrics = get(service, "/metrics")
        assert 'germane_answers_total{level="0"}' in metrics
        assert service.stop() == 0
        text, events = service.log.read_text("utf-8"), service.events()
    assert "flowerpot" not in text + metrics
    happened = [one["event"] for one in events if one["event"] in ("listening", "stopping", "stopped")]
    assert happened == ["listening", "listening", "stopping", "stopped"]
    assert {one["method"] for one in events if one["event"] == "request"} == {"remember", "AssembleContext"}
