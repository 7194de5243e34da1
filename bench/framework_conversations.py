"""Framework conversations: generated conversations with tools as agents keep them, broken ones included, for three frameworks."""

from __future__ import annotations

import json
from random import Random
from typing import Any

__all__ = ["as_items", "as_pydantic", "conversation"]

_WORDS = [
    "parcel",
    "vase",
    "order",
    "invoice",
    "path",
    "error",
    "retry",
    "token",
    "table",
    "index",
    "customer",
    "Leeds",
    "Monday",
    "build",
    "test",
    "green",
    "red",
]
_SYSTEM = "You sell vases. Answer in one sentence."


def conversation(seed: int, *, longest: int = 300) -> list[dict[str, Any]]:
    """A conversation in the shape of the chat API, of 1 to about `longest` messages, whose last message is the user's. One in
    three has a fault: a call without its result, a result without its call, an id used twice, results that were cut off, or an
    empty message, as they stand in histories that were cut, merged or broken off."""
    random = Random(seed)
    out: list[dict[str, Any]] = [{"role": "system", "content": _SYSTEM}] if random.random() < 0.7 else []
    broken = random.random() < 1 / 3
    number = 0
    for _ in range(int(longest ** random.random()) // 4):
        out.append({"role": "user", "content": _said(random, 40)})
        for _ in range(random.choice((0, 0, 1, 1, 2, 4))):
            calls = []
            for _ in range(random.choice((1, 1, 1, 2, 3, 6))):
                number += 1
                id = f"call_{number - random.choice((0, 0, 0, 5)) * broken}"
                calls.append({"id": id, "type": "function", "function": {"name": "order", "arguments": _arguments(random)}})
            out.append(
                {"role": "assistant", "content": _said(random, 20) if random.random() < 0.3 else "", "tool_calls": calls}
            )
            results = [{"role": "tool", "tool_call_id": call["id"], "content": _output(random)} for call in calls]
            random.shuffle(results)
            if broken and random.random() < 0.1:
                del results[random.randrange(len(results)) :]
            out += results
            if broken and random.random() < 0.05:
                out.append({"role": "tool", "tool_call_id": f"lost_{number}", "content": _output(random)})
        if random.random() < 0.9:
            out.append({"role": "assistant", "content": "" if broken and random.random() < 0.1 else _said(random, 30)})
    if broken and len(out) > 3 and random.random() < 0.3:
        del out[: random.randrange(3)]
    out.append({"role": "user", "content": f"And now {seed}? {_said(random, 10)}"})
    return out


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
        for call in message.get("tool_calls") or ():
            out.append({"type": "function_call", "call_id": call["id"], **call["function"]})
    return out


def as_pydantic(messages: list[dict[str, Any]]) -> list[Any]:
    """The conversation as messages of Pydantic AI."""
    from pydantic_ai import messages as pydantic

    out: list[Any] = []
    names: dict[str, str] = {}
    for message in messages:
        if message["role"] == "assistant":
            calls = [
                pydantic.ToolCallPart(call["function"]["name"], call["function"]["arguments"], call["id"])
                for call in message.get("tool_calls") or ()
            ]
            names |= {call.tool_call_id: call.tool_name for call in calls}
            text = [pydantic.TextPart(message["content"])] if message["content"] else []
            out.append(pydantic.ModelResponse(parts=[*text, *calls], model_name="gpt-5.4", provider_name="openai"))
            continue
        match message["role"]:
            case "system":
                part: Any = pydantic.SystemPromptPart(message["content"])
            case "tool":
                id = message["tool_call_id"]
                part = pydantic.ToolReturnPart(names.get(id, "order"), message["content"], id)
            case _:
                part = pydantic.UserPromptPart(message["content"])
        if out and isinstance(out[-1], pydantic.ModelRequest):
            out[-1].parts = [*out[-1].parts, part]
        else:
            out.append(pydantic.ModelRequest(parts=[part]))
    return out


def _said(random: Random, most: int) -> str:
    return " ".join(random.choices(_WORDS, k=random.randint(1, most))) + "."


def _output(random: Random) -> str:
    return "\n".join(_said(random, 12) for _ in range(random.choice((1, 3, 10, 40, 100))))


def _arguments(random: Random) -> str:
    return json.dumps({"item": random.choice(_WORDS), "note": _said(random, 8)}) if random.random() < 0.95 else "{broken"
