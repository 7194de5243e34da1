"""The conversation of a request is compacted before anything is added, in time, and never at the cost of the call."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from germane import Agent, Germane
from germane.api.session_compactions import SessionCompactions
from germane.compaction.strategy import Summarise, Truncate
from germane.dialects.registry import dialect
from germane.errors import InvalidInput
from germane.types.message import Wire

pytestmark = pytest.mark.requirement("HIST-2")
ASKED: dict[str, Any] = {"role": "user", "content": "Has my vase been sent?"}


def talk(turns: int, words: int = 40) -> list[dict[str, Any]]:
    """A conversation with a tool's output in each exchange."""
    found: list[dict[str, Any]] = [{"role": "system", "content": "Be kind."}]
    for turn in range(turns):
        call = {"id": f"c{turn}", "type": "function", "function": {"name": "search", "arguments": '{"q": "x"}'}}
        found += [
            {"role": "user", "content": f"Look for item {turn} please."},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{turn}", "content": f"row {turn} " * words},
            {"role": "assistant", "content": f"Item {turn} is found."},
        ]
    return [*found, ASKED]


async def test_what_fits_stays_the_callers_own(agent: Agent) -> None:
    """The same objects, and the report says that nothing was done."""
    given = talk(3)
    context = await agent.assemble(given, model="gpt-4o", session="s", history=True, deadline=None)
    assert [one for one in context.messages if any(one is raw for raw in given)] == given
    report = context.metadata.history
    assert report is not None
    assert (report.masked, report.summarised, report.moves, report.fits) == (0, 0, 0, True)
    assert (await agent.assemble(given, model="gpt-4o", session="s", deadline=None)).metadata.history is None


@pytest.mark.requirement("HIST-4", "HIST-5")
async def test_a_long_one_is_compacted_and_its_handles_bring_back_what_left(agent: Agent) -> None:
    """Valid, within its tokens, in the time of a stage of its own."""
    given = talk(80)
    context = await agent.assemble(given, model="gpt-4o", session="s", history_tokens=2_000, deadline=None)
    report = context.metadata.history
    assert report is not None
    assert report.fits
    assert report.tokens <= 2_000 + 3 < report.tokens_before
    assert report.cited
    assert "compact" in dict(context.metadata.timings)
    assert dialect("openai").problems(Wire(messages=context.to_openai())) == ()
    assert given[0] in context.messages
    assert context.messages[-1] is ASKED
    assert report.pays_after is not None, "the catalog has a price of this model"
    shown = await agent.conversations.show(report.cited[-1], session="s")
    assert "row" in shown.text or "item" in shown.text


async def test_anthropics_system_prompt_stays_apart(agent: Agent) -> None:
    """With the caller's text behind germane's."""
    given = talk(80)[1:]
    context = await agent.assemble(
        given, model="claude-opus-4-8", session="s", system="Be kind.", history=Truncate(), history_tokens=3_000, deadline=None
    )
    wire = context.to_anthropic()
    assert "Be kind." in str(wire["system"])
    assert dialect("anthropic").problems(Wire(messages=wire["messages"], system=wire["system"])) == ()
    assert context.metadata.history is not None
    assert context.metadata.history.fits


async def test_the_prefix_stays_until_the_next_move(agent: Agent) -> None:
    """Turn after turn, with the objects of the newest call."""
    given = talk(60)
    first = await agent.assemble(given, model="gpt-4o", session="s", history_tokens=2_000, deadline=None)
    again = [dict(one) for one in given]
    more = [*again, {"role": "assistant", "content": "It has."}, {"role": "user", "content": "Thanks."}]
    second = await agent.assemble(more, model="gpt-4o", session="s", history_tokens=2_000, deadline=None)
    assert first.metadata.history is not None
    assert second.metadata.history is not None
    assert first.metadata.history.moves == second.metadata.history.moves
    shared = len(first.messages) - 1
    assert second.messages[:shared] == first.messages[:shared]
    assert any(one is raw for one in second.messages for raw in again[1:])


