"""The caller's system prompt beside the messages, as the SDKs of Anthropic and Gemini take it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from germane import Agent, Context, Germane, Message
from germane.dialects.registry import dialect, system_prompt
from germane.stages.inject import untouched
from germane.types.message import Wire
from support.exchanges import request
from support.stories import ASKED, MODELS, ask, told

OWN = "You are a vet."
BLOCKS = [{"type": "text", "text": OWN, "cache_control": {"type": "ephemeral"}}, {"type": "text", "text": "Be kind."}]
PARTS = {"parts": [{"text": OWN}]}
SHAPES: dict[str, Any] = {"text": OWN, "blocks": BLOCKS, "parts": PARTS, "strings": [OWN], "a list of parts": [{"text": OWN}]}


class Dumped:
    """An SDK's object."""

    def model_dump(self, *, exclude_none: bool) -> dict[str, Any]:
        return PARTS


def texts(system: Any) -> list[str]:
    return [system] if isinstance(system, str) else [block["text"] for block in system]


def dicts(context: Context) -> list[dict[str, Any]]:
    return [dict(message) for message in context.messages if not isinstance(message, Message)]


@pytest.fixture
async def knowing(agent: Agent) -> Agent:
    await agent.directive("Answer in one sentence.")
    return await told(agent)


@pytest.mark.requirement("INJECT-7")
@pytest.mark.parametrize("provider", ["anthropic", "gemini"])
@pytest.mark.parametrize("shape", [*SHAPES.values(), Dumped()], ids=[*SHAPES, "an SDK's object"])
async def test_the_prompt_comes_back_behind_germanes_text(knowing: Agent, provider: str, shape: Any) -> None:
    """Whatever shape it came in, but for cached blocks, which stay in front; the request is valid, and the messages are the
    caller's own."""
    context = await ask(knowing, model=MODELS[provider], system=shape, strategy="compact")
    together = "\n".join(texts(context.system))
    cached = shape is BLOCKS and provider == "anthropic"
    assert (together.index("Biscuit") < together.index(OWN)) != cached
    assert dialect(provider).problems(Wire(messages=dicts(context), system=context.system)) == ()
    assert [message["role"] for message in dicts(context)] == ["user"]


@pytest.mark.requirement("INJECT-7")
async def test_blocks_of_anthropics_keep_their_cache_control(knowing: Agent) -> None:
    """Each block as it came, in front of germane's changing text."""
    context = await ask(knowing, model="claude-sonnet-4-5", system=BLOCKS, strategy="compact")
    assert isinstance(context.system, list)
    assert context.system[:2] == BLOCKS
    assert context.to_anthropic()["system"] == context.system


@pytest.mark.requirement("INJECT-7")
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
async def test_for_openai_it_is_a_system_message_before_the_callers_others(knowing: Agent, shape: Any) -> None:
    """Behind germane's own; a system message at the head of the list comes after it."""
    messages = [{"role": "system", "content": "Be brief."}, *ASKED]
    context = await knowing.assemble(messages, model="gpt-4o", session="s2", deadline=None, system=shape, strategy="compact")
    assert [message["role"] for message in dicts(context)] == ["system", "system", "system", "user"]
    assert OWN in str(context.messages[1])
    assert context.messages[2:] == messages


@pytest.mark.requirement("INJECT-7")
@pytest.mark.parametrize("provider", MODELS)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
async def test_unless_told_otherwise_the_prompt_comes_before_what_goes_with_the_question(
    knowing: Agent, provider: str, shape: Any
) -> None:
    """The directive and the prompt at the beginning, the memories after them; the request is valid."""
    context = await ask(knowing, model=MODELS[provider], system=shape)
    said = "" if provider == "openai" else "".join(texts(context.system or []))
    assert dialect(provider).problems(Wire(messages=dicts(context), system=context.system if said else None)) == ()
    whole = said + str(context.messages)
    assert "Biscuit" not in said
    assert "Answer in one sentence." in whole
    assert whole.index(OWN) < whole.index("Biscuit") < whole.index(ASKED[0]["content"])


