"""What the proxy relays and records is counted, and no log, metric or span holds content, keys, ids or addresses of a call."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import aiohttp
import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from yarl import URL

from germane import Germane
from germane.service.logs import log_uncaught, route_stdlib_logging
from germane.service.metrics import Metrics
from germane.service.monitoring import PortMonitor
from germane.service.observer import Observer
from germane.service.proxy.recorder import Recorder
from germane.service.spans import Spans
from germane.types.traffic import ENDED, NO_UPSTREAM, UNRECORDED, ProxyTraffic
from germane_testing.provider import Delivery, Failure, Reply
from support.listening import opened
from support.log_lines import Kept, kept, named
from support.loopback import unused_port
from support.memory_proxy import MemoryProxy, memory_proxy, user

pytestmark = pytest.mark.requirement("OPS-1", "PROXY-1")

CANARY = "-".join(["zq", "sesame", "77"])
"""One word, so that it would pass for a name."""
CHAT = "/v1/chat/completions"


@pytest.fixture
async def germane(tmp_path: Path) -> AsyncIterator[Germane]:
    async with opened(tmp_path) as found:
        yield found


def ended(proxy: MemoryProxy) -> dict[tuple[str, str], int]:
    """What is counted, without the zeros."""
    return {key: count for key, count in proxy.proxy.traffic.ended.items() if count}


async def settled(proxy: MemoryProxy) -> None:
    await proxy.ports.bridge.on_port(lambda: proxy.proxy.running.ended(60.0))


async def test_how_each_answer_ended_is_counted(germane: Germane, tmp_path: Path) -> None:
    """By the upstream's name; an error that the provider sent is an answer like others."""
    async with memory_proxy(germane, tmp_path) as proxy:
        proxy.provider.script += [
            Reply("Yes."),
            Failure(500),
            Reply("A long answer.", delivery=Delivery(ends="cut", after=300)),
        ]
        assert (await proxy.chat(user("one"))).status == 200
        assert (await proxy.chat(user("one"), x_germane_skip="true")).status == 500
        with pytest.raises(aiohttp.ClientError):
            await proxy.post(CHAT, {"model": "gpt-5.4", "messages": [user("two")], "stream": True})
        assert (await proxy.chat(user("three"), path="/agent:a/agent:b")).status == 400
        async with proxy.session.get(URL(proxy.url).with_path("/proxy/nobody/v1/models")) as answer:
            assert answer.status == 404
        await settled(proxy)
        assert ended(proxy) == {("llm", "whole"): 2, ("llm", "upstream"): 1, (NO_UPSTREAM, "refused"): 2}


async def test_what_is_open_is_counted_until_the_caller_goes(germane: Germane, tmp_path: Path) -> None:
    async with memory_proxy(germane, tmp_path) as proxy:
        proxy.provider.script.append(Reply("A long answer.", delivery=Delivery(ends="stall", after=300)))
        body = json.dumps({"model": "gpt-5.4", "messages": [user("one")], "stream": True})
        headers = {"content-type": "application/json"}
        async with proxy.session.post(f"{proxy.url}{CHAT}", data=body, headers=headers) as answer:
            assert await answer.content.readany()
            assert proxy.proxy.traffic.open == {"llm": 1, NO_UPSTREAM: 0}
            answer.close()
        await settled(proxy)
        assert proxy.proxy.traffic.open == {"llm": 0, NO_UPSTREAM: 0}
        assert ended(proxy) == {("llm", "caller"): 1}


async def test_an_upstream_that_isnt_there_is_counted(germane: Germane, tmp_path: Path) -> None:
    async with memory_proxy(germane, tmp_path, url=f"http://127.0.0.1:{unused_port()}") as proxy:
        assert (await proxy.chat(user("one"))).status == 502
        with pytest.raises(aiohttp.WSServerHandshakeError):
            await proxy.session.ws_connect(f"{proxy.url}/v1/responses")
        await settled(proxy)
        assert ended(proxy) == {("llm", "unreachable"): 2}


async def test_an_answer_that_the_service_breaks_off_is_counted(germane: Germane, tmp_path: Path) -> None:
    """When it stops; the program sees its connection cut, and counts as gone."""
    body = json.dumps({"model": "gpt-5.4", "messages": [user("one")], "stream": True})
    async with aiohttp.ClientSession() as session:
        async with memory_proxy(germane, tmp_path) as proxy:
            proxy.provider.script.append(Reply("A long answer.", delivery=Delivery(ends="stall", after=300)))
            counted, headers = proxy.proxy, {"content-type": "application/json"}
            answer = await session.post(f"{proxy.url}{CHAT}", data=body, headers=headers)
            await answer.content.readany()
        with pytest.raises(aiohttp.ClientError):
            await answer.read()
    assert {key for key, count in counted.traffic.ended.items() if count} == {("llm", "caller")}


