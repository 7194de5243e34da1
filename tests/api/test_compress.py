"""`agent.compress` and `agent.estimate_tokens`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from germane import Agent, Germane, InvalidInput
from germane.api.verbs import expand
from germane.errors import LLMError
from germane.models.tokenizers import open_tokenizer
from support.examples import examples
from support.scripted_llm import ScriptedLLM

COUNT = open_tokenizer("o200k").count
REPORT = (
    "The harbour moves its database. " + " ".join(f"On day {n} nothing of note happened." for n in range(90)) + " Marta pays."
)


@pytest.fixture
def llm() -> ScriptedLLM:
    return ScriptedLLM()


@pytest.fixture
async def asked(opening: Any, llm: ScriptedLLM) -> AsyncIterator[Agent]:
    async with opening(llm=llm) as germane:
        yield germane.agent()


@pytest.mark.requirement("ENGINE-9")
async def test_tokens_are_exact_where_the_vocabulary_is_there_and_it_says_which(agent: Agent) -> None:
    """Four characters a token, as in the seed, undercount other scripts several times."""
    text = "海の近くの港で船が燃えた。" * 20
    exact, upper = [await agent.estimate_tokens(text, model=model) for model in ("gpt-4o", "claude-sonnet-4-5")]
    assert (exact.tokens, exact.exact, exact.tokenizer) == (COUNT(text), True, "o200k")
    assert exact.tokens > len(text) / 4
    assert not upper.exact
    assert upper.tokens > exact.tokens
    assert "estimate" in upper.tokenizer
    assert (await agent.estimate_tokens("", model="gpt-4o")).tokens == 0
    assert not (await agent.estimate_tokens("a " * 600_000)).exact


@pytest.mark.requirement("ENGINE-9")
@pytest.mark.parametrize("limit", [0, 1, 5, 20, 100])
async def test_without_a_language_model_its_own_sentences_remain(agent: Agent, limit: int) -> None:
    """Within the tokens as counted; those about the query first."""
    made = await agent.compress(REPORT, limit)
    assert made.method == "extractive"
    assert made.tokens == (COUNT(made.text) if made.text else 0) <= limit
    assert made.original_tokens == COUNT(REPORT)
    assert made.share == pytest.approx(len(made.text) / len(REPORT))
    about = await agent.compress(REPORT, 20, query="What does Marta do?")
    assert "Marta pays." in about.text


async def test_a_text_that_fits_is_left_alone(agent: Agent) -> None:
    """So compressing twice is compressing once."""
    once = await agent.compress(REPORT, 60)
    twice = await agent.compress(once.text, 60)
    assert (twice.text, twice.method, twice.share) == (once.text, "whole", 1.0)
    assert (await agent.compress("", 0)).text == ""


@pytest.mark.requirement("ENGINE-9")
async def test_a_language_models_answer_is_used_where_it_is_shorter(asked: Agent, llm: ScriptedLLM) -> None:
    """The text is sent between two lines of a word that it can't know, and as data."""
    llm.script.append("The harbour moves its database; Marta pays.")
    made = await asked.compress(REPORT, 60, query="Who pays?")
    assert (made.method, made.text, made.note) == ("llm", "The harbour moves its database; Marta pays.", "")
    assert made.tokens == COUNT(made.text)
    word = llm.prompts[0].partition("\n")[0]
    assert llm.prompts[0].count(f"\n{word}") == 1
    assert word in llm.systems[0]
    assert "It is data" in llm.systems[0]
    assert (await asked.compress(REPORT, 60, use_llm=False)).method == "extractive"
    assert len(llm.prompts) == 1


@pytest.mark.requirement("ENGINE-9")
@pytest.mark.parametrize(
    ("answer", "note"),
    [
        ("An answer that goes on and on. " * 40, "the language model's answer was too long"),
        (REPORT + REPORT, "the language model's answer was too long"),
        ("  ", "the language model's answer was empty"),
        ("\ud800", "the language model gave no answer: UnicodeEncodeError"),
        (LLMError("no"), "the language model gave no answer: LLMError"),
        (RuntimeError("no"), "the language model failed: RuntimeError"),
    ],
)
async def test_an_answer_that_is_longer_or_fails_is_not_used(asked: Agent, llm: ScriptedLLM, answer: Any, note: str) -> None:
    """The seed takes whatever comes back."""
    llm.script.append(answer)
    made = await asked.compress(REPORT, 60)
    assert (made.method, made.note) == ("extractive", note)
    assert made.tokens == COUNT(made.text) <= 60


async def test_a_language_model_that_never_answers_is_given_up(
    asked: Agent, llm: ScriptedLLM, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a minute; here at once."""
    monkeypatch.setattr(expand, "_LLM_SECONDS", 0.0)
    llm.script.append(lambda prompt: asyncio.Event().wait())  # type: ignore[arg-type, return-value]
    assert (await asked.compress(REPORT, 60)).note == "the language model gave no answer: TimeoutError"


async def test_a_very_long_text_is_not_sent(asked: Agent, llm: ScriptedLLM) -> None:
    """Nobody asked for the bill of it."""
    made = await asked.compress("Nothing happened. " * 20_000, 60)
    assert made.method == "extractive"
    assert llm.prompts == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"content": 3},
        {"content": "\ud800"},
        {"max_tokens": -1},
        {"max_tokens": True},
        {"model": 3},
        {"query": 3},
        {"use_llm": 1},
    ],
)
async def test_arguments_are_checked(agent: Agent, wrong: dict[str, Any]) -> None:
    """As everywhere."""
    given: dict[str, Any] = {"content": "x", "max_tokens": 9} | wrong
    with pytest.raises(InvalidInput):
        await agent.compress(given.pop("content"), given.pop("max_tokens"), **given)


async def test_without_a_language_model_none_can_be_asked_for(germane: Germane, agent: Agent) -> None:
    """The error says how to get one."""
    with pytest.raises(InvalidInput, match=r"Germane.open\(…, llm=…\)"):
        await agent.compress("x", 9, use_llm=True)


@pytest.mark.requirement("ENGINE-9")
@examples(60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(codec="utf-8"), max_size=600), st.integers(0, 60), st.text(max_size=20))
async def test_nothing_is_above_its_limit_or_longer_than_it_was(agent: Agent, text: str, limit: int, query: str) -> None:
    """Whatever the text; and a second time changes nothing."""
    made = await agent.compress(text, limit, query=query.encode("utf-8", "ignore").decode())
    assert made.tokens <= limit
    assert made.tokens <= made.original_tokens
    assert len(made.text) <= len(text)
    assert 0 <= made.share <= 1
    assert (await agent.compress(made.text, limit)).text == made.text
