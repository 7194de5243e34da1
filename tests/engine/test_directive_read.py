"""A directive that isn't known yet is read once for all calls that need it, also by calls that are refused."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest

from germane.api.strategies import DEFAULT
from germane.engine.admission import AdmissionQueue, Overloaded
from germane.kinds.memories.directive import CurrentDirective, Directive
from germane.types.context import Context
from germane.types.plan import Read
from germane_testing.faults import Fault, Hang, Raise, Slow, faulty
from germane_testing.time_warp import warped
from support.calendar import Opening
from support.scoped_stores import DIRECTIVE, Kept, engine, request


class Full(AdmissionQueue):
    async def acquire(self, *_: object) -> Any:
        raise Overloaded


class Panic(BaseException):
    """A compiled library's."""


@dataclass(frozen=True, slots=True)
class Counted(Kept):
    reads: tuple[list[None], ...] = ([],)

    async def ask(self, read: Read[Any]) -> Any:
        if isinstance(read, CurrentDirective):
            self.reads[0].append(None)
            await asyncio.sleep(0.010)
        return await Kept.ask(self, read)


async def refused(count: int, store: Kept, deadline: float = 0.048) -> tuple[list[Context], float]:
    germane, loop = engine(admission=Full()), asyncio.get_running_loop()
    began, asked = loop.time(), request(scope=store.scope, deadline=deadline)
    found = await asyncio.gather(*(germane.assemble(asked, store, DEFAULT) for _ in range(count)))
    return list(found), loop.time() - began


@pytest.mark.requirement("ENGINE-11")
@warped
async def test_fifty_refused_calls_share_one_read_and_all_have_the_directive() -> None:
    store = Counted(reads=([],))
    found, seconds = await refused(50, store)
    assert all(DIRECTIVE in context.added and context.metadata.fallback_reason == "shed" for context in found)
    assert len(store.reads[0]) == 1
    assert seconds == pytest.approx(0.010)


@pytest.mark.requirement("ENGINE-11", "ENGINE-2")
@pytest.mark.parametrize("fault", [Hang(), Raise(OSError), Raise(Panic), Raise(asyncio.CancelledError), Slow(0.5)])
@warped
async def test_a_read_that_fails_makes_no_answer_late(fault: Fault) -> None:
    found, seconds = await refused(3, faulty(Kept(), fault, "ask.CurrentDirective"))
    assert seconds <= 0.048
    assert [context.metadata.degradation_level for context in found] == [3, 3, 3]
    await asyncio.sleep(1)
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.requirement("ENGINE-11")
@warped
async def test_who_goes_away_takes_the_read_from_nobody() -> None:
    germane, store = engine(admission=Full()), Counted(reads=([],))
    first, second = (asyncio.ensure_future(germane.assemble(request(), store, DEFAULT)) for _ in range(2))
    await asyncio.sleep(0.001)
    first.cancel()
    assert DIRECTIVE in (await second).added
    assert len(store.reads[0]) == 1


@pytest.mark.requirement("ENGINE-11")
async def test_fifty_users_at_once_right_after_a_restart_all_have_the_agents_directive(opening: Opening) -> None:
    """Those whose own directive replaces it have theirs."""
    async with opening() as before:
        await before.agent("support").directive(DIRECTIVE)
        await before.agent("support", user="user-7").directive("Answer in French.")
    async with opening() as germane:
        asked = [{"role": "user", "content": "What do I drink?"}]
        agents = [germane.agent("support", user=f"user-{number}") for number in range(50)]
        found = await asyncio.gather(*(agent.assemble(asked, model="gpt-4o", deadline=0.048) for agent in agents))
        found += [await agents[8].fallback(asked, model="gpt-4o"), await agents[7].fallback(asked, model="gpt-4o")]
    french = [number for number, context in enumerate(found) if "Answer in French." in context.added]
    assert french == [7, 51]
    assert all(DIRECTIVE in context.added for number, context in enumerate(found) if number not in french)


@pytest.mark.requirement("ENGINE-11")
async def test_a_process_knows_the_directives_from_opening_on(opening: Opening) -> None:
    """Before any call, for an answer without I/O."""
    async with opening() as before:
        await before.agent("support").directive(DIRECTIVE)
    async with opening() as germane:
        assert DIRECTIVE in (await germane.agent("support", user="ann").fallback([_ASKED], model="gpt-4o")).added


@pytest.mark.requirement("ENGINE-11", "OPS-2")
async def test_a_directive_that_another_process_sets_is_known_to_a_fallback_within_a_second(
    opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also the first one that the agent has, and the text that replaces it."""
    monkeypatch.setattr("germane.stores.sqlite.erasure._POLL", 0.001)
    async with opening() as one, opening() as two:
        await two.agent("support", user="ann").warm()
        for text in (DIRECTIVE, "Answer in two words."):
            await one.agent("support").directive(text)
            while text not in (await two.agent("support", user="ann").fallback([_ASKED], model="gpt-4o")).added:
                await two.ping()


_ASKED = {"role": "user", "content": "What do I drink?"}


def test_a_users_own_directive_replaces_the_agents() -> None:
    assert Directive("for all", "for Ann").text == "for Ann"
    assert Directive("for all").text == "for all"
