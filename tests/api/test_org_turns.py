"""Org turns: an org's long work keeps nobody else waiting, and ends where nobody waits for it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from functools import partial
from threading import Event, current_thread, main_thread
from typing import Any

import pytest

from germane import Germane
from germane.api import arguments, session_compactions
from germane.api.workers.threads import OrgTurns, by_turns
from germane.compaction.strategy import Truncate
from germane.engine import fallback
from germane.engine import fallback as answer
from germane.grpc.messages import context_pb2
from germane.grpc.server.assembly_servicer import WireConversation
from germane.kinds.blocks import handle as agent_blocks
from germane.kinds.blocks.plans import screened_mutations
from germane.stages import compact, measure

pytestmark = pytest.mark.requirement("ENGINE-4", "ENGINE-2")


async def test_an_org_with_many_long_pieces_leaves_a_thread_to_the_others() -> None:
    """Whatever it asks for, another org's piece is done at once, and its own come in their order."""
    turns, go, done = OrgTurns(), Event(), list[str]()

    def long(name: str) -> Callable[[], None]:
        def work() -> None:
            go.wait()
            done.append(name)

        return work

    many = [asyncio.ensure_future(turns.run("one", long(f"one {number}"))) for number in range(8)]
    assert await turns.run("other", lambda: "done") == "done"
    assert not done
    go.set()
    await asyncio.gather(*many)
    assert done == [f"one {number}" for number in range(8)]


async def test_orgs_come_in_turn() -> None:
    """The one that asked for more waits while the others have theirs; its first piece was begun when nobody else had asked."""
    turns, done = OrgTurns(threads=1), list[str]()
    asked = ["a", "a", "a", "b", "c", "b"]
    await asyncio.gather(*(turns.run(org, lambda org=org: done.append(org)) for org in asked))  # type: ignore[misc]
    assert done == ["a", "a", "b", "c", "a", "b"]


async def test_a_piece_that_fails_or_that_nobody_waits_for_gives_its_place_back() -> None:
    """Also one whose caller was cancelled before its turn, or while it was done."""
    turns, begun, go = OrgTurns(threads=1), Event(), Event()

    def long() -> None:
        begun.set()
        go.wait()

    working = asyncio.ensure_future(turns.run("a", long))
    await asyncio.to_thread(begun.wait)
    waiting = asyncio.ensure_future(turns.run("a", lambda: None))
    await asyncio.sleep(0)
    working.cancel()
    waiting.cancel()
    await asyncio.gather(working, waiting, return_exceptions=True)
    go.set()
    with pytest.raises(ZeroDivisionError):
        await turns.run("a", lambda: 1 / 0)
    assert await turns.run("b", lambda: 2) == 2


@pytest.mark.parametrize("kept", [True, False])
async def test_planning_ends_with_its_caller(germane: Germane, monkeypatch: pytest.MonkeyPatch, kept: bool) -> None:
    """What was done for a conversation that is kept is there for the next call; for another one it goes on no further."""
    monkeypatch.setattr(session_compactions, "_PIECE_SECONDS", 0.0)
    monkeypatch.setattr(session_compactions, "_LASTING_SECONDS", 0.0)
    assert germane._parts is not None
    compactions = germane._parts.compactions
    said: list[dict[str, Any]] = [{"role": "user", "content": f"message {number}"} for number in range(400)]
    agent = germane.agent("a", user="u")

    def asked() -> asyncio.Future[Any]:
        session = "s" if kept else None
        return asyncio.ensure_future(agent.assemble(said, model="gpt-4o", session=session, history_tokens=500, deadline=None))

    calling = asked()
    while not (working := dict(compactions._working)):  # noqa: ASYNC110
        await asyncio.sleep(0)
    (followed,) = working
    while len(followed) < 10:  # noqa: ASYNC110
        await asyncio.sleep(0)
    calling.cancel()
    await asyncio.gather(calling, return_exceptions=True)
    await asyncio.gather(*working.values(), return_exceptions=True)
    assert 10 <= len(followed) < 400
    assert not compactions._working


async def test_others_have_their_turn_between_the_items_of_a_long_list() -> None:
    """The order and the indexes are those of the list."""
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    ticking = asyncio.ensure_future(other())
    made = await by_turns(range(320), lambda item, index: (item, index, turns))
    ticking.cancel()
    assert [one[:2] for one in made] == [(index, index) for index in range(320)]
    assert len({one[2] for one in made}) == 10


async def test_many_events_leave_others_their_turn(germane: Germane) -> None:
    """Also before the first of them is stored: what is checked and prepared takes a while."""
    turns, stored = 0, asyncio.Event()

    async def other() -> None:
        nonlocal turns
        while not stored.is_set():
            turns += 1
            await asyncio.sleep(0)

    ticking = asyncio.ensure_future(other())
    events = germane.agent("a", user="u").events
    recorded = await events.record_many([{"type": "note", "content": f"note {number}"} for number in range(320)], session="s")
    stored.set()
    await ticking
    assert len(recorded) == 320
    assert turns > 2 * 320 // 32


