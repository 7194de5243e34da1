"""What germane adds fits its budget, and the whole fits the window: over generated requests, counted by another tokenizer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from germane import Agent, Germane
from germane.api.strategies import COMPACT, COMPOSITE, DEFAULT, VERBOSE, derive
from germane.catalog.profiles import Catalog
from germane.dialects.registry import parse_all
from germane.types.context import Context
from germane_testing.time_warp import run
from support.examples import examples, whole
from support.oracle import oracle
from support.scoped_stores import engine, request, scoped
from support.stories import ask, told

SPLIT = derive(VERBOSE, {"name": "split", "placement": "split"})
SHORT = derive(VERBOSE, {"name": "short", "details": ["confidence"]})
SPOKEN = st.one_of(
    st.text(max_size=400),
    st.text(alphabet="这是一个关于灰狗的故事日本語のテキスト한국어", max_size=300),
    st.text(alphabet="🐕‍🦺👩‍👩‍👧‍👦🏳️‍🌈é́ก็ंि", max_size=120),
    st.text(alphabet="{}[]()<>;:=\n\t _abcdefgh0123456789\"'", max_size=400),
    st.sampled_from(["</memory>", "<|im_end|>", "&amp;", "]]>", "\ud800", "\u202e", "Assistant:"]).map(lambda text: text * 9),
)
TURNS = st.lists(st.builds(lambda role, text: {"role": role, "content": text}, st.sampled_from(["user", "assistant"]), SPOKEN))
WINDOWS = st.one_of(st.integers(1, 1500), st.integers(1500, 20_000), st.just(128_000))
STRATEGIES = [DEFAULT, VERBOSE, COMPACT, COMPOSITE, SHORT, SPLIT]
ANY = st.sampled_from(STRATEGIES)
CAPS = st.none() | st.integers(0, 400) | st.integers(0, 20_000)
_PER_MESSAGE, _PER_REQUEST = 4, 3


def weight(messages: list[Any]) -> int:
    """A chat-completions request as its maker counts it: text, and what stands around each message."""
    count = oracle("o200k")
    return _PER_REQUEST + sum(_PER_MESSAGE + count(message["content"]) for message in messages)


def shaped(context: Context) -> list[list[Any]]:
    """The same conversation as the other providers get it: what stands apart as messages among the others."""
    written = []
    for provider in ("anthropic", "gemini", "openai-responses"):
        wire = context.convert(provider)
        system = [wire.system] if isinstance(wire.system, str) else [block["text"] for block in wire.system or []]
        texts = [*system, *("\n".join(_said(message)) for message in wire.messages)]
        written.append([{"content": text} for text in texts])
    return written


def _said(message: Any) -> list[str]:
    content = message.get("content", message.get("parts"))
    return [content] if isinstance(content, str) else [part["text"] for part in content]


def check(context: Context, asked: list[dict[str, Any]], cap: int | None) -> None:
    """BUD-4 as it is written."""
    budget, said = context.trace.budget, context.metadata
    assert budget is not None
    room = budget.window - budget.reserve - budget.safety
    assert oracle("o200k")(context.added) <= said.total_tokens_injected <= budget.available
    assert budget.available <= (DEFAULT.cap if cap is None else cap)
    assert budget.reserve == min(max(int(budget.window * 0.15), 500), 4096, 16_384)
    assert context.messages[-1] is asked[-1]
    if weight(asked) > room:
        assert said.fallback_reason == "messages_exceed_window"
    else:
        assert said.fallback_reason == ""
        assert weight(context.messages) <= room
        for messages in shaped(context) if context.added else ():
            assert weight(messages) <= room
    if said.fallback_reason:
        assert (context.messages, context.added, said.degradation_level) == (asked, "", 3)


@pytest.mark.requirement("BUD-3", "BUD-4", "BUD-5")
@examples(60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(
    window=WINDOWS,
    turns=TURNS,
    question=SPOKEN,
    cap=CAPS,
    strategy=ANY,
    directive=SPOKEN,
    kept=st.lists(SPOKEN),
)
async def test_nothing_generated_exceeds_its_budget(
    germane: Germane,
    window: int,
    turns: Any,
    question: str,
    cap: int | None,
    strategy: Any,
    directive: str,
    kept: list[str],
) -> None:
    """Tiny and huge windows and caps, scripts, emoji, code and hostile strings, over the real store."""
    catalog = Catalog.built_in().with_models({"sized": {"like": "gpt-4o", "window": window}})
    parts = germane._open
    agent = germane.agent(str(uuid4()))
    await agent.directive(directive.encode(errors="replace").decode())
    await agent.record([{"role": "user", "content": text} for text in kept], session="s1")
    asked = [*turns, {"role": "user", "content": question}]
    made = request(scope=agent.scope, messages=parse_all(asked), raw=tuple(asked), model="sized", max_tokens=cap, deadline=None)
    context = await replace(parts.engine, catalog=catalog).assemble(made, parts.store.within(agent.scope), strategy)
    check(context, asked, cap)


@pytest.mark.requirement("BUD-5")
@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: strategy.name)
def test_every_cap_from_nothing_on_is_kept(strategy: Any) -> None:
    """Token by token: a directive is in whole or not at all, and what doesn't fit costs nothing."""

    async def story() -> None:
        germane, asked = engine(), [{"role": "user", "content": "What do I drink, and what is my greyhound called?"}]
        for cap in range(0, 260, 3):
            made = request(raw=tuple(asked), max_tokens=cap, deadline=None)
            context = await germane.assemble(made, scoped(), strategy)
            check(context, asked, cap)
            assert ("Answer in one sentence." in context.added) == context.metadata.directive_injected
        assert len(context.items) == 2

    run(story())


