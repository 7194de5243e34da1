"""The local provider's Gemini, with Google's own SDK."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from google import genai
from google.genai.errors import ClientError
from google.genai.types import Content, GenerateContentConfig, HttpOptions, Part

from germane_testing.provider import Failure, LocalProvider, Reply, Usage, provider_in_thread

TOOLS: Any = [{"function_declarations": [{"name": "order"}]}]


@pytest.fixture
def provider() -> Iterator[LocalProvider]:
    with provider_in_thread() as provider:
        yield provider


@pytest.fixture
def models(provider: LocalProvider) -> Iterator[Any]:
    client = genai.Client(api_key="none", vertexai=False, http_options=HttpOptions(base_url=provider.url))
    yield client.models
    client.close()


def test_a_call_and_its_response(models: Any, provider: LocalProvider) -> None:
    """The thought's signature holds a byte that is no text, and comes back."""
    config = GenerateContentConfig(tools=TOOLS)
    asked = Content(role="user", parts=[Part(text="Has my vase been sent?")])
    called = (models.generate_content(model="gemini-3-pro", contents=[asked], config=config)).candidates[0].content
    assert called.parts[0].function_call.name == "order"
    assert called.parts[0].thought_signature == b"thought \xff"
    answer = Content(role="user", parts=[Part.from_function_response(name="order", response={"result": "on Monday"})])
    said = models.generate_content(model="gemini-3-pro", contents=[asked, called, answer], config=config)
    assert said.text == "You said: Has my vase been sent?"
    assert provider.refused == []


def test_a_stream_adds_up(models: Any, provider: LocalProvider) -> None:
    """With the reason to stop in the last piece, and the usage."""
    provider.script.append(Reply("Fünf Vasen — sofort.", stop="length", usage=Usage(input=100, cached=10, output=20)))
    pieces = list(models.generate_content_stream(model="gemini-3-pro", contents="When?"))
    assert "".join(piece.text for piece in pieces) == "Fünf Vasen — sofort."
    assert [piece.candidates[0].finish_reason is not None for piece in pieces] == [False, True]
    usage = pieces[-1].usage_metadata
    assert (usage.prompt_token_count, usage.cached_content_token_count, usage.total_token_count) == (100, 10, 120)


def test_what_is_refused_and_what_fails(models: Any, provider: LocalProvider) -> None:
    """In Google's shape."""
    provider.script.append(Failure(429, "Slow down."))
    with pytest.raises(ClientError, match="RESOURCE_EXHAUSTED"):
        models.generate_content(model="gemini-3-pro", contents="When?")
    with pytest.raises(ClientError, match="role 'model' after ''"):
        models.generate_content(model="gemini-3-pro", contents=[Content(role="model", parts=[Part(text="x")])])
