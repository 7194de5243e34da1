"""The client's messages in the shape of the model's own provider, which nobody has named."""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from germane import Agent
from germane.api.remote.fallback import model_provider
from germane.catalog.profiles import Catalog
from germane.grpc.client import Client
from germane.types.model_names import spelling
from support.listening import listening, opened
from support.loopback import unused_port

pytestmark = pytest.mark.requirement("INJECT-2a", "RPC-3")

CLAUDE, GEMINI = "claude-sonnet-4-5", "gemini-2.5-pro"
QUESTION = "When does the warehouse open?"
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "closed"}
TOOLS: list[Any] = [
    {"role": "user", "content": [{"type": "text", "text": QUESTION, "cache_control": {"type": "ephemeral"}}]},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "look", "signature": "s"},
            {"type": "tool_use", "id": "t1", "name": "hours", "input": {"day": 1}},
        ],
    },
    {"role": "user", "content": [RESULT, {"type": "text", "text": "So?"}]},
]
CALLS: list[Any] = [
    {"role": "user", "parts": [{"text": QUESTION}]},
    {"role": "model", "parts": [{"functionCall": {"name": "hours", "args": {"day": 1}}}]},
    {"role": "user", "parts": [{"functionResponse": {"name": "hours", "response": {"open": "no"}}}]},
]
ITEMS: list[Any] = [
    {"role": "user", "content": QUESTION},
    {"type": "function_call", "call_id": "c", "name": "hours", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c", "output": "closed"},
]


def without_nonce(value: Any) -> str:
    return re.sub(r'nonce=\\*"\w+\\*"', "", str(value))


@pytest.fixture
async def both(tmp_path: Path) -> AsyncIterator[tuple[Client, Agent]]:
    async with (
        opened(tmp_path) as germane,
        listening(germane, deadline_ms=5_000.0) as wire,
        Client(str(wire.server.address), org="acme", agent="support", limit=30.0) as client,
    ):
        yield client, germane.agent("support", org="acme")


@pytest.mark.parametrize(
    ("model", "messages", "system"), [(CLAUDE, TOOLS, "Be kind."), (GEMINI, CALLS, {"parts": [{"text": "Be kind."}]})]
)
async def test_a_conversation_in_the_models_own_shape_comes_back_with_context(
    both: tuple[Client, Agent], model: str, messages: list[Any], system: Any
) -> None:
    """As from the library, with the system prompt apart."""
    client, agent = both
    answer = await client.assemble(messages, model=model, system=system)
    wanted = await agent.assemble(messages, model=model, system=system, deadline=None)
    assert (answer.metadata.fallback_reason, answer.metadata.degradation_level) == ("", 0)
    assert without_nonce(answer.messages) == without_nonce(wanted.messages)
    assert without_nonce(answer.system) == without_nonce(wanted.system)
    assert "opens at seven" in str(answer.messages)
    assert "Be kind." in str(answer.system)


async def test_another_shape_than_the_models_own_has_to_be_named(
    both: tuple[Client, Agent], caplog: pytest.LogCaptureFixture
) -> None:
    """OpenAI's items are none that its chat takes; the log says what to do."""
    client, _ = both
    with caplog.at_level(logging.WARNING, "germane.client"):
        answer = await client.assemble(ITEMS, model="gpt-4o")
    assert (answer.messages, answer.metadata.fallback_reason) == (ITEMS, "client_error:altered")
    assert "provider=" in caplog.text
    answer = await client.assemble(ITEMS, model="gpt-4o", provider="openai-responses")
    assert (answer.messages[-3:], answer.metadata.fallback_reason) == (ITEMS, "")
    said = [{"role": "user", "content": "Hello."}]
    answer = await client.assemble(said, model=CLAUDE, provider="openai")
    assert {message["role"] for message in answer.messages} == {"system", "user"}
    assert answer.system is None


async def test_without_a_service_the_prompt_stays_where_the_models_provider_takes_it() -> None:
    """Also of a model that is treated like another."""
    said = [{"role": "user", "content": "Hello."}]
    async with Client(f"127.0.0.1:{unused_port()}") as client:
        for model, like in ((CLAUDE, None), ("ours", CLAUDE)):
            answer = await client.assemble(said, system="Be kind.", model=model, like=like)
            assert (answer.messages, answer.system) == (said, "Be kind.")
        answer = await client.assemble(said, system="Be kind.", model="ours")
    assert (len(answer.messages), answer.system) == (2, None)


def test_the_client_knows_each_models_provider_as_the_catalog_does() -> None:
    """Of all names of the catalog in several spellings, and of what is no name."""
    catalog = Catalog.built_in()
    for profile in catalog:
        for name in (profile.name, f"vendor/{profile.name}", profile.name.upper(), spelling(profile.name)):
            assert model_provider(name) == catalog.find(name).provider
    assert model_provider("us.anthropic.claude-sonnet-4-5-20250929-v1:0") == "anthropic"
    assert {model_provider(odd) for odd in (None, 7, "", "x" * 100_000, "ours")} == {"openai"}
    assert model_provider(CLAUDE, like="gpt-4o") == "openai"