@pytest.mark.requirement("INJECT-7")
@pytest.mark.parametrize("provider", ["anthropic", "gemini"])
async def test_both_kinds_of_prompt_are_kept_with_the_argument_first(knowing: Agent, provider: str) -> None:
    """In one system prompt, in this order."""
    messages = [{"role": "system", "content": "Be brief."}, *ASKED]
    context = await knowing.assemble(messages, model=MODELS[provider], session="s2", deadline=None, system=OWN)
    together = "\n".join(texts(context.system))
    assert together.index(OWN) < together.index("Be brief.")


@pytest.mark.requirement("INJECT-7", "BUD-4")
async def test_the_prompt_counts(shared: Germane) -> None:
    """As much as the same prompt in the list, and one that fills the window leaves no room."""
    beside = await ask(shared.agent(), system=OWN * 50)
    inside = await shared.agent().assemble([{"role": "system", "content": OWN * 50}, *ASKED], model="gpt-4o", deadline=None)
    assert beside.trace.budget == inside.trace.budget
    full = await ask(shared.agent(), model="claude-sonnet-4-5", window=4_000, system=OWN * 1_000)
    assert full.metadata.fallback_reason == "messages_exceed_window"
    assert full.system == OWN * 1_000


@pytest.mark.requirement("INJECT-7")
@pytest.mark.parametrize("nothing", [None, "", "  ", [], [""], {"parts": []}, [{"type": "text", "text": " "}]], ids=repr)
async def test_an_empty_prompt_is_none(shared: Germane, nothing: Any) -> None:
    """Programs pass what they have."""
    assert (await ask(shared.agent(), model="claude-sonnet-4-5", system=nothing)).system is None


@pytest.mark.requirement("INJECT-7")
@pytest.mark.parametrize(
    ("provider", "shape", "expected"),
    [
        ("anthropic", OWN, OWN),
        ("anthropic", BLOCKS, BLOCKS),
        ("anthropic", PARTS, OWN),
        ("gemini", PARTS, PARTS["parts"]),
        ("gemini", BLOCKS, f"{OWN}\n\nBe kind."),
        ("openai", OWN, None),
    ],
)
def test_messages_that_cannot_be_rewritten_keep_the_prompt(provider: str, shape: Any, expected: Any) -> None:
    """It goes back beside the messages, or for OpenAI as the first of them."""
    own = system_prompt(shape, provider)
    injected = untouched(replace(request([own, *ASKED], provider), has_system=True))
    assert injected.system == expected
    assert injected.messages == (ASKED if expected else [own, *ASKED])


@pytest.mark.requirement("INJECT-7")
@pytest.mark.parametrize("provider", MODELS)
async def test_the_answer_without_time_keeps_the_prompt(knowing: Agent, provider: str) -> None:
    """The directive as it was last known, and the caller's own prompt."""
    context = await knowing.fallback(ASKED, model=MODELS[provider], system=OWN)
    assert context.metadata.degradation_level == 2
    said = [*texts(context.system or []), *map(str, context.messages)]
    assert any("Answer in one sentence." in text for text in said)
    assert any(OWN in text for text in said)


@pytest.mark.requirement("INJECT-7")
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
async def test_for_the_responses_api_it_joins_the_instructions(knowing: Agent, shape: Any) -> None:
    """As text behind germane's, whatever shape it has; also where nothing could be added."""
    context = await ask(knowing, model="gpt-5", provider="openai-responses", system=shape, strategy="compact")
    assert context.system is not None
    assert "\n".join(texts(context.system)).index("Biscuit") < str(context.system).index(OWN)
    assert context.to_openai_responses() == {"instructions": context.system, "input": context.messages}
    long = [{"role": "user", "content": "x " * 20_000}]
    untouched = await knowing.assemble(long, model="gpt-4", provider="openai-responses", system=shape, deadline=None)
    assert untouched.metadata.fallback_reason == "messages_exceed_window"
    assert isinstance(untouched.system, str)
    assert untouched.system.startswith(OWN)
    assert untouched.messages == long