@pytest.mark.parametrize("closes", [True, False])
async def test_a_websocket_is_an_answer(germane: Germane, tmp_path: Path, closes: bool) -> None:
    """Whole where it is closed, else cut by whoever left."""
    async with memory_proxy(germane, tmp_path) as proxy:
        socket = await proxy.session.ws_connect(f"{proxy.url}/v1/responses")
        await socket.send_json({"type": "response.create", "model": "gpt-5.4", "input": "Hello."})
        while (await socket.receive_json())["type"] != "response.completed":
            assert proxy.proxy.traffic.open["llm"] == 1
        if closes:
            await socket.close()
        else:
            await proxy.session.close()
        await settled(proxy)
        assert ended(proxy) == {("llm", "whole" if closes else "caller"): 1}
        await proxy.recorded()
        assert proxy.proxy.traffic.recorded == 1


async def test_a_key_that_does_not_hold_is_counted(germane: Germane, tmp_path: Path) -> None:
    """Among the refusals of the port, and as an answer that no upstream gave."""
    async with memory_proxy(germane, tmp_path, keys=germane.keys) as proxy:
        assert (await proxy.chat(user("one"))).status == 401
        assert (await proxy.chat(user("one"), x_germane_key="gk_wrong")).status == 401
        await settled(proxy)
        assert ended(proxy) == {("llm", "refused"): 2}
        assert proxy.ports.slots.traffic.refused["unauthenticated"] == 2
        assert proxy.provider.requests == []


