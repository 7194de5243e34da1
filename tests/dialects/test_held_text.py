"""Held text: what documents, search results, outputs of a provider's tools and transcripts say can be read and masked."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from germane.compaction.reading.exchange import read_exchange
from germane.compaction.reading.outline_line import read_line
from germane.dialects.edits import masked
from germane.dialects.opaque import held_text
from germane.dialects.registry import dialect, parse
from germane.kinds.conversations.outline import OutlinedMessage, line_of_exchange
from germane.types.message import Message, Opaque, ToolResult

pytestmark = pytest.mark.requirement("INJECT-11")

SAID = "the xenolith weighs seven kilos"
TEXT = {"type": "text", "text": SAID}
DOCUMENT = {"type": "document", "title": "Stones", "source": {"type": "text", "media_type": "text/plain", "data": SAID}}
FOUND = {"type": "search_result", "source": "https://example.org", "title": "Stones", "content": [TEXT]}
RESOURCE = {"type": "resource", "resource": {"uri": "file:///a", "mimeType": "text/plain", "text": SAID}}
ENCODED = base64.b64encode(SAID.encode()).decode()


def of_user(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(parts)}


def result(*parts: dict[str, Any]) -> dict[str, Any]:
    return of_user({"type": "tool_result", "tool_use_id": "t", "content": list(parts)})


def of_assistant(**part: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": [part, {"type": "text", "text": "ok"}]}


HOLDERS: dict[str, dict[str, Any]] = {
    "a document": of_user(DOCUMENT),
    "a document of blocks": of_user({"type": "document", "source": {"type": "content", "content": [TEXT]}}),
    "a search result": of_user(FOUND),
    "a document in a result": result(DOCUMENT),
    "a search result in a result": result(FOUND),
    "an MCP resource in a result": result(RESOURCE),
    "an MCP resource in a tool message": {"role": "tool", "tool_call_id": "c", "content": [RESOURCE]},
    "an MCP result": of_assistant(type="mcp_tool_result", tool_use_id="m", content=[TEXT]),
    "code execution": of_assistant(
        type="code_execution_tool_result", tool_use_id="m", content={"type": "code_execution_result", "stdout": SAID}
    ),
    "a shell's output": of_assistant(
        type="bash_code_execution_tool_result", tool_use_id="m", content={"type": "bash_code_execution_result", "stderr": SAID}
    ),
    "a fetched page": of_assistant(
        type="web_fetch_tool_result", tool_use_id="m", content={"type": "web_fetch_result", "content": DOCUMENT}
    ),
    "a web search's titles": of_assistant(
        type="web_search_tool_result", tool_use_id="m", content=[{"type": "web_search_result", "title": SAID}]
    ),
    "the input of a server's tool": of_assistant(type="server_tool_use", id="m", name="web_search", input={"query": SAID}),
    "mcp_call": {"type": "mcp_call", "id": "m", "name": "get", "server_label": "s", "arguments": "{}", "output": SAID},
    "a failed mcp_call": {"type": "mcp_call", "id": "m", "name": "get", "error": {"message": SAID}},
    "code_interpreter_call": {"type": "code_interpreter_call", "id": "m", "outputs": [{"type": "logs", "logs": SAID}]},
    "code_interpreter_call's code": {"type": "code_interpreter_call", "id": "m", "code": f"# {SAID}", "outputs": None},
    "file_search_call": {"type": "file_search_call", "id": "m", "results": [{"file_id": "f", "text": SAID, "score": 0.9}]},
    "web_search_call": {"type": "web_search_call", "id": "m", "action": {"type": "search", "query": SAID}},
    "codeExecutionResult": {"role": "model", "parts": [{"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": SAID}}]},
    "executableCode": {"role": "model", "parts": [{"executableCode": {"language": "PYTHON", "code": f"# {SAID}"}}]},
    "toolResponse": {"role": "model", "parts": [{"toolResponse": {"id": "t", "response": {"out": SAID}}}]},
    "inlineData of text": {"role": "user", "parts": [{"inlineData": {"mimeType": "text/csv", "data": ENCODED}}]},
    "a file of text": of_user({"type": "file", "file": {"filename": "a", "file_data": f"data:text/plain;base64,{ENCODED}"}}),
    "an input_file of text": of_user({"type": "input_file", "file_data": f"data:application/json;base64,{ENCODED}"}),
    "a transcript": {"role": "assistant", "content": None, "audio": {"id": "a", "data": "AAAA", "transcript": SAID}},
    "a part that was invented tomorrow": of_user({"type": "hologram", "text": SAID, "rays": [1, 2]}),
}  # fmt: skip


@pytest.mark.parametrize("name", HOLDERS)
def test_the_text_of_a_part_is_read(name: str) -> None:
    """One place decides, for all providers."""
    assert SAID in parse(HOLDERS[name]).content


@pytest.mark.parametrize(
    "part",
    [
        {"type": "thinking", "thinking": SAID, "text": SAID, "signature": "s"},
        {"type": "redacted_thinking", "data": SAID},
        {"type": "compaction", "content": SAID},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": ENCODED}},
        {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": ENCODED}},
        {"type": "input_audio", "input_audio": {"format": "wav", "data": ENCODED}},
        {"type": "file", "file": {"file_data": "data:text/plain;base64,***"}},
        {"text": SAID, "thought": True},
        {"type": "mcp_list_tools", "tools": [{"name": SAID}]},
    ],
)
def test_thoughts_and_bytes_hold_no_text(part: dict[str, Any]) -> None:
    """Thinking isn't said to anyone; bytes that are no text, and damaged ones, are left alone."""
    assert held_text(part) == ""


