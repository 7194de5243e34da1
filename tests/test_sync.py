"""The blocking twin: same verbs, same answers, from any thread; nothing left behind."""

from __future__ import annotations

import asyncio
import inspect
import signal
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from tools import twins

from germane import sync
from germane.api import germane as front
from germane.api.workers.threads import Loop
from germane.errors import Conflict, InvalidInput, NotFound, StoreUnavailable
from germane.sync import Germane
from germane_testing.builders import Hashed

TALK = [
    {"role": "user", "content": "I adopted a greyhound called Biscuit last week."},
    {"role": "assistant", "content": "How lovely! How is Biscuit settling in?"},
]
ASK = [{"role": "user", "content": "What is my greyhound called?"}]
TWINS = [(getattr(import_module(module), name), getattr(sync, name)) for module, name, _ in twins.TWINS if name != "Delegation"]
"""All but `Delegation`, whose values are fields there and attributes here."""


def verbs(owner: type) -> dict[str, Any]:
    return {name: value for name, value in inspect.getmembers_static(owner) if not name.startswith("_")}


def shape(verb: Any) -> tuple[object, ...]:
    """What a caller sees of it, `async` aside."""
    if isinstance(verb, property):
        return ("property", *shape(verb.fget))
    if isinstance(verb, cached_property):
        return ("property", *shape(verb.func))
    signature = inspect.signature(getattr(verb, "__func__", verb))
    answer = str(signature.return_annotation).replace("AsyncIterator", "Iterator")
    return (type(verb) is classmethod, list(signature.parameters.values()), answer)


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Germane]:
    with Germane.open(tmp_path / "germane.db", embedder=Hashed()) as germane:
        yield germane


@pytest.mark.parametrize(("awaited", "blocking"), TWINS, ids=lambda twin: f"{twin.__module__}.{twin.__name__}")
def test_every_verb_has_a_twin_with_the_same_signature(awaited: type, blocking: type) -> None:
    """A verb that is added, renamed or changed in one colour has to be in the other."""
    twinned = {name: verb for name, verb in verbs(awaited).items() if name not in twins.NO_TWIN}
    assert sorted(twinned) == sorted(verbs(blocking).keys() - twins.NO_TWIN)
    for name, verb in twinned.items():
        assert shape(verbs(blocking)[name]) == shape(verb), name


@pytest.mark.parametrize("blocking", [twin for _, twin in TWINS], ids=lambda twin: str(twin.__name__))
def test_no_twin_answers_with_something_to_await(blocking: type) -> None:
    """Blocking means that what comes back is the answer."""
    assert not [name for name, verb in verbs(blocking).items() if inspect.iscoroutinefunction(verb)]


def test_what_was_recorded_and_remembered_comes_back_in_the_messages(opened: Germane) -> None:
    """The fifteen lines of the README, without await."""
    agent = opened.agent("support", org="acme", user="caroline")
    agent.directive("Answer in one sentence.")
    agent.remember("Prefers e-mail to phone calls", kind="preference")
    agent.record(TALK, session="s1")
    context = agent.assemble(ASK, model="gpt-4o", session="s2", deadline=None)
    directive, added, asked = context.messages
    assert asked == ASK[0]
    assert "Biscuit" in str(added)
    assert directive == {"role": "system", "content": context.system}
    assert "Answer in one sentence." in (context.system or "")
    assert "conversation" in context.explain()


def test_memories_are_read_and_changed_one_by_one(opened: Germane) -> None:
    """`agent.memories` forwards as well."""
    agent = opened.agent(user="caroline")
    kept = agent.remember("Prefers e-mail", kind="preference", tags=["contact"])
    changed = agent.memories.update(kept.id, "Prefers letters")
    assert agent.memories.get(changed.id).text == "Prefers letters"
    assert [memory.id for memory in agent.memories.list(limit=5).memories] == [changed.id]
    assert agent.memories.versions(changed.id)[-1].id == changed.id
    assert agent.feedback([changed.id], helpful=True) == 1
    assert agent.forget([changed.id]).memory_ids == (changed.id,)
    with pytest.raises(NotFound):
        agent.memories.get(changed.id)


