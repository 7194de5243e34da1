"""Framework conversations: generated conversations as agents of three frameworks keep them, broken ones included."""

from __future__ import annotations

from random import Random
from typing import Any

from germane_testing.conversations import ODDITIES, generated

__all__ = ["as_items", "as_pydantic", "conversation"]

_NOT_THEIRS = ("foreign", "media", "opaque", "unfit names")
"""What no history of these frameworks holds: other providers' shapes, and names that the framework would send as they are.
Media and opaque items are in the tests of each adapter, as each framework writes them in a way of its own."""
_NO_ID = "call_without_id"
"""Pydantic AI makes an id up where there is none, another one for the result: so a history of its own never has an empty id."""
_LONGEST = 1_000
"""Messages: the frameworks take as long for those beyond as germane does."""


def conversation(seed: int) -> list[dict[str, Any]]:
    """A conversation of `germane_testing.conversations` in the shape of the chat API, whose last message is the user's: calls
    nested, parallel, orphaned, interleaved and with ids used twice, what a broken stream has left, huge and hostile texts."""
    random = Random(seed)
    rates = {name: random.random() for name in ODDITIES if name not in _NOT_THEIRS and random.random() < 0.3}
    out = [_encodable(message) for message in generated(seed, "openai", messages=(1, _LONGEST), oddities=rates).messages]
    return [*out, {"role": "user", "content": f"And now, in the case of {seed}?"}]


def _encodable(value: Any) -> Any:
    """The value without lone surrogates, which no client can send."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {key: _encodable(each) for key, each in value.items()}
    return [_encodable(each) for each in value] if isinstance(value, list) else value


def as_items(messages: list[dict[str, Any]], random: Random) -> list[dict[str, Any]]:
    """The conversation as items of the Responses API, with reasoning before some answers and calls."""
    out: list[dict[str, Any]] = []
    for number, message in enumerate(messages):
        if message["role"] == "tool":
            out.append({"type": "function_call_output", "call_id": message["tool_call_id"], "output": message["content"]})
            continue
        if message["role"] == "assistant" and random.random() < 0.5 and (message["content"] or message.get("tool_calls")):
            out.append({"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": "opaque" * 20})
        if message["content"]:
            out.append({"role": message["role"], "content": message["content"]})
        calls = message.get("tool_calls") or ()
        out += [{"type": "function_call", "call_id": call["id"], **call["function"]} for call in calls]
    return out


def as_pydantic(messages: list[dict[str, Any]]) -> list[Any]:
    """The conversation as messages of Pydantic AI."""
    from pydantic_ai import messages as pydantic

    out: list[Any] = []
    names: dict[str, str] = {}
    for message in messages:
        if message["role"] == "assistant":
            calls = [
                pydantic.ToolCallPart(call["function"]["name"], call["function"]["arguments"], call["id"] or _NO_ID)
                for call in message.get("tool_calls") or ()
            ]
            names |= {call.tool_call_id: call.tool_name for call in calls}
            text = [pydantic.TextPart(message["content"])] if message["content"] else []
            out.append(pydantic.ModelResponse(parts=[*text, *calls], model_name="gpt-5.4", provider_name="openai"))
            continue
        match message["role"]:
            case "system" | "developer":
                part: Any = pydantic.SystemPromptPart(message["content"])
            case "tool":
                id = message["tool_call_id"] or _NO_ID
                part = pydantic.ToolReturnPart(names.get(id, "order"), message["content"], id)
            case _:
                part = pydantic.UserPromptPart(message["content"])
        if out and isinstance(out[-1], pydantic.ModelRequest):
            out[-1].parts = [*out[-1].parts, part]
        else:
            out.append(pydantic.ModelRequest(parts=[part]))
    return out
