"""Random sessions with the placement `append`: valid, within the budget, nothing twice, each prompt a prefix of the next."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
import pytest_asyncio
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st

from germane import Context, Germane
from germane.models.embedders.distilled import Distilled
from support.appending import APPEND, APPEND_XML, FACTS, Chat, prefix
from support.examples import examples
from support.stories import MODELS

pytestmark = [pytest.mark.requirement("INJECT-6"), pytest.mark.asyncio(loop_scope="module")]

_WORDS = ["greyhound Biscuit", "oolong tea", "cello on Fridays", "ok", "neighbour's cat", "grey sofa"]
_TEA, _DOG = ("say", "oolong tea"), ("say", "greyhound Biscuit")
_CELLO = ("say", "cello on Fridays")
_TRIM, _RETRY, _TOOL = ("trim", ""), ("retry", ""), ("tool", "")
_steps = st.lists(
    st.one_of(
        st.tuples(st.just("say"), st.sampled_from(_WORDS)),
        st.tuples(st.just("say"), st.sampled_from(_WORDS)),
        st.tuples(st.just("retry"), st.just("")),
        st.tuples(st.just("tool"), st.just("")),
        st.tuples(st.just("trim"), st.just("")),
        st.tuples(st.just("forget"), st.just("")),
        st.tuples(st.just("remember"), st.sampled_from(_WORDS)),
        st.tuples(st.just("flush"), st.just("")),
        st.tuples(st.just("small"), st.sampled_from(_WORDS)),
        st.tuples(st.just("return"), st.just("")),
    ),
    min_size=2,
    max_size=9,
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opened(embedder: Distilled) -> AsyncIterator[Germane]:
    async with Germane.open(":memory:", embedder=embedder) as germane:
        yield germane


_users = iter(range(10**9))


@given(steps=_steps, provider=st.sampled_from(sorted(MODELS)), xml=st.booleans(), cap=st.sampled_from([150, 300, 8000]))
@example(steps=[("say", "ok"), ("say", "ok"), ("trim", ""), ("say", "ok")], provider="openai", xml=False, cap=8000)
@example(steps=[_TEA, _DOG, _TRIM, _TOOL, _DOG], provider="anthropic", xml=False, cap=150)
@example(steps=[_TEA, _DOG, _TRIM, _RETRY, _DOG, _DOG], provider="anthropic", xml=False, cap=150)
@example(steps=[_TEA, _DOG, _TRIM, _DOG, _DOG], provider="anthropic", xml=False, cap=150)
@example(steps=[_TEA, _DOG, _TRIM, _TEA, _TRIM, _TEA], provider="anthropic", xml=False, cap=150)
@example(steps=[_TEA, ("forget", ""), _TEA, _DOG], provider="anthropic", xml=False, cap=150)
@example(steps=[_TEA, ("forget", ""), _TEA, _RETRY], provider="anthropic", xml=False, cap=150)
@example(steps=[_TEA, _DOG, _DOG, _RETRY], provider="anthropic", xml=True, cap=300)
@example(
    steps=[_CELLO, _CELLO, _DOG, _CELLO, _TRIM, _TRIM, _RETRY, _CELLO],
    provider="anthropic",
    xml=False,
    cap=150,
)
@examples(40, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_any_session(opened: Germane, steps: list[tuple[str, str]], provider: str, xml: bool, cap: int) -> None:
    """`Chat.send` checks that the output is valid for its provider and within the budget."""
    agent = opened.agent(user=f"user {next(_users)}")
    for fact in FACTS:
        await agent.remember(fact)
    chat = Chat(agent, "s", replace(APPEND_XML if xml else APPEND, cap=cap), model=MODELS[provider], provider=provider)
    before: Context | None = None
    trimmed = False
    for number, (step, word) in enumerate(steps):
        context: Context | None = None
        match step:
            case "say":
                chat.history.append({"role": "user", "content": f"Tell me about {word}?"})
                context = await chat.send()
                chat.history.append({"role": "assistant", "content": "Well."})
            case "small":
                await chat.send([*chat.history, {"role": "user", "content": f"Briefly, {word}? {number}"}], max_tokens=40)
            case "retry" if chat.history:
                context = await chat.send(chat.history[:-1])
            case "tool" if chat.history:
                context = await chat.send()
            case "return" if before is not None and provider == "openai":
                chat.history = [*before.messages, {"role": "assistant", "content": "Well."}]  # type: ignore[list-item]
            case "trim":
                chat.history, before = chat.history[2:] if chat.history[:1] != [_system(chat.history)] else [], None
                trimmed = True
            case "forget":
                found = await agent.search("greyhound", 1)
                await agent.forget([one.id for one in found])
                before = None
            case "remember":
                await agent.remember(f"Fact {number} about {word}")
            case "flush":
                await opened._open.injections.flush()
        if context is None:
            continue
        standing = [item.id for text in context.earlier for item in text.items] + [item.id for item in context.items]
        assert len(standing) == len(set(standing)) == len(context.attribution)
        dropped = any("dropped" in warning for warning in context.trace.warnings)
        words = [message["content"] for message in chat.history if message["role"] == "user"]
        if trimmed and len(set(map(str, words))) < len(words):
            before = None  # which of two turns with the same words was cut off can't be told
        if before is not None and not dropped and len(before.messages) <= len(context.messages):
            assert prefix(before, context), (before.messages, context.messages)
        before = context


def _system(history: list[dict[str, Any]]) -> dict[str, Any] | None:
    return history[0] if history and history[0]["role"] == "system" else None