def test_recall_warm_check_and_strategies_answer(opened: Germane) -> None:
    """The verbs that only read."""
    agent = opened.agent(user="caroline")
    agent.record(TALK, session="s1")
    agent.warm()
    assert "Biscuit" in agent.search("greyhound called", limit=1)[0].candidate.text
    assert opened.check().healthy
    assert opened.strategies.find("compact").format == "compact"
    assert opened.reembed() == 0
    assert opened.upgrade() == 0


def test_export_yields_everything_in_order_across_portions(opened: Germane) -> None:
    """However many are fetched at a time, each comes once."""
    agent = opened.agent()
    told = [f"message number {number}" for number in range(600)]
    agent.record([{"role": "user", "content": text} for text in told], session="s1")
    assert [one["content"] for one in agent.export() if one["type"] == "message"] == told
    assert next(iter(agent.export()))["type"] == "header"


@pytest.mark.requirement("MEM-3")
def test_an_export_is_restored_into_another_store(opened: Germane, tmp_path: Path) -> None:
    """The blocking twin has both sides, for one scope and for a whole store."""
    opened.agent(user="ada").record([{"role": "user", "content": "hello"}], session="s1")
    lines = list(opened.export())
    with Germane.open(tmp_path / "copy.db", embedder=Hashed()) as copy:
        assert copy.restore(lines).messages == 1
        assert copy.agent(user="ada").restore(opened.agent(user="ada").export()).known == 1
        assert list(copy.export()) == lines


def test_an_export_that_is_left_early_holds_nothing_back(opened: Germane) -> None:
    """Its snapshot ends with the iterator, so that what is forgotten next can be scrubbed from the files."""
    agent = opened.agent()
    agent.record([{"role": "user", "content": f"message number {number}"} for number in range(600)], session="s1")
    lines = agent.export()
    assert [next(iter(lines))["type"], next(iter(lines))["type"]] == ["header", "session"]
    lines.close()  # type: ignore[attr-defined]
    assert agent.forget(everything=True).scrubbed


def test_a_backup_opens_as_a_store(opened: Germane, tmp_path: Path) -> None:
    """`backup` returns when the copy is whole."""
    opened.agent().directive("Be kind.")
    opened.backup(tmp_path / "copy.db")
    with Germane.open(tmp_path / "copy.db", embedder=Hashed()) as copy:
        assert copy.agent().directive() == "Be kind."


def test_errors_are_those_of_the_awaited_verbs(opened: Germane) -> None:
    """Nothing is wrapped on its way between the threads."""
    agent = opened.agent()
    with pytest.raises(InvalidInput):
        agent.assemble([], model="gpt-4o")
    with pytest.raises(InvalidInput):
        agent.remember("x", verb="is no field of a note")
    agent.record([{"id": "m1", "role": "user", "content": "one"}], session="s1")
    with pytest.raises(Conflict):
        agent.record([{"id": "m1", "role": "user", "content": "another"}], session="s1")


def test_several_threads_share_one_germane(opened: Germane) -> None:
    """Each caller waits for its own answer only."""

    def work(number: int) -> str:
        agent = opened.agent(user=f"user{number}")
        agent.record([{"role": "user", "content": f"my number is {number}"}], session="s1")
        return agent.search("number", limit=1)[0].candidate.text

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(24))) == [f"my number is {number}" for number in range(24)]


def test_closing_leaves_no_thread_and_may_be_done_again(tmp_path: Path) -> None:
    """Neither the loop's nor the store's threads outlive the `with`."""
    before = set(threading.enumerate())
    with Germane.open(tmp_path / "germane.db", embedder=Hashed()) as germane:
        agent = germane.agent()
        agent.remember("something")
    germane.close()
    assert set(threading.enumerate()) <= before
    with pytest.raises(StoreUnavailable):
        agent.search("something")


