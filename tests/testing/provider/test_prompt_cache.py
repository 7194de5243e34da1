"""The local provider's prompt cache: what a test measures of a prompt's prefix by the usage that it reports."""

from __future__ import annotations

from typing import Any

import pytest
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI

from germane_testing.provider import local_provider
from germane_testing.provider.prompt_cache import Prompt, PromptCache
from support.steps import growth

TALK = [{"role": ("user", "assistant")[n % 2], "content": f"{n} " + "tea " * 100} for n in range(21)]


def read(cache: PromptCache, messages: list[Any], id: str = "a", compared: str | None = None, **options: Any) -> Any:
    given: dict[str, Any] = {"model": "m", "tools": None, "system": "Be kind.", **options}
    return cache.read(Prompt(messages=messages, **given), id, compared)


def test_what_is_appended_keeps_the_prefix() -> None:
    """All but less than a step of 64 bytes."""
    cache = PromptCache()
    first = read(cache, TALK[:11])
    second = read(cache, TALK)
    assert first.cached == 0
    assert first.tokens - 16 <= second.cached <= first.tokens


@pytest.mark.parametrize("changed", [0, 5, 20])
def test_a_change_ends_the_prefix_where_it_stands(changed: int) -> None:
    """In the message that changed."""
    cache = PromptCache()
    whole = read(cache, TALK)
    again = read(cache, [{**one, "content": f"{one['content']} x"} if n == changed else one for n, one in enumerate(TALK)])
    assert changed / 21 - 0.02 < again.cached / whole.tokens <= (changed + 1) / 21


def test_the_longest_prefix_of_any_earlier_prompt_counts() -> None:
    """Whatever came between; another model or system shares nothing."""
    cache = PromptCache()
    whole = read(cache, TALK)
    read(cache, [TALK[-1]])
    assert read(cache, TALK).cached >= whole.tokens - 16
    assert read(cache, TALK, model="n").cached == read(cache, TALK, system="New.").cached == 0


def test_a_mark_that_moves_changes_nothing() -> None:
    """Neither does a field that is null in the place of one that is left out."""
    cache = PromptCache()
    blocks: list[dict[str, Any]] = [
        {"type": "text", "text": "tea " * 100},
        {"type": "text", "text": "milk " * 100, "citations": None},
    ]
    whole = read(cache, [{"role": "user", "content": [{**blocks[0], "cache_control": {"type": "ephemeral"}}, blocks[1]]}])
    again = read(cache, [{"role": "user", "content": [blocks[0], {"type": "text", "text": "milk " * 100}]}])
    assert again.cached >= whole.tokens - 16


def test_the_change_since_a_named_prompt() -> None:
    """The first thing that differs, in the order in which a model reads; nothing where messages were appended."""
    cache = PromptCache()
    first = read(cache, TALK[:3], "a", options=(("thinking", None),))
    assert read(cache, TALK, "b", "a", options=(("thinking", None),)).change == ""
    differing: tuple[tuple[dict[str, Any], str], ...] = (
        ({"model": "n", "system": "x"}, "model"),
        ({"tools": [1], "system": "x"}, "tools"),
        ({"system": "x"}, "system"),
        ({"options": (("thinking", 1),)}, "thinking"),
    )
    for changes, change in differing:
        assert read(cache, TALK, "c", "a", **changes).change == change
    found = read(cache, TALK[1:4], "d", "a", options=(("thinking", None),))
    assert (found.change, found.missed) == ("messages", pytest.approx(first.tokens, abs=32))
    assert read(cache, TALK, "e", "lost").change == "unknown"


def test_reading_takes_linear_time() -> None:
    """Also after many prompts of the same conversation."""
    cache = PromptCache()
    for end in range(1, 21):
        read(cache, TALK[:end])
    assert growth(lambda n: read(cache, TALK * n), 5) < 5


async def test_both_providers_report_it() -> None:
    """Each in its own fields; OpenAI says why, too, where it is asked for a comparison."""
    async with (
        local_provider() as provider,
        AsyncOpenAI(base_url=f"{provider.url}/v1", api_key="none") as openai,
        AsyncAnthropic(base_url=provider.url, api_key="none") as claude,
    ):
        talk: list[Any] = list(TALK)
        before = [0, 0, 0]
        for messages in (talk[:11], talk):
            chat = (await openai.chat.completions.create(model="m", messages=messages)).usage
            response = await openai.responses.create(model="m", input=messages)
            usage = (await claude.messages.create(model="m", max_tokens=9, messages=messages)).usage
            assert chat is not None
            assert chat.prompt_tokens_details is not None
            assert response.usage is not None
            details = response.usage.input_tokens_details
            cached = [chat.prompt_tokens_details.cached_tokens, details.cached_tokens, usage.cache_read_input_tokens]
            assert all(whole - 16 <= (one or 0) <= whole for whole, one in zip(before, cached, strict=True))
            before = [chat.prompt_tokens, response.usage.input_tokens]
            before.append(usage.input_tokens + (usage.cache_read_input_tokens or 0))
        for messages, kind in ((talk, "cache_hit"), (talk[1:], "cache_miss")):
            options: Any = {"comparison_response_id": response.id}
            compared = await openai.responses.create(model="m", input=messages, prompt_cache_options=options)
            assert compared.prompt_cache_diagnostics is not None
            assert compared.prompt_cache_diagnostics.type == kind