async def test_a_message_that_was_edited_is_seen(agent: Agent) -> None:
    """The work on a session is for the messages as they are now."""
    given = talk(60)
    await agent.assemble(given, model="gpt-4o", session="s", history_tokens=2_000, deadline=None)
    edited = [*given[:1], {"role": "user", "content": "Never touch the file vault.txt."}, *given[2:]]
    context = await agent.assemble(edited, model="gpt-4o", session="s", history_tokens=2_000, deadline=None)
    assert "Never touch the file vault.txt." in str(context.messages)


class _Broken(SessionCompactions):
    def __init__(self, error: BaseException | None) -> None:
        self._error = error

    async def compact(self, *_: Any) -> Any:
        if self._error is not None:
            raise self._error
        await asyncio.Event().wait()


@pytest.mark.requirement("ENGINE-2", "ENGINE-12")
@pytest.mark.parametrize("error", [None, RuntimeError("x"), MemoryError()])
async def test_what_fails_or_hangs_is_done_the_hasty_way(
    germane: Germane, monkeypatch: pytest.MonkeyPatch, error: BaseException | None
) -> None:
    """Whole exchanges are left out, the newest stay, and the caller is told."""
    agent = germane.agent("support", org="acme", user="caroline")
    object.__setattr__(agent._parts.engine, "compactor", _Broken(error))
    context = await agent.assemble(talk(80), model="gpt-4o", session="s", history_tokens=2_000, deadline=2.0)
    report = context.metadata.history
    assert report is not None
    assert report.fits
    assert report.dropped
    assert "couldn't be compacted" in report.reasons[0]
    assert any("couldn't be compacted" in warning for warning in context.metadata.warnings)
    assert context.messages[-1] is ASKED
    assert dialect("openai").problems(Wire(messages=context.to_openai())) == ()
    fits = await agent.assemble(talk(2), model="gpt-4o", session="s", history=True, deadline=2.0)
    assert ASKED in fits.messages
    assert len(fits.messages) >= 10


@pytest.mark.parametrize("given", ["summarise", 3, {"keep": 1}])
async def test_what_is_no_strategy_is_refused(agent: Agent, given: Any) -> None:
    with pytest.raises(InvalidInput, match="history must be True"):
        await agent.assemble([ASKED], model="gpt-4o", history=given)


async def test_the_model_that_it_is_like_counts_the_tokens(agent: Agent) -> None:
    """Work that was kept for another tokenizer isn't used."""
    tower = [
        one if one["content"] is None else one | {"content": f"{one['content']} 東京タワーへ行きました"} for one in talk(60)
    ]
    for like in ("gpt-4o", "gpt-4"):
        given: dict[str, Any] = {
            "model": "house-model",
            "like": like,
            "session": "s",
            "history_tokens": 2_000,
            "deadline": None,
        }
        kept = (await agent.assemble(tower, **given)).metadata.history
        anew = (await agent.assemble(tower, **given | {"session": like})).metadata.history
        assert kept is not None
        assert anew is not None
        assert (kept.tokens_before, kept.tokens) == (anew.tokens_before, anew.tokens)


async def test_tokens_alone_ask_for_summaries(agent: Agent) -> None:
    """As `history=Summarise()` does; zero tokens are refused."""
    one = await agent.assemble(talk(60), model="gpt-4o", history_tokens=2_000, deadline=None)
    other = await agent.assemble(talk(60), model="gpt-4o", history=Summarise(), history_tokens=2_000, deadline=None)
    assert one.messages == other.messages
    with pytest.raises(InvalidInput, match="history_tokens"):
        await agent.assemble([ASKED], model="gpt-4o", history_tokens=0)
    assert (await agent.assemble(talk(60), model="gpt-4o", history=False, deadline=None)).metadata.history is None
