"""`germane.sync.Germane.connect`: the library over HTTP for threads, against the real service."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

from germane import Germane, InvalidInput, NotFound, StoreUnavailable
from germane.api.remote import blocking_http
from germane.api.remote import http as awaited_http
from germane.sync import Germane as BlockingGermane
from support.http_api import serving_api
from support.listening import opened

pytestmark = pytest.mark.requirement("HTTP-1")

ASKED = [{"role": "user", "content": "When does the warehouse open?"}]
Called = Callable[[Callable[[blocking_http.RemoteGermane], None]], Any]


@pytest.fixture
async def called(tmp_path: Path) -> AsyncIterator[Called]:
    """Calls a function in a thread, with a `Germane` that is connected to a service."""
    async with opened(tmp_path) as germane, serving_api(germane) as api:
        url = f"http://{api.address}"

        def connected(use: Callable[[blocking_http.RemoteGermane], None]) -> None:
            with BlockingGermane.connect(url, org="acme", limit=10.0) as remote:
                use(remote)

        yield lambda use: asyncio.to_thread(connected, use)


async def test_threads_call_the_library_over_http(called: Called) -> None:
    """Memories, blocks, messages, contexts and exports have the library's values and errors."""

    def use(remote: blocking_http.RemoteGermane) -> None:
        agent = remote.agent("support", user="ana")
        kept = agent.remember("The warehouse opens at six", kind="note")
        assert agent.memories.get(kept.id) == kept
        agent.blocks.create("persona", text="Friendly.")
        agent.record([{"role": "user", "content": "My name is Ana"}], session="s1")
        answer = agent.assemble(ASKED, model="gpt-4o", session="s2", deadline=10.0)
        assert answer.metadata.degradation_level == 0
        assert "opens at six" in str(answer.messages)
        assert kept.id in [line.get("id") for line in agent.export()]
        assert agent.directive("Be brief.") == "Be brief." == agent.directive()
        assert kept.id not in [one.candidate.id for one in agent.within(user="ben").search("warehouse")]
        assert [one.agent for one in remote.agents().agents] == ["support"]
        agent.forget([kept.id])
        with pytest.raises(NotFound):
            agent.memories.get(kept.id)
        with pytest.raises(InvalidInput, match="limit"):
            agent.memories.list(limit=0)

    await called(use)


async def test_threads_share_one_connection(called: Called) -> None:
    """Any number of them."""

    def use(remote: blocking_http.RemoteGermane) -> None:
        agent = remote.agent("support")
        with ThreadPoolExecutor(8) as pool:
            kept = [*pool.map(lambda number: agent.remember(f"Box {number} is in the hall"), range(24))]
        assert {one.id for one in kept} <= {one.id for one in agent.memories.list(limit=50).memories}

    await called(use)


async def test_once_closed_messages_come_back_and_the_thread_is_gone(called: Called) -> None:
    """Other calls raise; closing twice does nothing."""
    kept: list[blocking_http.RemoteGermane] = []
    await called(kept.append)
    (remote,) = kept
    assert not [one for one in threading.enumerate() if one.name == "germane"]
    answer = remote.agent("support").assemble(ASKED, model="gpt-4o")
    assert answer.messages == ASKED
    assert answer.metadata.fallback_reason == "client_error:closed"
    with pytest.raises(StoreUnavailable, match="open it with"):
        remote.agent("support").stats()
    remote.close()


def test_where_nobody_answers_messages_come_back() -> None:
    """As from the asyncio client."""
    with BlockingGermane.connect("http://127.0.0.1:1") as remote:
        assert remote.agent("support").assemble(ASKED, model="gpt-4o").metadata.fallback_reason == "http_error:UNAVAILABLE"
        with pytest.raises(StoreUnavailable):
            remote.ping()


@pytest.mark.parametrize("owner", ["RemoteGermane", "RemoteAgent"])
def test_the_blocking_classes_have_the_methods_of_the_asyncio_ones(owner: str) -> None:
    """With the same arguments; so has `connect`."""
    awaited, blocking = getattr(awaited_http, owner), getattr(blocking_http, owner)
    public = [name for name in vars(awaited) if not name.startswith("_")]
    assert public == [name for name in vars(blocking) if not name.startswith("_")]
    for name in public:
        assert [*signature(getattr(awaited, name)).parameters] == [*signature(getattr(blocking, name)).parameters]
    assert signature(BlockingGermane.connect) == signature(Germane.connect)
