"""The subclasses of the Anthropic SDK's memory tools, as its tool runner calls them."""

from __future__ import annotations

import subprocess
import sys

import pytest
from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
from anthropic.types.beta import BetaMemoryTool20250818CreateCommand, BetaMemoryTool20250818ViewCommand

from germane import Germane
from germane.integrations.memory_tool.anthropic_tool import AnthropicMemoryTool, BlockingAnthropicMemoryTool
from germane.sync import Germane as BlockingGermane

CREATE = {"command": "create", "path": "/memories/a.md", "file_text": "hello", "reason": "asked"}


@pytest.mark.requirement("BLK-8")
async def test_the_runner_calls_it_with_what_the_model_sent() -> None:
    """The extra fields of a command arrive, and a mistake is the SDK's error, which the runner tells the model."""
    async with Germane.open(":memory:", embedder=None) as germane:
        agent = germane.agent("x")
        tool = AnthropicMemoryTool(agent, cache_control={"type": "ephemeral"}, by="claude")
        assert isinstance(tool, BetaAsyncAbstractMemoryTool)
        assert (tool.name, tool.to_dict()["type"]) == ("memory", "memory_20250818")
        assert await tool.call(CREATE) == "File created successfully at: /memories/a.md"
        assert [one.reason for one in await agent.blocks.versions("a.md")] == ["asked"]
        view = BetaMemoryTool20250818ViewCommand(command="view", path="/memories/a.md")
        assert (await tool.view(view)).endswith("     1\thello")
        for wrong in (CREATE, {"command": "fly"}, {}, None, {"command": "view"}):
            with pytest.raises(ToolError):
                await tool.call(wrong)


@pytest.mark.requirement("BLK-8")
def test_the_blocking_one_does_the_same() -> None:
    """For `Anthropic()` and an agent of `germane.sync`."""
    with BlockingGermane.open(":memory:", embedder=None) as germane:
        tool = BlockingAnthropicMemoryTool(germane.agent("x"))
        assert isinstance(tool, BetaAbstractMemoryTool)
        command = BetaMemoryTool20250818CreateCommand(command="create", path="/memories/a.md", file_text="hello")
        assert tool.create(command) == "File created successfully at: /memories/a.md"
        with pytest.raises(ToolError, match="already exists"):
            tool.call(CREATE)


def test_without_the_sdk_the_error_names_the_extra() -> None:
    """The other modules of the memory tool don't need it."""
    code = (
        "import sys; sys.modules['anthropic'] = None\n"
        "import germane.integrations.memory_tool.tool\n"
        "try: import germane.integrations.memory_tool.anthropic_tool\n"
        "except ImportError as error: print(error)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "pip install 'germane[anthropic]'" in said
