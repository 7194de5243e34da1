"""A strategy is data: by name, by value, from a file, with sources of one's own; and each says where its text goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from germane import Agent, Candidate, Cap, Germane, InvalidInput, Settings, Shares, SourcePlan, UnknownName
from germane.api.strategies import COMPACT, COMPOSITE, DEFAULT, VERBOSE, derive
from germane.dialects.registry import dialect
from germane.stores.contract import ScopedStore
from germane.types.candidate import Provenance
from germane.types.evidence import Evidence
from germane.types.message import Wire
from germane.types.query import Query
from germane_testing.builders import MOMENT
from support.calendar import Calendar, Opening
from support.stories import ASKED, MODELS, TALK, ask, ids, texts, told

SPLIT = derive(VERBOSE, {"name": "split", "placement": "split"})
FEW = derive(SPLIT, {"format": "compact", "details": ()})
TOML = """
[strategies.terse]
like = "compact"
cap = 120
[strategies.terse.weights]
recency = 0.0
[strategies.terse.sources.recent]
limit = 0
[strategies.terser]
like = "terse"
cap = 0
[models."house-model"]
like = "gpt-4o"
window = 6000
"""


async def test_a_strategy_is_given_by_name_or_by_value(agent: Agent) -> None:
    """The same either way."""
    await told(agent)
    for strategy in (DEFAULT, VERBOSE, COMPACT, COMPOSITE):
        by_name, by_value = [await ask(agent, strategy=given) for given in (strategy.name, strategy)]
        assert by_name.messages == by_value.messages
        assert by_name.trace.strategy == strategy.name


async def test_a_strategy_registered_in_code_is_found_by_its_name_here_and_nowhere_else(germane: Germane) -> None:
    """A registry of its own for each `Germane`."""
    agent = await told(germane.agent())
    germane.strategies.register(derive(COMPACT, {"name": "mine", "cap": 90}))
    assert (await ask(agent, strategy="mine")).metadata.total_tokens_injected <= 90
    async with Germane.open(":memory:", embedder="distilled") as other:
        with pytest.raises(UnknownName, match="mine"):
            await ask(other.agent(), strategy="mine")


@pytest.mark.requirement("BUD-6", "BUD-1")
async def test_strategies_and_models_come_from_a_file(opening: Opening, tmp_path: Path) -> None:
    """Partial settings are filled from what they are like, at every level."""
    (tmp_path / "germane.toml").write_text(TOML)
    async with opening(settings=Settings.load(tmp_path / "germane.toml")) as germane:
        terse = germane.strategies.find("terse")
        assert (terse.format, terse.cap, terse.weights.recency, terse.weights.usefulness) == ("compact", 120, 0.0, 1.0)
        agent = await told(germane.agent())
        context = await ask(agent, strategy="terse", model="house-model")
        assert 0 < context.metadata.total_tokens_injected <= 120
        assert "recent" not in {report.name for report in context.metadata.sources}
        assert context.trace.budget is not None
        assert context.trace.budget.window == 6000
        assert (await ask(agent, strategy="terser")).added == ""


@pytest.mark.parametrize(
    ("written", "named"),
    [
        ('[strategies.x]\nlike = "nothing"', "nothing"),
        ("[strategies.x]\ncolour = 1", "colour"),
        ("[strategies.x.weights]\nluck = 1", "luck"),
        ("[strategies.x]\ncap = -1", "cap"),
        ("[strategies]\nx = 1", "strategies"),
        ('[models.x]\nwindow = "big"', "window"),
    ],
)
async def test_a_setting_that_cannot_be_used_is_named_when_opening(
    opening: Opening, tmp_path: Path, written: str, named: str
) -> None:
    """Not at the first request."""
    (tmp_path / "germane.toml").write_text(written)
    with pytest.raises(InvalidInput, match=named):
        await opening(settings=tmp_path / "germane.toml").__aenter__()


class Weather:
    """A source that isn't stored anywhere."""

    def __init__(self, scoped: ScopedStore) -> None:
        self.user = scoped.scope.user

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate]:
        return [
            Candidate(
                id="weather-1",
                source="weather",
                category="surroundings",
                text=f"It rains where {self.user} asks: {query.text}",
                created_at=MOMENT,
                evidence=Evidence(own=0.9, window=0.9, session=0.9),
                provenance=Provenance(source_kind="tool", channel="sensor"),
            )
        ]


@pytest.mark.requirement("GATHER-1", "FORMAT-1")
@pytest.mark.parametrize("base", [DEFAULT, VERBOSE, COMPACT, COMPOSITE], ids=lambda base: base.name)
async def test_a_source_of_ones_own_is_gathered_scored_and_written_like_the_others(opening: Opening, base: Any) -> None:
    """In a section of its own before the conversation; it is asked only by strategies that plan it."""
    strategy = derive(base, {"name": "rainy", "sources": {"weather": {"limit": 3}, "profile": {"limit": 0}}})
    async with opening(sources={"weather": Weather}) as germane:
        agent = await told(germane.agent(user="caroline"))
        context = await ask(agent, strategy=strategy, effort=100)
        item = next(item for item in context.items if item.source == "weather")
        assert (item.id, item.category, item.provenance.channel) == ("weather-1", "surroundings", "sensor")
        assert context.added.index("It rains where caroline asks") < context.added.index("Biscuit last week")
        assert not [item for item in (await ask(agent, strategy=base)).items if item.source == "weather"]


