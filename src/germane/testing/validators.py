"""Validators: whether a provider would take a conversation, and whether a compaction has kept what it must (HIST-4, HIST-5).

For tests of applications and of other compactors. The rules are those of `dialects`, which every request of germane's fulfils,
and those of `compaction_rules`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from germane.dialects.anthropic_turns import THINKING
from germane.dialects.envelope import mapping
from germane.dialects.fault import RULES as REQUEST_RULES
from germane.dialects.registry import dialect
from germane.testing.compaction_rules import COMPACTION_RULES, broken
from germane.types.message import Message, Wire

__all__ = ["RULES", "Violation", "validate", "validate_against"]

_THINKING_FIRST = "thinking-first"
_MESSAGE_TYPE = "message-type"
RULES: Mapping[str, str] = {
    **REQUEST_RULES,
    **COMPACTION_RULES,
    _MESSAGE_TYPE: "Each message is a dict.",
    _THINKING_FIRST: "With extended thinking, the current turn's first message of the assistant's begins with thinking.",
}
"""All rules, by name, as a sentence that a valid conversation fulfils."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A rule that is broken, a key of `RULES`. `index` is the message's, None where it is the whole conversation's. `message`
    says what is wrong."""

    rule: str
    index: int | None
    message: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.message}"


def validate(
    messages: Sequence[Mapping[str, Any]], provider: str, *, system: Any = None, thinking: bool = False
) -> tuple[Violation, ...]:
    """Returns why the provider's API would refuse the messages; empty where it takes them. `provider` is `openai`, `anthropic`,
    `gemini` or `openai-responses`. `system` is the system prompt that stands apart, as that API takes it.

    `thinking` says that the request asks for Anthropic's extended thinking with a budget, which demands that the current turn
    begins with thinking where it has called a tool. Raises `UnknownName` for another provider."""
    one = dialect(provider)
    read = [mapping(message) for message in messages]
    if None in read:
        index = read.index(None)
        text = f"message {index} is {type(messages[index]).__name__}"
        return (Violation(rule=_MESSAGE_TYPE, index=index, message=text),)
    wire = Wire(messages=[dict(message) for message in read if message is not None], system=system)
    found = [Violation(rule=fault.rule, index=fault.index, message=fault.text) for fault in one.faults(wire)]
    return (*found, *(_thinking_first(wire.messages) if thinking and provider == "anthropic" else ()))


def validate_against(
    original: Sequence[Mapping[str, Any] | Message],
    messages: Sequence[Mapping[str, Any]],
    provider: str,
    *,
    system: Any = None,
) -> tuple[Violation, ...]:
    """Returns what `messages`, a compaction of `original`, has lost or changed that it must not: the user's last words, leading
    system messages, open calls, a call or its result without the other, and anything that the provider signed. Whether the API
    takes them is `validate`'s. Raises `InvalidInput` for messages that can't be read, `UnknownName` for another provider."""
    found = broken(original, messages, dialect(provider), system)
    return tuple(Violation(rule=rule, index=index, message=text) for rule, index, text in found)


def _thinking_first(messages: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
    first: int | None = None
    called = False
    for index in range(len(messages) - 1, -1, -1):
        blocks = _blocks(messages[index])
        if messages[index].get("role") == "assistant":
            first = index
            called = called or any(block.get("type") == "tool_use" for block in blocks)
        elif any(block.get("type") != "tool_result" for block in blocks):
            break
    if first is not None and called:
        kind = next((block.get("type") for block in _blocks(messages[first])), None)
        if kind not in THINKING:
            text = f"message {first}: the turn that called a tool begins with {kind}, not with thinking"
            yield Violation(rule=_THINKING_FIRST, index=first, message=text)


def _blocks(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [mapping(block) or {} for block in content] if isinstance(content, list | tuple) else []