@pytest.mark.parametrize("provider", ["openai", "gemini"])
async def test_large_tools_are_written_once(germane: Germane, monkeypatch: pytest.MonkeyPatch, provider: str) -> None:
    """However often they are counted; the request holds them as they were given."""
    written = list[int]()
    real = json.dumps

    def counted(value: Any, **given: Any) -> str:
        text: str = real(value, **given)
        written.append(len(text))
        return text

    schema = {"type": "object", "properties": {f"p{number}": {"type": "string"} for number in range(4_000)}}
    tools = [{"type": "function", "function": {"name": f"f{number}", "parameters": schema}} for number in range(3)]
    builder = germane.agent("a", user="u").builder().with_model("gpt-4o", provider).with_tools(tools)
    monkeypatch.setattr(json, "dumps", counted)
    built = await builder.with_messages([{"role": "user", "content": "x"}]).build()
    assert sum(size > 50_000 for size in written) == (1 if provider == "gemini" else 3)
    if provider == "openai":
        assert built.tools == tools


@pytest.mark.parametrize(("count", "elsewhere"), [(1_001, True), (3, False)])
async def test_a_long_conversation_is_read_counted_and_written_off_the_loop(
    germane: Germane, monkeypatch: pytest.MonkeyPatch, count: int, elsewhere: bool
) -> None:
    """A short one is not: a thread takes longer than the work. The thread is their own: all
    others may be busy."""
    threads = list[bool]()

    def noted(real: Callable[..., Any], *given: Any, **named: Any) -> Any:
        threads.append(current_thread() is not main_thread())
        return real(*given, **named)

    for module, name in ((arguments, "parse_all"), (measure, "measure"), (answer, "inject")):
        monkeypatch.setattr(module, name, partial(noted, getattr(module, name)))
    said = [{"role": "user", "content": "hi"}] * count
    await germane.agent("a", user="u").assemble(said, model="gpt-4o", deadline=None)
    assert threads == [elsewhere] * 3


@pytest.mark.parametrize("count", [40, 3])
async def test_many_mutations_are_read_off_the_loop(germane: Germane, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """Few are read at once."""
    threads = list[bool]()
    real = screened_mutations

    def noted(*given: Any) -> Any:
        threads.append(current_thread() is not main_thread())
        return real(*given)

    monkeypatch.setattr(agent_blocks, "screened_mutations", noted)
    blocks = germane.agent("a", user="u").blocks
    await blocks.create("notes", text="", permission="admin")
    await blocks.edit("notes", *[{"op": "append_text", "text": "y"}] * count)
    assert threads == [count == 40]


@pytest.mark.parametrize("late", [True, False])
async def test_a_long_conversation_is_cut_in_haste_and_given_back_off_the_loop(
    germane: Germane, monkeypatch: pytest.MonkeyPatch, late: bool
) -> None:
    """Where its time is over, or its assembly fails: each message is looked at, whatever it holds."""
    threads = dict[str, bool]()

    def noted(name: str, real: Callable[..., Any], *given: Any, **named: Any) -> Any:
        threads[name] = current_thread() is not main_thread()
        return real(*given, **named)

    def fails(*_: Any, **__: Any) -> Any:
        raise RuntimeError

    for module, name in ((compact, "keep_newest"), (fallback, "at_most"), (answer, "inject")):
        monkeypatch.setattr(module, name, partial(noted, name, getattr(module, name)))
    monkeypatch.setattr(session_compactions.SessionCompactions, "compact", fails)
    if late:
        monkeypatch.setattr(measure, "measure", fails)
    said = [{"type": "reasoning", "id": f"r{number}", "summary": []} for number in range(1_001)]
    history: dict[str, Any] = {"history": Truncate(keep_recent=4), "max_tokens": 100}
    await germane.agent("a", user="u").assemble(
        [*said, {"role": "user", "content": "x"}], model="gpt-5", provider="openai-responses", deadline=None, **history
    )
    assert threads == {"keep_newest": True, "inject": True} | ({"at_most": True} if late else {})


async def test_others_have_their_turn_while_a_conversation_is_read_from_the_wire() -> None:
    """In the shape of any provider, shortened or not."""
    for provider in ("openai", "anthropic"):
        turns = 0

        async def other() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        ticking = asyncio.ensure_future(other())
        sent = [context_pb2.Message(role="user", content="hi")] * 1_000
        conversation = await WireConversation.of(sent, provider)
        ticking.cancel()
        assert turns > 20
        assert len(conversation.raw) == (101 if provider == "openai" else 1_000)
