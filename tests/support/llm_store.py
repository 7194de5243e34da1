"""LLM store: a store in a file whose extraction asks a language model of the test's, on a clock that stands still until it is
moved."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from germane import Germane
from germane.settings.settings import Settings
from germane_testing.time_warp import Ticking

__all__ = ["Opening", "opening_in", "standing_clock"]

Opening = Callable[..., AbstractAsyncContextManager[Germane]]
"""Opens the store with a language model and settings."""


def standing_clock() -> Ticking:
    return Ticking(datetime(2024, 5, 3, 10, tzinfo=UTC), timedelta(0))


def opening_in(folder: Path, time: Ticking, **usual: Any) -> Opening:
    """Opens the same store, again and again; `usual` are settings that an opening may replace."""

    def opening(llm: Any, **options: Any) -> AbstractAsyncContextManager[Germane]:
        settings = Settings(extraction=False, **usual | options)
        return Germane.open(folder / "store.db", settings=settings, llm=llm, clock=time.clock, warm=False, freeze=False)

    return opening
