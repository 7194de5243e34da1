"""Prompt cache: how much of a prompt the provider has seen before at the same place, and why no more.

A prompt is written as bytes in the order in which a provider reads it: model, tools, system, messages. What counts as cached is
its longest common prefix with any earlier prompt, in steps of 64 bytes; four bytes are one token, and what is left of a step
isn't cached. Unlike a provider's, this cache has no least length, needs no marks and never expires, so that a test measures
which part of a prompt's prefix was kept. A mark (`cache_control`, `prompt_cache_breakpoint`) is no part of the prompt. The time
is linear in the prompt, whatever came before.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final

__all__ = ["BYTES_PER_TOKEN", "Prompt", "PromptCache", "Seen", "canonical", "unmarked"]

BYTES_PER_TOKEN: Final = 4
_STEP: Final = 64
_MARKS = frozenset({"cache_control", "prompt_cache_breakpoint"})


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model reads: `options` are the other fields that a provider compares, by their names."""

    model: str
    tools: Any
    system: Any
    messages: Sequence[Any]
    options: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Seen:
    """The tokens of a prompt, those of them that were cached, and what changed since the prompt that the request named."""

    tokens: int
    cached: int
    change: str = ""
    """Empty where the named prompt is a prefix; "unknown" where no prompt of that name was kept; else the name of what differs:
    `model`, `tools`, `system`, `messages`, or that of an option."""
    missed: int = 0
    """The tokens of the named prompt that aren't in front of this one."""


@dataclass(frozen=True, slots=True)
class _Kept:
    prompt: Prompt
    marks: tuple[bytes, ...]
    steps: tuple[bytes, ...]
    tokens: int


class PromptCache:
    """All prompts so far, and those that were kept under the id of their answer."""

    __slots__ = ("_kept", "_steps")

    def __init__(self) -> None:
        self._steps: set[bytes] = set()
        self._kept: dict[str, _Kept] = {}

    def read(self, prompt: Prompt, id: str, compared: str | None = None) -> Seen:
        """Returns what was seen of `prompt`, keeps it under `id`, and compares it with the prompt kept under `compared`."""
        pieces = [canonical(piece) for piece in (prompt.model, prompt.tools, prompt.system)]
        pieces += [canonical(unmarked(message)) for message in prompt.messages]
        whole = b"\n".join(pieces)
        steps = tuple(_chain(whole))
        cached = next((index for index, step in enumerate(steps) if step not in self._steps), len(steps))
        self._steps.update(steps)
        tokens = -(-len(whole) // BYTES_PER_TOKEN)
        kept = _Kept(prompt, tuple(_digests(pieces[3:])), steps, tokens)
        change, missed = self._compared(kept, compared)
        self._kept[id] = kept
        return Seen(tokens, cached * _STEP // BYTES_PER_TOKEN, change, missed)

    def _compared(self, now: _Kept, compared: str | None) -> tuple[str, int]:
        if compared is None:
            return "", 0
        before = self._kept.get(compared)
        if before is None:
            return "unknown", 0
        one, other = before.prompt, now.prompt
        pairs = [("model", one.model, other.model), ("tools", one.tools, other.tools), ("system", one.system, other.system)]
        options = dict(other.options)
        pairs += [(name, value, options.get(name)) for name, value in one.options]
        change = next((name for name, first, second in pairs if unmarked(first) != unmarked(second)), "")
        if not change and before.marks != now.marks[: len(before.marks)]:
            change = "messages"
        same = next((i for i, (a, b) in enumerate(zip(before.steps, now.steps, strict=False)) if a != b), len(before.steps))
        return change, max(1, before.tokens - same * _STEP // BYTES_PER_TOKEN) if change else 0


def canonical(value: Any) -> bytes:
    """Returns the JSON of a value, the same for the same value whatever the order of its keys."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")


def unmarked(value: Any) -> Any:
    """Returns a copy of a block, message or list of these without the marks of the prompt cache, and without fields that are
    null: to leave a field out is the same. What a tool is called with stays as it is."""
    if isinstance(value, list):
        return [unmarked(item) for item in value]
    if isinstance(value, dict):
        kept = {key: item for key, item in value.items() if key not in _MARKS and item is not None}
        return {key: item if key == "input" else unmarked(item) for key, item in kept.items()}
    return value


def _chain(whole: bytes) -> Iterator[bytes]:
    """A digest for each whole step of the bytes, of all bytes up to there."""
    digest = b""
    for start in range(0, len(whole) - _STEP + 1, _STEP):
        digest = blake2b(digest + whole[start : start + _STEP], digest_size=16).digest()
        yield digest


def _digests(pieces: Sequence[bytes]) -> Iterator[bytes]:
    return (blake2b(piece, digest_size=16).digest() for piece in pieces)
