"""The tool for a loop: its definition for each provider, its input as JSON, and its blocking twin."""

from __future__ import annotations

import json
from typing import Any

import pytest
from anthropic.types.beta import BetaMemoryTool20250818Param
from google.genai import types as gemini
from openai.types.chat import ChatCompletionToolParam
from openai.types.responses import FunctionToolParam
from pydantic import TypeAdapter

from germane import Germane, UnknownName
from germane.integrations.memory_tool.commands import COMMANDS
from germane.integrations.memory_tool.tool import PROVIDERS, definition, memory_tool
from germane.sync import Germane as BlockingGermane

SHAPES: list[tuple[str, Any]] = [
    ("anthropic", BetaMemoryTool20250818Param),
    ("openai", ChatCompletionToolParam),
    ("openai-responses", FunctionToolParam),
    ("gemini", gemini.FunctionDeclarationDict),
]


@pytest.mark.requirement("BLK-8")
@pytest.mark.parametrize(("provider", "shape"), SHAPES)
def test_the_definition_has_the_shape_of_the_provider(provider: str, shape: Any) -> None:
    """As the types of its own SDK have it."""
    made = definition(provider)
    assert TypeAdapter(shape).validate_python(made) is not None
    assert provider == "anthropic" or set(COMMANDS) <= set(_schema(made)["properties"]["command"]["enum"])


def test_a_hash_is_asked_for_only_where_view_shows_it() -> None:
    """A model can't give what it has never seen."""
    assert "if_hash" not in _schema(definition("openai"))["properties"]
    assert "if_hash" in _schema(definition("gemini", hashes=True))["properties"]
    with pytest.raises(UnknownName, match="provider 'acme' is unknown: give one of anthropic"):
        definition("acme")
    assert definition("json") == definition("gemini")
    assert len(PROVIDERS) == 5


@pytest.mark.requirement("BLK-8")
async def test_the_input_may_be_json() -> None:
    """As the arguments of OpenAI's tool calls are."""
    async with Germane.open(":memory:", embedder=None) as germane:
        tool = memory_tool(germane.agent("x"))
        said = await tool(json.dumps({"command": "create", "path": "/memories/a", "file_text": "hello"}))
        assert said == "File created successfully at: /memories/a"
        assert (await tool.answer("[" * 100_000)).is_error
        assert tool.definition("openai")["type"] == "function"


@pytest.mark.requirement("BLK-8")
def test_the_blocking_twin_does_the_same() -> None:
    """With an agent of `germane.sync`."""
    with BlockingGermane.open(":memory:", embedder=None) as germane:
        tool = memory_tool(germane.agent("x"), hashes=True)
        tool({"command": "create", "path": "/memories/d/a", "file_text": "hello"})
        assert tool({"command": "view", "path": "/memories/d/a"}).startswith("Here's the content of /memories/d/a")
        assert tool({"command": "rename", "old_path": "/memories/d", "new_path": "/memories/e"}).startswith("Successfully")
        assert tool({"command": "delete", "path": "/memories/e"}) == "Successfully deleted /memories/e"
        assert tool.answer({"command": "delete", "path": "/memories"}).is_error
        assert "if_hash" in _schema(tool.definition("gemini"))["properties"]


def _schema(made: dict[str, Any]) -> Any:
    return made.get("function", made)["parameters"]