@pytest.mark.parametrize("part", [DOCUMENT, FOUND, RESOURCE])
def test_text_in_a_tools_result_is_the_results(part: dict[str, Any]) -> None:
    """So it is counted once, masked with the result, and goes along to another provider."""
    raw = result({"type": "text", "text": "found:"}, part)
    message = parse(raw)
    (only,) = message.parts
    assert isinstance(only, ToolResult)
    assert only.text.startswith("found:\n")
    assert SAID in only.text
    assert SAID not in str(masked(raw, {0: "[masked]"}, "anthropic"))
    assert SAID not in str(masked(message, {0: "[masked]"}, "anthropic"))
    call = Message(role="assistant", parts=parse(of_call()).parts)
    assert SAID in str(dialect("openai").render([call, message]).messages)


def of_call() -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "find", "input": {}}]}


def test_a_file_in_a_tools_result_stays_a_part() -> None:
    """Its bytes count."""
    pdf = {"type": "document", "title": "Stones", "source": {"type": "base64", "media_type": "application/pdf", "data": "AAAA"}}
    text, kept = parse(result(pdf)).parts
    assert isinstance(text, ToolResult)
    assert isinstance(kept, Opaque)
    assert kept.text == "Stones"


@pytest.mark.parametrize("raw", [of_user(FOUND), of_user(RESOURCE), HOLDERS["inlineData of text"], HOLDERS["a transcript"]])
@pytest.mark.parametrize("provider", ["openai", "openai-responses", "anthropic", "gemini"])
def test_another_provider_is_given_the_text(raw: dict[str, Any], provider: str) -> None:
    """A provider that has no such part reads its text."""
    wire = str(dialect(provider).render([parse(raw)]).messages)
    assert SAID in wire or ENCODED in wire


def test_the_outline_reads_a_long_document_in_part() -> None:
    """A line of an outline reads a bounded part of each message."""
    raw = of_user(
        DOCUMENT | {"source": {"type": "text", "data": "long " * 100_000}}, {"type": "text", "text": "Weigh the xenolith."}
    )
    assert "Weigh the xenolith" in line_of_exchange([OutlinedMessage(0, "user_message", "user", "", "", raw)])


@pytest.mark.parametrize("name", ["a document", "a search result", "an MCP result", "mcp_call", "a transcript"])
def test_the_outline_names_what_a_part_says_beside_what_was_asked(name: str) -> None:
    """It stands where tools stand, as nobody's words, but for what the assistant spoke."""
    raw = HOLDERS[name]
    said = [OutlinedMessage(0, "user_message", "user", "", "Summarise this.", {})]
    said.append(OutlinedMessage(1, "assistant_message", raw.get("role", "assistant"), "", "", raw))
    line = line_of_exchange(said)
    assert line.startswith("Summarise this. → ")
    assert "xenolith" in line or "Stones" in line
    assert read_line([parse(one.raw) if one.raw else Message.of("user", one.text) for one in said]) == line
    assert read_exchange([parse(one.raw) if one.raw else Message.of("user", one.text) for one in said]).line == line


def test_deep_and_endless_parts_end() -> None:
    """A nest deeper than any provider's isn't read to its end."""
    circle: dict[str, Any] = {"type": "x", "text": SAID}
    circle["content"] = [circle]
    assert held_text(circle).count(SAID) < 20