async def test_turns_are_counted_until_they_are_recorded(
    germane: Germane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And those that aren't by their reason, in the log too."""
    log, metrics = kept(), Metrics()
    ports = PortMonitor(log.logs, metrics)
    async with memory_proxy(germane, tmp_path) as proxy:
        ports.add_proxy(lambda: proxy.proxy.traffic)
        await proxy.chat(user("one"))
        await proxy.recorded()
        ports.check()
        assert "germane_proxy_turns_recorded_total 1.0" in metrics.text().decode()
        with monkeypatch.context() as patch:
            patch.setattr("germane.service.proxy.recorder._MAX_INBOX", 0)
            await proxy.chat(user("two"))
            await settled(proxy)
        ports.check()
        ports.check()
    text = metrics.text().decode()
    for sample in (
        'proxy_answers_total{ended="whole",upstream="llm"} 2.0',
        'proxy_open{upstream="llm"} 0.0',
        "proxy_turns_waiting 0.0",
        "proxy_turns_recorded_total 1.0",
        'proxy_turns_unrecorded_total{reason="full"} 1.0',
    ):
        assert f"germane_{sample}" in text
    assert [(line["event"], line["reason"], line["count"]) for line in log.lines()] == [("unrecorded", "full", 1)]


def test_every_reason_and_end_can_be_logged_and_counted() -> None:
    """Once each, however often they are looked at."""
    log, metrics = kept(), Metrics()
    ports = PortMonitor(log.logs, metrics)
    traffic = ProxyTraffic(
        open={"llm": 2},
        ended={("llm", how): 3 for how in ENDED},
        waiting=5,
        recorded=7,
        unrecorded=dict.fromkeys(UNRECORDED, 4),
    )
    ports.add_proxy(lambda: traffic)
    ports.check()
    ports.check()
    text = metrics.text().decode()
    assert all(f'germane_proxy_answers_total{{ended="{how}",upstream="llm"}} 3.0' in text for how in ENDED)
    assert all(f'germane_proxy_turns_unrecorded_total{{reason="{reason}"}} 4.0' in text for reason in UNRECORDED)
    assert [(line["reason"], line["count"]) for line in log.lines()] == [(reason, 4) for reason in UNRECORDED]


# What is written of a call.


@contextmanager
def written(log: Kept) -> Iterator[None]:
    """Has everything that this process logs written to `log`, as the service does."""
    loop = asyncio.get_running_loop()
    before = loop.get_exception_handler()
    with route_stdlib_logging(log.logs):
        log_uncaught(loop, log.logs)
        yield
    loop.set_exception_handler(before)


@pytest.mark.requirement("PROXY-3")
@pytest.mark.parametrize("fails", [False, True])
async def test_nothing_of_a_call_gets_into_log_metric_or_span(
    germane: Germane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], fails: bool
) -> None:
    """At level debug, while everything that a caller, a provider and an operator give holds one word."""
    log, exporter, metrics = kept(level="debug"), InMemorySpanExporter(), Metrics()
    observer = Observer(log.logs, metrics=metrics, traces=Spans(exporter))
    ports = PortMonitor(log.logs, metrics)

    async def fault(*_: object, **__: object) -> None:
        raise RuntimeError(CANARY)

    with written(log):
        async with memory_proxy(germane, tmp_path, observer=observer, key=f"sk-{CANARY}", keys=germane.keys) as proxy:
            ports.add_proxy(lambda: proxy.proxy.traffic)
            key = await germane.keys.create(org=CANARY)
            await germane.agent(CANARY, org=CANARY, user=CANARY).remember(f"The word is {CANARY}")
            if fails:
                monkeypatch.setattr("germane.api.agent.Agent.assemble", fault)
                monkeypatch.setattr(Recorder, "_recorded_as", fault)
            sent = {f"x_germane_{name}": CANARY for name in ("agent", "user", "session")}
            sent |= {"x_canary": CANARY, "cookie": CANARY, "traceparent": CANARY, "x_request_id": CANARY}
            proxy.provider.script += [
                Reply(CANARY, headers=(("x-request-id", CANARY), ("set-cookie", CANARY))),
                Failure(401, message=f"Incorrect key {CANARY}"),
                Reply(CANARY, delivery=Delivery(ends="cut", after=300)),
            ]
            asked = {"model": CANARY, "messages": [user(f"What is {CANARY}?")], "stream": True, "user": CANARY}
            for number in range(3):
                try:
                    answer = await proxy.post(f"{CHAT}?{CANARY}={CANARY}", asked, x_germane_key=key.token, **sent)
                    assert ("x-germane-fallback" in answer.headers) is fails
                except aiohttp.ClientError:
                    assert number == 2
            socket = await proxy.session.ws_connect(
                f"{proxy.url}/agent:{CANARY}/v1/responses", headers={"X-Germane-Key": key.token, "X-Canary": CANARY}
            )
            await socket.send_json({"type": "response.create", "model": CANARY, "input": CANARY})
            while (await socket.receive_json())["type"] != "response.completed":
                pass
            await socket.close()
            assert (await proxy.post(f"/{CANARY}/..{CHAT}", asked, x_germane_key=key.token)).status == 400
            assert (await proxy.post(CHAT, asked, x_germane_key=f"gk_{CANARY}")).status == 401
            assert (await proxy.post(CHAT, asked, authorization=f"Bearer gk_{CANARY}")).status == 401
            assert CANARY.encode() in proxy.provider.requests[0].body
            await settled(proxy)
            await proxy.proxy.recorder.flush(60.0 if not fails else 0.2)
            ports.check()
    observer.close()
    said = log.text() + metrics.text().decode() + "".join(span.to_json() for span in exporter.get_finished_spans())
    assert said.count('"method":"Proxy"') == 4
    assert "sesame" not in said
    assert key.token not in said
    assert key.token[3:] not in said
    assert "sesame" not in "".join(capfd.readouterr())
    lines = [line for line in log.stream.getvalue().decode().splitlines() if '"Proxy"' in line]
    first = json.loads(lines[0])
    assert (first["org"], first["agent"], first["code"]) == (named(CANARY), named(CANARY), "OK")
    assert first.get("fallback_reason", "") == ("assembly_error:RuntimeError" if fails else "")
    if fails:
        assert any('"text":"can\'t record a turn, and tries again"' in line for line in said.splitlines())
        assert any('"logger":"germane.service"' in line and '"error":"RuntimeError"' in line for line in said.splitlines())


@pytest.mark.requirement("PROXY-2")
async def test_the_log_says_why_a_call_got_nothing(germane: Germane, tmp_path: Path) -> None:
    """In the words of the header."""
    log = kept()
    observer = Observer(log.logs)
    async with memory_proxy(germane, tmp_path, observer=observer, keys=germane.keys) as proxy:
        key = await germane.keys.create(org="acme", agents=("one",))
        denied = await proxy.chat(user("hi"), path="/agent:other", x_germane_key=key.token)
        invalid = await proxy.chat(user("hi"), path="/agent:one", x_germane_key=key.token, x_germane_zone="Nowhere/Land")
        told = [answer.headers["x-germane-fallback"] for answer in (denied, invalid)]
        await settled(proxy)
    assert told == ["denied", "invalid_input"]
    assert [line["fallback_reason"] for line in log.lines() if line["event"] == "request"] == told
