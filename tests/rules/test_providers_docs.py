"""Providers: each example of `docs/use/providers.md` runs with the official SDK against a strict local server."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from germane_testing.provider import LocalProvider, calls_tools, provider_in_thread
from germane_testing.provider.gemini import THOUGHT_SIGNATURE
from support.code_blocks import Block, blocks, run
from support.source_tree import ROOT

PAGE = (ROOT / "docs" / "use" / "providers.md").read_text("utf-8")
FIRST, CHAT, RESPONSES, CLAUDE, GEMINI, GATEWAY = blocks(PAGE)
KNOWN = "Prefers e-mail to phone calls"
SAID = "By e-mail."


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalProvider]:
    """The SDKs' environment variables lead to it."""
    with provider_in_thread(keep_alive=False, rule=calls_tools(SAID)) as server:
        for name, value in {
            "OPENAI_BASE_URL": f"{server.url}/v1",
            "ANTHROPIC_BASE_URL": server.url,
            "GOOGLE_GEMINI_BASE_URL": server.url,
        }.items():
            monkeypatch.setenv(name, value)
        for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "XAI_API_KEY"):
            monkeypatch.setenv(name, "key")
        for name in ("GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "ANTHROPIC_AUTH_TOKEN"):
            monkeypatch.delenv(name, raising=False)
        yield server


def ran(block: Block, server: LocalProvider) -> tuple[list[dict[str, Any]], list[str]]:
    """Runs an example. Returns the bodies of its requests, and what was recorded."""
    names: dict[str, Any] = {"__name__": "providers"}
    try:
        run(FIRST, "providers.md", names)
        run(Block(block.line, block.code.replace("https://api.x.ai", server.url)), "providers.md", names)
        kept = [one["content"] for one in names["agent"].export() if one["type"] == "message"]
    finally:
        names["germane"].close()
        if "client" in names:
            names["client"].close()
    assert server.refused == []
    return server.bodies, kept


@pytest.mark.requirement("INJECT-7")
def test_chat_completions(server: LocalProvider) -> None:
    """The SDK's tool calls in a dict, and a whole message of its own."""
    (first, second), kept = ran(CHAT, server)
    assert KNOWN in str(first)
    assert second["messages"][-2]["tool_calls"] == [
        {"id": "call_1", "type": "function", "function": {"name": "order", "arguments": "{}"}}
    ]
    assert kept == ["Has my vase been sent?", "order({})", "It left on Monday.", SAID]


@pytest.mark.requirement("INJECT-7")
def test_responses(server: LocalProvider) -> None:
    """Reasoning stays beside the call it led to, and isn't recorded."""
    (first, second), kept = ran(RESPONSES, server)
    assert KNOWN in str(first)
    assert [item.get("type") for item in second["input"][-3:]] == ["reasoning", "function_call", "function_call_output"]
    assert second["input"][-3]["encrypted_content"]
    assert kept == ["Has my vase been sent?", "order({})", "It left on Monday.", SAID]


@pytest.mark.requirement("INJECT-7")
def test_anthropic(server: LocalProvider) -> None:
    """The caller's cached system first, thinking as it came, the system message in the middle where it stood."""
    (first, second), kept = ran(CLAUDE, server)
    own = {"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}
    assert KNOWN in str(first)
    assert first["system"][0] == second["system"][0] == own
    assert second["messages"][0] == first["messages"][0]  # with germane's text, in front of the words that it was found for
    answered = json.loads(server.requests[0].sent)
    assert second["messages"][1]["content"] == answered["content"]
    assert second["messages"][-1] == {"role": "system", "content": "It is Tuesday now."}
    assert kept == ["Has my vase been sent?", "order({})", "It left on Monday.", SAID]


@pytest.mark.requirement("INJECT-7")
def test_gemini(server: LocalProvider) -> None:
    """The SDK's contents and parts, with the bytes of the thought signature."""
    (first, second), kept = ran(GEMINI, server)
    assert KNOWN in str(first)
    assert first["generationConfig"] == {"temperature": 0}
    signature = second["contents"][1]["parts"][0]["thoughtSignature"]
    assert signature.translate(str.maketrans("-_", "+/")) == THOUGHT_SIGNATURE
    assert kept == ["Has my vase been sent?", "order({})", "It left on Monday.", SAID]


@pytest.mark.requirement("INJECT-7")
def test_a_gateway(server: LocalProvider) -> None:
    """By its base URL."""
    (only,), kept = ran(GATEWAY, server)
    assert KNOWN in str(only)
    assert kept == ["How do we reach Caroline?", SAID]


def test_the_page_has_an_example_for_each_provider() -> None:
    """One block below each heading."""
    assert re.findall(r"^## (.*)$", PAGE, re.MULTILINE)[:5] == [
        "OpenAI, chat completions",
        "OpenAI, responses",
        "Anthropic",
        "Gemini",
        "An OpenAI-compatible gateway",
    ]
