"""Conversation shapes: writes the steps of a generated conversation as messages of a provider, with its own items."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from random import Random
from types import MappingProxyType
from typing import Any

from germane.testing.conversation_script import GeneratedCall, GeneratedResult, ScriptStep

__all__ = ["SHAPES"]

Raw = dict[str, Any]
_PNG = "iVBORw0KGgoAAAANSUhEUgAAAAMAAAACCAYAAACddGYaAAAAAElFTkSuQmCC"
_MARK = {"cache_control": {"type": "ephemeral"}}


def _arguments(call: GeneratedCall) -> Raw:
    """The arguments as an object; what is left of a stream stays text inside it."""
    try:
        value = json.loads(call.arguments)
    except ValueError:
        value = call.arguments
    return value if isinstance(value, dict) else {"partial": str(value)}


def _chat(step: ScriptStep, random: Random) -> list[Raw]:
    match step.kind:
        case "system":
            return [{"role": random.choice(("system", "developer")), "content": step.text}]
        case "user" if step.media:
            image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{_PNG}"}}
            file = {"type": "file", "file": {"file_id": f"file-{step.number}"}}
            return [{"role": "user", "content": [{"type": "text", "text": step.text}, random.choice((image, file))]}]
        case "user":
            return [{"role": "user", "content": step.text}]
        case "answer":
            return [
                {"role": "tool", "tool_call_id": answer.id[:40], "content": _text(answer, "text")} for answer in step.answers
            ]
    said: Raw = {"role": "assistant", "content": step.text or (None if step.calls else "")}
    if step.opaque:
        said["reasoning_content"] = f"thought {step.number}"
    if step.calls:
        functions = [{"name": call.name, "arguments": call.arguments} for call in step.calls]
        said["tool_calls"] = [
            {"id": call.id[:40], "type": "function", "function": function}
            for call, function in zip(step.calls, functions, strict=True)
        ]
    return [said]


def _text(answer: GeneratedResult, kind: str) -> Any:
    return [{"type": kind, "text": answer.text}] if answer.media else answer.text


def _anthropic(step: ScriptStep, random: Random) -> list[Raw]:
    match step.kind:
        case "system":
            return [{"role": "system", "content": step.text}]
        case "user":
            blocks: list[Raw] = [{"type": "text", "text": step.text}]
            if step.media:
                blocks.insert(0, _anthropic_media(step, random))
            return [{"role": "user", "content": blocks if step.media or random.random() < 0.3 else step.text}]
        case "answer":
            return [{"role": "user", "content": [_anthropic_result(answer, step, random) for answer in step.answers]}]
    blocks = [{"type": "text", "text": step.text}] if step.text else []
    uses: list[Raw] = [{"type": "tool_use", "id": call.id, "name": call.name, "input": _arguments(call)} for call in step.calls]
    if not step.opaque:
        return [{"role": "assistant", "content": [*blocks, *uses]}]
    first = {"type": "thinking", "thinking": f"thought {step.number}", "signature": f"c2lnbmF0dXJl{step.number}"}
    if random.random() < 0.2:
        first = {"type": "redacted_thinking", "data": f"cmVkYWN0ZWQ{step.number}"}
    own = random.random()
    if own < 0.15:
        id = f"srvtoolu_{step.number}"
        found = {
            "type": "web_search_result",
            "title": "A page",
            "url": "https://x.test",
            "encrypted_content": f"e{step.number}",
        }
        blocks = [
            {"type": "server_tool_use", "id": id, "name": "web_search", "input": {"query": "q"}},
            *([{"type": "web_search_tool_result", "tool_use_id": id, "content": [found]}] if own < 0.12 else []),
            *blocks,
        ]
    elif own < 0.2:
        return [{"role": "assistant", "content": [{"type": "compaction", "content": "earlier talk"}, first, *blocks, *uses]}]
    elif own < 0.4 and uses:
        second = {"type": "thinking", "thinking": f"more {step.number}", "signature": f"bW9yZQ{step.number}"}
        uses = [uses[0], second, *uses[1:]] if len(uses) > 1 else [second, *uses]
    return [{"role": "assistant", "content": [first, *blocks, *uses]}]


def _anthropic_media(step: ScriptStep, random: Random) -> Raw:
    if random.random() < 0.6:
        return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": _PNG}}
    return {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": f"document {step.number}"}}


def _anthropic_result(answer: GeneratedResult, step: ScriptStep, random: Random) -> Raw:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": _PNG}}
    content: Any = [{"type": "text", "text": answer.text or "-"}, image] if answer.media else answer.text
    mark = _MARK if step.number == 3 and answer is step.answers[-1] and random.random() < 0.5 else {}
    return {"type": "tool_result", "tool_use_id": answer.id, "content": content, **mark, **_failed(answer)}


def _failed(answer: GeneratedResult) -> Raw:
    return {"is_error": True} if answer.error else {}


def _gemini(step: ScriptStep, random: Random) -> list[Raw]:
    signed = {"thoughtSignature": f"c2lnbmF0dXJl{step.number}"} if step.signing else {}
    match step.kind:
        case "system":
            return [{"role": "system", "parts": [{"text": step.text}]}]
        case "user":
            media = [{"inlineData": {"mimeType": "image/png", "data": _PNG}}] if step.media else []
            return [{"role": "user", "parts": [{"text": step.text}, *media]}]
        case "answer":
            return [{"role": "user", "parts": [_gemini_answer(answer, step) for answer in step.answers]}]
    parts: list[Raw] = [{"text": f"thought {step.number}", "thought": True}] if step.opaque and random.random() < 0.5 else []
    if step.opaque and random.random() < 0.15:
        parts += (
            {"executableCode": {"language": "PYTHON", "code": "1 + 1"}},
            {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2"}},
        )
    if step.text or not step.calls:
        parts.append({"text": step.text, **({} if step.calls else signed)})
    for n, call in enumerate(step.calls):
        id = {"id": call.id} if step.number % 2 else {}
        parts.append({"functionCall": {**id, "name": call.name, "args": _arguments(call)}, **(signed if not n else {})})
    return [{"role": "model", "parts": parts}]


def _gemini_answer(answer: GeneratedResult, step: ScriptStep) -> Raw:
    id = {"id": answer.id} if not step.number % 2 and not step.foreign else {}
    response = {"error" if answer.error else "output": answer.text}
    if answer.text.startswith("{"):
        with suppress(ValueError):
            response = json.loads(answer.text)
    parts = {"parts": [{"inlineData": {"mimeType": "image/png", "data": _PNG}}]} if answer.media else {}
    return {"functionResponse": {**id, "name": answer.name, "response": response, **parts}}


def _responses(step: ScriptStep, random: Random) -> list[Raw]:
    match step.kind:
        case "system":
            return [{"role": random.choice(("system", "developer")), "content": step.text}]
        case "user" if step.media:
            image = {"type": "input_image", "image_url": f"data:image/png;base64,{_PNG}", "detail": "auto"}
            return [{"role": "user", "content": [{"type": "input_text", "text": step.text}, image]}]
        case "user":
            return [{"role": "user", "content": step.text}]
        case "answer":
            return [_output(answer, random) for answer in step.answers]
    own: list[Raw] = []
    if step.opaque:
        reasoning = {"type": "reasoning", "id": f"rs_{step.number}", "summary": [], "encrypted_content": f"e{step.number}"}
        own.append(reasoning)
        kind = random.random()
        if kind < 0.1:
            own = [{"type": "compaction", "id": f"cmp_{step.number}", "encrypted_content": f"c{step.number}"}, reasoning]
        elif kind < 0.2:
            own.append({"type": "web_search_call", "id": f"ws_{step.number}", "status": "completed"})
        elif kind < 0.3:
            request = {"type": "mcp_approval_request", "id": f"mcpr_{step.number}", "name": "delete", "arguments": "{}"}
            own.append({**request, "server_label": "files"})
            if kind < 0.26:
                own.append({"type": "mcp_approval_response", "approval_request_id": request["id"], "approve": True})
    if step.text or not step.calls:
        text = {"type": "output_text", "text": step.text, "annotations": []}
        message = {"type": "message", "id": f"msg_{step.number}", "role": "assistant", "status": "completed", "content": [text]}
        own.append(message if random.random() < 0.7 else {"role": "assistant", "content": step.text})
    return [*own, *(_call(call, step, n, random) for n, call in enumerate(step.calls))]


def _call(call: GeneratedCall, step: ScriptStep, n: int, random: Random) -> Raw:
    if call.name == "edit":
        return {"type": "custom_tool_call", "call_id": call.id, "name": call.name, "input": call.arguments}
    id = {"id": f"fc_{step.number}_{n}", "status": "completed"} if random.random() < 0.7 else {}
    return {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments, **id}


def _output(answer: GeneratedResult, random: Random) -> Raw:
    kind = "custom_tool_call_output" if answer.name == "edit" else "function_call_output"
    status = {"status": "in_progress" if answer.text.startswith('{"status": "running') else "completed"}
    told = status if random.random() < 0.3 else {}
    return {"type": kind, "call_id": answer.id, "output": _text(answer, "input_text"), **told}


SHAPES: Mapping[str, Callable[[ScriptStep, Random], list[Raw]]] = MappingProxyType(
    {"openai": _chat, "anthropic": _anthropic, "gemini": _gemini, "openai-responses": _responses}
)
"""Writes one step as messages, by provider."""
