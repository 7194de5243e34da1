"""Models in use: a name that the catalog doesn't know is told, unless the caller describes it."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from germane import Germane
from germane.catalog import profiles
from support.stories import ask


@pytest.fixture(autouse=True)
def nothing_logged_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiles, "_LOGGED", set())


@pytest.mark.requirement("BUD-1a")
@pytest.mark.asyncio(loop_scope="module")
async def test_an_unknown_model_is_told_in_every_answer_and_once_in_the_log(
    shared: Germane, caplog: pytest.LogCaptureFixture
) -> None:
    """The metadata hold the trace's warnings; the log names each model."""
    for model in ("deployment-7", "deployment-7", "deployment-8"):
        context = await ask(shared.agent(), model=model)
        (warning,) = context.metadata.warnings
        assert warning.startswith(f"the catalog has no model '{model}': a window of 8192 tokens is assumed; pass like= or")
        assert context.metadata.warnings == context.trace.warnings
    logged = [record.getMessage() for record in caplog.records if record.name == "germane.catalog"]
    assert len(logged) == 2
    assert "'deployment-7'" in logged[0]
    assert "'deployment-8'" in logged[1]


@pytest.mark.requirement("BUD-1a")
@pytest.mark.parametrize("described", [{"like": "gpt-4.1"}, {"window": 32_000}, {"like": "gpt-4.1", "window": 32_000}])
@pytest.mark.asyncio(loop_scope="module")
async def test_a_model_that_is_described_is_not_told(
    shared: Germane, caplog: pytest.LogCaptureFixture, described: dict[str, Any]
) -> None:
    """Its budget is that of the description."""
    context = await ask(shared.agent(), model="deployment-7", **described)
    assert context.metadata.warnings == ()
    assert caplog.records == []
    assert context.trace.budget is not None
    assert context.trace.budget.window == described.get("window", 1_047_576)
    assert context.trace.tokenizer == ("o200k" if "like" in described else context.trace.tokenizer)


@pytest.mark.requirement("BUD-1a")
@pytest.mark.asyncio(loop_scope="module")
async def test_like_decides_the_provider_where_the_call_does_not(shared: Germane) -> None:
    """As the model's own entry would."""
    assert (await ask(shared.agent(), model="deployment-7", like="claude-sonnet-4-5")).provider == "anthropic"
    assert (await ask(shared.agent(), model="deployment-7", like="claude-sonnet-4-5", provider="gemini")).provider == "gemini"


def test_a_log_that_fails_and_many_names_do_no_harm(caplog: pytest.LogCaptureFixture) -> None:
    """Names come from callers: the log takes 64 of them."""

    class Failing(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            raise RuntimeError

    logger = logging.getLogger("germane.catalog")
    logger.addHandler(handler := Failing())
    try:
        for number in range(100):
            profiles.log_unknown_model(f"deployment-{number}", 8192)
    finally:
        logger.removeHandler(handler)
    assert len(profiles._LOGGED) == 64


@pytest.mark.requirement("AMOUNT-2")
@pytest.mark.parametrize("effort", ["low", "medium", "high", 0.01, 2, 100])
@pytest.mark.asyncio(loop_scope="module")
async def test_every_effort_is_taken(shared: Germane, effort: str | float) -> None:
    """Words and numbers, in a call."""
    assert (await ask(shared.agent(), effort=effort)).metadata.fallback_reason == ""