def test_a_germane_that_was_closed_opens_again(tmp_path: Path) -> None:
    """What it keeps is in the file."""
    germane = Germane.open(tmp_path / "germane.db", embedder=Hashed())
    with germane:
        germane.agent().directive("Be kind.")
    with germane:
        assert germane.agent().directive() == "Be kind."


def test_without_with_it_opens_at_the_first_call(tmp_path: Path) -> None:
    """Also where an event loop runs, as in a notebook's cell, and from several threads at once; closed, it says what to do."""
    germane = Germane.open(tmp_path / "germane.db", embedder=Hashed())

    async def cell() -> None:
        germane.agent().directive("Be kind.")

    asyncio.run(cell())
    found = list[str | None]()
    others = [threading.Thread(target=lambda: found.append(germane.agent().directive())) for _ in range(8)]
    for one in others:
        one.start()
    for one in others:
        one.join()
    assert found == ["Be kind."] * 8
    germane.close()
    for use in (germane.agent, germane.check, lambda: germane.strategies):
        with pytest.raises(StoreUnavailable, match=r"is closed: open it anew, with  Germane.open"):
            use()


@pytest.mark.parametrize(("named", "use"), [(Germane, "germane = Germane.open"), (front.Germane, "async with Germane.open")])
def test_a_germane_that_is_called_says_how_it_is_opened(named: Any, use: str) -> None:
    """Whatever it is called with."""
    with pytest.raises(TypeError, match=f"use  {use}"):
        named("germane.db")


def test_a_store_that_does_not_open_raises_and_leaves_no_thread(tmp_path: Path) -> None:
    """The error is that of opening."""
    before = set(threading.enumerate())
    with pytest.raises(StoreUnavailable), Germane.open(tmp_path / "no" / "such" / "folder" / "germane.db", embedder=Hashed()):
        pass
    assert set(threading.enumerate()) <= before


@asynccontextmanager
async def nothing() -> AsyncIterator[None]:
    yield


def test_an_interrupted_call_is_cancelled_and_the_loop_goes_on() -> None:
    """Ctrl-C reaches the caller at once; the work isn't left running behind its back."""
    cancelled = threading.Event()
    main = threading.main_thread().ident or 0

    async def endless() -> None:
        while sys._current_frames()[main].f_code.co_name != "wait":  # noqa: ASYNC110 - another thread's state has no event
            await asyncio.sleep(0)
        signal.pthread_kill(main, signal.SIGINT)
        try:
            while True:  # a signal between a frame's beginning and its waiting is noticed at the next one
                signal.pthread_kill(main, signal.SIGUSR1)
                await asyncio.sleep(0)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    async def one() -> int:
        return 1

    loop = Loop(nothing())
    before = signal.signal(signal.SIGUSR1, lambda number, frame: None)
    interrupts = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job begins without one
    with pytest.raises(KeyboardInterrupt):
        loop.call(endless)
    assert cancelled.wait(5)
    signal.signal(signal.SIGUSR1, before)
    signal.signal(signal.SIGINT, interrupts)
    assert loop.call(one) == 1
    loop.close()


def test_closing_ends_a_call_of_another_thread_with_an_error() -> None:
    """Nobody waits for ever."""
    running = threading.Event()

    async def endless() -> None:
        running.set()
        await asyncio.Event().wait()

    loop = Loop(nothing())
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(loop.call, endless)
        assert running.wait(10)
        loop.close()
        with pytest.raises(StoreUnavailable, match="closed while"):
            waiting.result()


def test_what_fails_in_closing_is_raised_by_close() -> None:
    """A fault in the last moment isn't lost in a thread."""

    @asynccontextmanager
    async def faulty() -> AsyncIterator[None]:
        yield
        raise StoreUnavailable("the disk is gone")

    loop = Loop(faulty())
    with pytest.raises(StoreUnavailable, match="the disk is gone"):
        loop.close()