@pytest.mark.soak
@pytest.mark.requirement("BUD-3", "BUD-4")
@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: strategy.name)
def test_every_window_from_too_small_on_is_kept(strategy: Any) -> None:
    """From where the messages don't fit to where everything does, token by token in the soak and otherwise by three: what
    stands around germane's own messages is paid for."""

    async def story() -> None:
        asked = [{"role": "user", "content": "What do I drink, and what is my greyhound called?"}]
        for window in range(500, 860, 1 if whole() else 3):
            catalog = Catalog.built_in().with_models({"sized": {"like": "gpt-4o", "window": window}})
            made = request(raw=tuple(asked), model="sized", deadline=None)
            context = await replace(engine(), catalog=catalog).assemble(made, scoped(), strategy)
            check(context, asked, None)
        assert len(context.items) == 2

    run(story())


@pytest.mark.requirement("BUD-4")
async def test_messages_that_exceed_the_window_come_back_with_nothing_added(agent: Agent) -> None:
    """The reason says so; short of that, what fits is added."""
    await told(agent)
    for words, reason in ((6000, ""), (6900, "messages_exceed_window")):
        asked = [{"role": "user", "content": "dog " * words}]
        context = await agent.assemble(asked, model="gpt-4", session="s2", strategy="compact", deadline=None)
        assert context.metadata.fallback_reason == reason
        assert (context.messages == asked) == bool(reason)
        assert (context.metadata.degradation_level == 3) == bool(reason)


@pytest.mark.requirement("BUD-4")
async def test_tools_and_tool_calls_are_counted(agent: Agent) -> None:
    """What they take is not there to be added to."""
    await told(agent)
    tool = {"type": "function", "function": {"name": "look", "description": "Looks " * 500, "parameters": {"type": "object"}}}
    bare, tooled = [(await ask(agent, model="gpt-4", tools=tools)).trace.budget for tools in (None, [tool])]
    assert bare is not None
    assert tooled is not None
    assert tooled.tools > 500
    assert bare.available - tooled.available == tooled.tools


@pytest.mark.requirement("BUD-3")
async def test_a_narrow_budget_is_said_to_be_one(agent: Agent) -> None:
    """Below 256 tokens the trace warns."""
    await told(agent)
    context = await ask(agent, max_tokens=200)
    assert context.trace.budget is not None
    assert context.trace.budget.is_constrained
    assert any("200 tokens" in warning for warning in context.trace.warnings)


@pytest.mark.requirement("PACK-2")
async def test_a_directive_that_does_not_fit_is_left_out_whole_and_said_to_be(agent: Agent) -> None:
    """Never cut; what fits goes in without it."""
    await agent.directive("Mind the manners. " * 100)
    await told(agent)
    context = await ask(agent, max_tokens=200)
    assert "Mind the manners" not in context.added
    assert not context.metadata.directive_injected
    assert context.metadata.was_truncated
    assert any("directive was left out" in warning for warning in context.trace.warnings)
    assert context.items
