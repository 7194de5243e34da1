"""A store opens and answers although its embedder isn't there; the embedder is tried again."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from numpy.typing import NDArray

from germane import Agent, EmbedderError, Germane
from germane.models.embedders.openai import OpenAICompatible
from germane.stores.contract import EmbedsLater
from germane_testing.builders import Hashed
from germane_testing.faults import Fault, Garbage, Hang, Raise, faulty

ASKED = [{"role": "user", "content": "Where is the blue vase?"}]


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """No pauses in real time."""
    monkeypatch.setattr("germane.api.workers.batch_writers._FIRST_PAUSE", 0.01)
    monkeypatch.setattr("germane.api.workers.batch_writers._PATIENCE_SECONDS", 0.05)
    monkeypatch.setattr("germane.api.wiring._PREPARING_SECONDS", 0.05)


@pytest.fixture
def port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@asynccontextmanager
async def endpoint(port: int, dimension: int = 4, *, refused: str = "no text") -> AsyncIterator[None]:
    async def answer(request: web.Request) -> web.Response:
        texts = (await request.json())["input"]
        if any(refused in text for text in texts):
            return web.Response(status=400)
        vectors = [[float(ord(letter)) for letter in text.ljust(dimension)[:dimension]] for text in texts]
        return web.json_response({"data": [{"index": i, "embedding": vector} for i, vector in enumerate(vectors)]})

    application = web.Application()
    application.router.add_post("/v1/embeddings", answer)
    async with TestServer(application, port=port):
        yield


async def stale(germane: Germane) -> int:
    """How many texts have no vector."""
    store = germane._open.store
    assert isinstance(store, EmbedsLater)
    return await store.stale_vectors()


async def vectored(germane: Germane) -> None:
    """Returns when every text has its vector."""
    async with asyncio.timeout(20):
        while germane.state.embedder_fault or await stale(germane):  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def found(agent: Agent) -> str:
    """What is assembled; on a busy machine some assemblies miss their deadline."""
    await agent.warm()
    for _ in range(20):
        if (context := await agent.assemble(ASKED, model="gpt-4o")).metadata.memories_injected:
            break
    return str(context.messages)


class Switched(Hashed):
    """Its calls do what `fault` says, as long as it is set."""

    def __init__(self, fault: Fault | None) -> None:
        super().__init__(quick=False)
        self.fault = fault

    async def prepare(self) -> None:
        await self.embed(["prepared"])

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self.fault is None:
            return await super().embed(texts)
        inner: Any = faulty(Hashed(quick=False), self.fault, "embed")
        vectors: NDArray[np.float32] = await inner.embed(texts)
        return vectors


@pytest.mark.requirement("SEARCH-4", "ENGINE-3")
@pytest.mark.parametrize(
    "fault",
    [
        Hang(),
        Raise(EmbedderError("refused")),
        Raise(OSError()),
        Garbage(np.zeros((1, 3), np.float32)),
        Garbage(np.full((1, 16), np.nan, np.float32)),
    ],
    ids=str,
)
async def test_keywords_serve_until_the_embedder_answers(fault: Fault, tmp_path: Path) -> None:
    """Opening, recording and asking work; state and trace tell; the vectors follow."""
    embedder = Switched(fault)
    async with Germane.open(tmp_path / "germane.db", embedder=embedder, freeze=False) as germane:
        agent = germane.agent("house")
        await agent.remember("The blue vase is in the cellar")
        assert germane.state.embedder_fault
        assert "cellar" in await found(agent)
        assert await stale(germane) == 1
        embedder.fault = None
        if not isinstance(fault, Hang):
            await vectored(germane)
            assert "cellar" in await found(agent)
    async with Germane.open(tmp_path / "germane.db", embedder=embedder, freeze=False) as germane:
        await vectored(germane)


@pytest.mark.requirement("SEARCH-4")
async def test_an_embedder_that_goes_away_for_a_while(tmp_path: Path) -> None:
    """What is recorded meanwhile gets its vectors by itself."""
    embedder = Switched(None)
    async with Germane.open(tmp_path / "germane.db", embedder=embedder, freeze=False) as germane:
        agent = germane.agent("house")
        await agent.remember("The blue vase is in the cellar")
        assert (germane.state.embedder_fault, await stale(germane)) == ("", 0)
        embedder.fault = Raise(EmbedderError("away"))
        await agent.remember("The red vase is in the attic")
        assert germane.state.embedder_fault == "away"
        assert "cellar" in await found(agent)
        asked = [{"role": "user", "content": "Which vase is red?"}]  # whose vector isn't cached
        sources = (await agent.assemble(asked, model="gpt-4o")).metadata.sources
        assert [report.status for report in sources if report.name == "embedding"] != ["ok"]
        embedder.fault = None
        await vectored(germane)


@pytest.mark.requirement("SEARCH-4")
async def test_an_endpoint_that_refuses_one_text_embeds_the_others(tmp_path: Path, port: int) -> None:
    """Those that were recorded with it and after it; the state and `germane doctor` count the refused one."""
    name = f"http://127.0.0.1:{port}/v1#letters"
    async with (
        endpoint(port, refused="cursed"),
        Germane.open(tmp_path / "germane.db", embedder=name, freeze=False) as germane,
    ):
        agent = germane.agent("house")
        said = [{"role": "user", "content": f"The {word} vase is in the cellar"} for word in ("cursed", "blue")]
        await agent.record(said, session="monday")
        await agent.remember("The red vase is in the attic")
        findings = {name: finding for name, finding, _ in (await germane.check()).findings}
        assert findings["vectors"].endswith("letters/4, 1 texts without one, 1 of them refused by the embedder")
        assert (germane.state.embedder_fault, germane.state.refused_texts) == ("", 1)


@pytest.mark.requirement("SEARCH-4")
async def test_an_endpoint_that_was_never_reached_tells_its_dimension_later(tmp_path: Path, port: int) -> None:
    """A new store opens without it; keywords serve, and state, checkup and trace say why. Then the vectors follow."""
    patient = OpenAICompatible(f"http://127.0.0.1:{port}/v1", "letters", retries=0)
    async with Germane.open(tmp_path / "germane.db", embedder=patient, freeze=False) as germane:
        agent = germane.agent("house")
        await agent.remember("The blue vase is in the cellar")
        assert "ClientConnectorError" in germane.state.embedder_fault
        assert "cellar" in await found(agent)
        reports = (await agent.assemble(ASKED, model="gpt-4o", deadline=None)).metadata.sources
        assert [report.status for report in reports if report.name == "embedding"] != ["ok"]
        findings = {name: finding for name, finding, _ in (await germane.check()).findings}
        assert findings["vectors"].startswith("an embedder that hasn't answered yet, 1 texts without one: ")
        assert "germane reembed" in findings["vectors"]
        with pytest.raises(EmbedderError, match="didn't answer: ClientConnectorError"):
            await germane.reembed()
        async with endpoint(port):
            await vectored(germane)
            asked = [{"role": "user", "content": "Is the vase in the cellar blue?"}]
            context = await agent.assemble(asked, model="gpt-4o", deadline=None)
            assert [report.status for report in context.metadata.sources if report.name == "embedding"] == ["ok"]
            (hit,) = await agent.search("Is the vase in the cellar blue?")
            assert hit.candidate.evidence.cos_own
    await patient.close()


@pytest.mark.requirement("SEARCH-4")
async def test_an_endpoint_that_was_never_reached_may_be_told_its_dimension(tmp_path: Path, port: int) -> None:
    """Then, and when a store knows it, only vectors of that dimension are taken."""
    name = f"http://127.0.0.1:{port}/v1#letters"
    patient = OpenAICompatible(f"http://127.0.0.1:{port}/v1", "letters", dimension=4, retries=0)
    async with Germane.open(tmp_path / "germane.db", embedder=patient, freeze=False) as germane:
        agent = germane.agent("house")
        await agent.remember("The blue vase is in the cellar")
        assert "ClientConnectorError" in germane.state.embedder_fault
        assert "cellar" in await found(agent)
        async with endpoint(port):
            await vectored(germane)
    await patient.close()
    async with Germane.open(tmp_path / "germane.db", embedder=name, freeze=False) as germane:
        assert germane.state.embedder_fault
        assert "cellar" in await found(germane.agent("house"))


@pytest.mark.requirement("SEARCH-4")
async def test_an_endpoint_that_answers_another_dimension_than_was_given(tmp_path: Path, port: int) -> None:
    """Nothing is stored with it, and the state names both numbers."""
    async with endpoint(port, dimension=8):
        name = f"http://127.0.0.1:{port}/v1#letters"
        async with Germane.open(tmp_path / "germane.db", embedder=name, dimensions=4, freeze=False) as germane:
            agent = germane.agent("house")
            await agent.remember("The blue vase is in the cellar")
            assert "vectors of 8 numbers, not 4" in germane.state.embedder_fault
            assert "cellar" in await found(agent)
            assert await stale(germane) == 1