@pytest.mark.requirement("INJECT-2", "INJECT-4")
@pytest.mark.parametrize("strategy", [VERBOSE, SPLIT, FEW], ids=["first", "split", "compact"])
@pytest.mark.parametrize("provider", MODELS)
async def test_every_placement_is_valid_for_every_provider(agent: Agent, provider: str, strategy: Any) -> None:
    """Also in the middle of tool calls and after an assistant's turn."""
    await agent.directive("Answer in one sentence.")
    await told(agent)
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    result = {"role": "tool", "tool_call_id": "c1", "content": "42"}
    conversations: list[list[dict[str, Any]]] = [
        ASKED,
        [*ASKED, {"role": "assistant", "content": None, "tool_calls": [call]}, result],
        [*ASKED, {"role": "assistant", "content": "Biscuit?"}, *ASKED],
        [{"role": "system", "content": "You are a vet."}, *ASKED],
        [{"role": "assistant", "content": "Hello"}, *ASKED],
    ]
    for messages in conversations:
        context = await ask_with(agent, messages, provider, strategy)
        wire = Wire(
            messages=[dict(one) for one in context.messages if not hasattr(one, "parts")],
            system=None if provider == "openai" else context.system,
        )
        assert dialect(provider).problems(wire) == ()
        assert "Biscuit" in context.added
        assert context.metadata.fallback_reason == ""


async def ask_with(agent: Agent, messages: list[dict[str, Any]], provider: str, strategy: Any) -> Any:
    return await agent.assemble(messages, model=MODELS[provider], session="s2", deadline=None, strategy=strategy)


@pytest.mark.requirement("INJECT-2")
@pytest.mark.parametrize("format", ["xml", "compact"])
async def test_split_keeps_the_prefix_byte_for_byte_from_turn_to_turn(agent: Agent, calendar: Calendar, format: str) -> None:
    """What changes with the query goes before the last human turn; what stands before it doesn't change with another query."""
    await agent.directive("Answer in one sentence.")
    await told(agent)
    strategy = derive(SPLIT, {"format": format, "details": ()})
    first = await ask_with(agent, ASKED, "openai", strategy)
    calendar.advance(minutes=5)
    more = [*ASKED, {"role": "assistant", "content": "Biscuit."}, {"role": "user", "content": "And what scares him?"}]
    second = await ask_with(agent, more, "openai", strategy)
    assert first.messages[0] == second.messages[0]
    assert "Answer in one sentence." in first.messages[0]["content"]
    assert "Biscuit" not in first.messages[0]["content"]
    assert second.messages[1:3] == more[:2]
    assert [message["role"] for message in second.messages] == ["system", "user", "assistant", "user", "user"]
    assert "scares him" in second.messages[3]["content"]


@pytest.mark.requirement("FORMAT-4", "INJECT-2")
async def test_the_nonce_is_the_sessions_and_lasts(agent: Agent) -> None:
    """The same in each turn of a session, another in another."""
    await told(agent)

    async def nonce(session: str, question: str) -> str:
        return (await ask(agent, question, session=session)).added.split('nonce="')[1][:12]

    one = await nonce("s2", "greyhound?")
    assert one == await nonce("s2", "What scares him?")
    assert one != await nonce("s3", "greyhound?")


@pytest.mark.requirement("BUD-6")
async def test_a_kinds_cap_and_the_total_are_kept(agent: Agent) -> None:
    """0 means nothing; what was capped says so."""
    await told(agent)
    await agent.remember("Biscuit is a greyhound")
    for cap, maximum in ((Cap(items=0), 0), (Cap(items=2), 2), (Cap(tokens=0), 0), (Cap(chars=60), 1)):
        context = await ask(agent, strategy=replace(COMPACT, name="x", shares=Shares(kinds={"conversation": cap})))
        kept = [item for item in context.items if item.category == "conversation"]
        assert len(kept) <= maximum
        assert {"Biscuit is a greyhound"} <= set(texts(context))
        assert {out.reason for out in context.trace.left_out} == {"kind_cap"}
    for total, maximum in ((Cap(items=3), 3), (Cap(items=0), 0)):
        context = await ask(agent, strategy=replace(COMPACT, name="x", shares=Shares(total=total)))
        assert len(context.items) == maximum


@pytest.mark.requirement("BUD-6")
async def test_what_a_source_leaves_of_its_share_is_offered_to_the_others(agent: Agent) -> None:
    """A share of 0 is nothing all the same."""
    await told(agent)
    context = await ask(agent, max_tokens=400, strategy=replace(COMPACT, name="x", shares=Shares(sources={"messages": 1})))
    assert len(context.items) == 4
    context = await ask(agent, strategy=replace(COMPACT, name="x", shares=Shares(sources={"messages": 0})))
    assert not [item for item in context.items if item.source == "messages"]


@pytest.mark.requirement("GATHER-1", "PACK-2")
async def test_pinned_memories_keys_and_tags_go_in_whatever_is_asked(agent: Agent) -> None:
    """Required: before anything else and exempt from the floor."""
    await told(agent)
    await agent.remember("Metric units, always", pinned=True)
    await agent.remember("Vienna", kind="fact", key="city")
    await agent.remember("Call her Caro", tags=["tone"])
    await agent.remember("The boiler is serviced in May")
    strategy = derive(DEFAULT, {"name": "named", "fact_keys": ["city"], "tags": ["tone"], "floor": 0.9})
    context = await ask(agent, "zzz", strategy=strategy)
    assert sorted(texts(context)) == ["Call her Caro", "Metric units, always", "city: Vienna"]
    assert {item.source for item in context.items} == {"structured"}


async def test_recall_answers_scored_items_and_counts_nothing(agent: Agent) -> None:
    """Best first, at most as many as asked for."""
    await told(agent)
    found = await agent.search("What is my greyhound called?", 2)
    assert found[0].candidate.provenance.message_id == "m1"
    assert len(found) == 2
    assert found[0].score >= found[1].score
    assert TALK[0]["content"] == found[0].candidate.text
    assert ids(await ask(agent))
