"""Long talk: conversations of a coding agent, of any length and in any provider's shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from germane.dialects.registry import dialect
from germane.types.message import Message, Text, ToolCall, ToolResult

__all__ = ["in_shape", "long_talk", "tool_turns"]


def tool_turns(number: int, calls: int = 1, *, words: int = 40) -> list[Message]:
    """One exchange: the user asks, the assistant calls a tool so many times, and answers."""
    turns = [Message.of("user", f"Please look at file a{number}.py and tell me what it does.")]
    for call in range(calls):
        id = f"call_{number}_{call}"
        parts = (ToolCall(id=id, name="read_file", arguments=f'{{"path": "src/a{number}.py", "part": {call}}}'),)
        turns.append(Message(role="assistant", parts=parts))
        text = f"line {number}.{call} of the file, " * words
        turns.append(Message(role="tool", parts=(ToolResult(call_id=id, name="read_file", text=text),)))
    turns.append(Message(role="assistant", parts=(Text(f"File a{number}.py holds part {number} of the parser."),)))
    return turns


def long_talk(exchanges: int, calls: int = 1, *, words: int = 40) -> list[Message]:
    """A system message and so many exchanges."""
    talk = [Message.of("system", "You are a careful engineer.")]
    return talk + [turn for number in range(exchanges) for turn in tool_turns(number, calls, words=words)]


def in_shape(talk: Sequence[Message], provider: str) -> list[dict[str, Any]]:
    """The conversation as dicts of the provider's, without a system prompt that stands apart."""
    return dialect(provider).render([message for message in talk if provider == "openai" or message.role != "system"]).messages
