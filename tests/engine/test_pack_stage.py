"""Many long texts are packed beside the event loop, few or short ones on it; the result is the same."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from threading import Event, get_ident
from typing import Any

import pytest

from germane.api.strategies import DEFAULT, VERBOSE
from germane.engine import selection
from germane.stages.pack.pack import pack
from germane.types.candidate import Candidate
from germane.types.context import Context
from germane_testing.builders import candidate
from germane_testing.time_warp import warped
from support.scoped_stores import engine, request, scoped

pytestmark = pytest.mark.requirement("ENGINE-8")

SENTENCE = "The vase from Lisbon costs forty euros, and the blue one broke on its way. "
PATIENCE = 30.0


class Long:
    """A source of so many candidates, of so many sentences each."""

    def __init__(self, count: int, sentences: int) -> None:
        self.offered = [
            candidate(f"{number}: {SENTENCE * sentences}", id=f"own-{number:03}", source="memories", content_hash=0)
            for number in range(count)
        ]

    async def gather(self, *_: object) -> Sequence[Candidate]:
        return self.offered


async def answered(count: int, sentences: int, patch: pytest.MonkeyPatch) -> tuple[Context, set[int]]:
    """The context, and the threads in which it was packed."""
    threads = set[int]()

    def noting(*given: Any, **options: Any) -> Any:
        threads.add(get_ident())
        return pack(*given, **options)

    source = Long(count, sentences)
    with patch.context() as within:
        within.setattr(selection, "pack", noting)
        germane = engine(sources={"memories": lambda _: source})
        return await germane.assemble(request(), scoped(), replace(VERBOSE, floor=0.0)), threads


@warped
async def test_many_long_texts_are_packed_in_a_thread_and_few_or_short_ones_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    for count, sentences, beside in ((60, 12, True), (60, 2, False), (2, 12, False)):
        _, threads = await answered(count, sentences, monkeypatch)
        assert len(threads) == 1
        assert (get_ident() not in threads) is beside


@warped
async def test_it_is_the_same_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    beside, _ = await answered(60, 12, monkeypatch)
    monkeypatch.setattr(selection, "_MAX_INLINE_CHARS", 10**9)
    inline, threads = await answered(60, 12, monkeypatch)
    assert threads == {get_ident()}
    assert (beside.messages, beside.trace.chosen, beside.trace.left_out) == (
        inline.messages,
        inline.trace.chosen,
        inline.trace.left_out,
    )
    assert len(beside.items) > 1


@pytest.mark.requirement("ENGINE-2")
async def test_a_caller_who_gives_up_meanwhile_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """At once; the thread ends by itself."""
    began, go, source = Event(), Event(), Long(60, 12)

    def waiting(*given: Any, **options: Any) -> Any:
        began.set()
        go.wait(PATIENCE)
        return pack(*given, **options)

    monkeypatch.setattr(selection, "pack", waiting)
    germane = engine(sources={"memories": lambda _: source})
    call = asyncio.create_task(germane.assemble(replace(request(), deadline=None), scoped(), replace(DEFAULT, floor=0.0)))
    assert await asyncio.to_thread(began.wait, PATIENCE)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert not go.is_set()
    go.set()
