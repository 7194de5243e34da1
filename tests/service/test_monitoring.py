"""Monitoring: what is missing while the service is ready."""

from __future__ import annotations

import asyncio
import io
import sys
from types import SimpleNamespace

import pytest

from germane.engine.engine import State
from germane.service.monitoring import monitoring
from germane.settings.serving import ServiceSettings


@pytest.mark.parametrize(
    ("state", "missing"),
    [
        (State(), ()),
        (State(llm_fault="HTTP 401"), ("llm_not_reading",)),
        (State(llm_fault="HTTP 401", embedder_fault="away"), ("embedder_not_answering", "llm_not_reading")),
    ],
)
async def test_a_language_model_that_fails_is_told_and_the_service_stays_ready(
    state: State, missing: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In `degraded` and in the log, without the fault's own words."""
    ready = asyncio.Event()

    async def nothing() -> None: ...

    async def changed(now: bool) -> None:
        if now:
            ready.set()

    written = io.BytesIO()
    monkeypatch.setattr(sys, "stderr", SimpleNamespace(buffer=written))
    settings = ServiceSettings(metrics=False)
    async with monitoring(
        settings,
        probe=nothing,
        state=lambda: state,
        pseudonym=str,
        version="1",
        metrics_folder=None,
        on_change=changed,
    ) as monitor:
        await asyncio.wait_for(ready.wait(), 10)
        assert (monitor.degraded(), monitor.readiness.reasons) == (missing, ())
    log = written.getvalue().decode()
    assert ("llm_failing" in log, "embedder_failing" in log) == ("llm_not_reading" in missing, len(missing) == 2)
    assert "HTTP" not in log
