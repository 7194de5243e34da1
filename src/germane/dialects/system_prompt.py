"""System prompt: the caller's `system=`, in any provider's shape, as the system message that stands before all others.

The shapes are a string, a list of Anthropic's text blocks (which keep their `cache_control`), and Gemini's system instruction:
a dict with `parts`, or a list of parts. A list may hold strings.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from germane.dialects.envelope import mapping, type_name
from germane.dialects.gemini import Gemini
from germane.dialects.openai_chat import OpenAIChat
from germane.dialects.openai_responses import OpenAIResponses
from germane.errors import InvalidInput
from germane.types.limits import shown
from germane.types.message import system_text

__all__ = ["apart", "system_prompt"]


def system_prompt(system: object, provider: str) -> dict[str, Any] | None:
    """Returns the system message, in the shape that `system` has, else in that of `provider`; None where `system` is None or
    holds no text. Raises `InvalidInput` naming the part that can't be used."""
    if system is None or isinstance(system, str):
        return {"role": "system", "content": system} if system and system.strip() else None
    fields = None if isinstance(system, list | tuple) else mapping(system)
    given = system if fields is None else fields.get("parts", [fields])
    if isinstance(given, str):
        given = [given]
    if not isinstance(given, list | tuple):
        raise InvalidInput(f"system must be a string, a list of text blocks or {{'parts': […]}}, not {type_name(given)}")
    blocks = [_block(block, index) for index, block in enumerate(given)]
    if not any(block["text"].strip() for block in blocks):
        return None
    typed = any("type" in block for block in blocks)
    if not typed and (fields is not None or provider == Gemini.name or any(isinstance(block, Mapping) for block in given)):
        return {"role": "system", "parts": blocks}
    return {"role": "system", "content": [{"type": "text", **block} for block in blocks]}


def apart(message: Mapping[str, Any], provider: str) -> str | list[dict[str, Any]] | None:
    """Returns the content of a message that `system_prompt` made, for a provider that keeps the system prompt apart from the
    messages: as it is, or its text alone where it has another provider's shape. None for OpenAI's chat."""
    if provider == OpenAIChat.name:
        return None
    content = message.get("content", message.get("parts"))
    if provider == OpenAIResponses.name:
        return system_text(content)
    own = isinstance(content, str) or ("parts" in message) == (provider == Gemini.name)
    return content if own else system_text(content)


def _block(value: object, index: int) -> dict[str, Any]:
    """Returns a text block or part as a dict. Raises `InvalidInput` for anything but text."""
    block = {"text": value} if isinstance(value, str) else mapping(value)
    typed = "text" if block is None else block.get("type", "text")
    if block is None or typed != "text" or not isinstance(block.get("text"), str):
        kind = type_name(value) if block is None else "one without a text" if typed == "text" else shown(typed)
        raise InvalidInput(f"system[{index}] must be a text block, not {kind}: give {{'type': 'text', 'text': '…'}}")
    return dict(block)
