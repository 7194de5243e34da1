"""Canaries: what is remembered and asked, sent through whole assemblies with a source that fails, is in no output."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Sequence
from pathlib import Path

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from germane import Candidate, Germane, SourcePlan, derive
from germane.api.strategies import DEFAULT
from germane.errors import GermaneError
from germane.service.logs import log_uncaught, route_stdlib_logging
from germane.service.metrics import Metrics
from germane.service.observer import Observer
from germane.service.spans import Spans
from germane.types.query import Query
from support.log_lines import kept

pytestmark = pytest.mark.requirement("OPS-1")

CANARY = "-".join(["zq", "sesame", "77"])
"""One word, so that it would pass for a name."""


class Faulty:
    """A source that raises what it was asked: at once, late when nobody waits any more, or in a task of its own."""

    def __init__(self, way: str) -> None:
        self.way = way

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate]:
        if self.way == "late":
            try:
                await asyncio.sleep(1)
            except asyncio.CancelledError:
                raise RuntimeError(f"late with {query}") from ValueError(CANARY)
        if self.way == "task":
            self.task = asyncio.ensure_future(self.fails(query))
            await asyncio.sleep(0)
            return ()
        logging.getLogger("crm").error("asked for %s", query.text)
        raise ValueError(f"{query} {CANARY}")

    async def fails(self, query: Query) -> None:
        raise KeyError(query.text)


@pytest.mark.parametrize("way", ["at once", "late", "task"])
async def test_content_gets_into_no_log_no_metric_and_no_span(
    way: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever a source raises, logs or leaves lying about, and whoever's ids they are."""
    log, exporter, metrics = kept(level="debug"), InMemorySpanExporter(), Metrics()
    observer = Observer(log.logs, metrics=metrics, traces=Spans(exporter))
    strategy = derive(DEFAULT, {"name": "faulty", "sources": {"crm": {"limit": 5}}})
    loop = asyncio.get_running_loop()
    before = loop.get_exception_handler()
    with route_stdlib_logging(log.logs):
        log_uncaught(loop, log.logs)
        async with Germane.open(tmp_path / "a.db", sources={"crm": lambda scoped: Faulty(way)}, freeze=False) as germane:
            agent = germane.agent(CANARY, org=CANARY, user=CANARY)
            await agent.remember(f"The word is {CANARY}", tags=[CANARY])
            for _ in range(2):
                with observer.call("AssembleContext", {"authorization": CANARY, "traceparent": CANARY}) as call:
                    call.org, call.agent, call.request_id = CANARY, CANARY, f"{CANARY} again"
                    asked = [{"role": "user", "content": f"What is {CANARY}?"}]
                    context = await agent.assemble(asked, model=CANARY, strategy=strategy, session=CANARY, deadline=0.5)
                    call.metadata = context.metadata
                assert CANARY in context.added
            with pytest.raises(GermaneError), observer.call("Remember") as call:
                await agent.remember(CANARY, kind=CANARY)
            await asyncio.sleep(0)
            gc.collect()
            metrics.refresh(state=germane.state, lag_p99=0, ready=True)
    loop.set_exception_handler(before)
    observer.close()
    said = log.text() + metrics.text().decode() + "".join(span.to_json() for span in exporter.get_finished_spans())
    assert said.count("AssembleContext") >= 4
    assert "UnknownName" in said
    assert "sesame" not in said
    assert "sesame" not in "".join(capfd.readouterr())
