"""Conversations: random conversations with everything that real ones have and should not have, the same for the same seed.

Calls nested, parallel, orphaned, interleaved and under ids used twice, what a broken stream has left, system messages in the
middle, images and documents, the providers' own signed items, huge outputs, hostile text and results that are pending: for
tests of code that shortens, stores or sends conversations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from germane.dialects.registry import dialect
from germane.errors import InvalidInput
from germane.testing.conversation_script import ODDITIES, script
from germane.testing.conversation_shapes import SHAPES

__all__ = ["GeneratedConversation", "generated"]

_SCALE = 10
_TAIL = 0.9
"""The length is the least and `_SCALE * (u ** -_TAIL - 1)`, u even between 0 and 1: half have at most 10 messages, one in a
hundred more than 600, and one in a thousand 5,000."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedConversation:
    """`messages` are the provider's dicts, `system` the system prompt that stands apart, None where there is none. `max_tokens`
    is a budget between tiny and larger than the conversation. `oddities` are the rates of what was done to it."""

    provider: str
    messages: list[dict[str, Any]]
    system: Any
    max_tokens: int
    oddities: Mapping[str, float]

    def __repr__(self) -> str:
        odd = ", ".join(self.oddities) or "plain"
        return f"<GeneratedConversation {self.provider}, {len(self.messages)} messages, {self.max_tokens} tokens, {odd}>"


def generated(
    seed: int | str, provider: str, *, messages: tuple[int, int] = (1, 5000), oddities: Mapping[str, float] | None = None
) -> GeneratedConversation:
    """Returns the conversation of this seed, in the provider's shape, with a number of messages between both (most are short, a
    few are as long as they may be).

    `oddities` gives the rates, from 0 to 1, of what `ODDITIES` names; without it they are random, and a quarter of all
    conversations has none. Raises `UnknownName` for an unknown provider, `InvalidInput` for other bounds or names."""
    dialect(provider)
    least, most = messages
    if not 1 <= least <= most:
        raise InvalidInput(f"messages must be two numbers from 1 on, not {messages!r}")
    if unknown := set(oddities or ()) - set(ODDITIES):
        raise InvalidInput(f"unknown oddities: {', '.join(sorted(map(str, unknown)))}")
    random = Random(f"{provider} {seed}")
    rates = _rates(random) if oddities is None else dict(oddities)
    length = min(most, least + int(_SCALE * ((1 - random.random()) ** -_TAIL - 1)))
    others = [name for name in SHAPES if name != provider]
    written: list[dict[str, Any]] = []
    for step in script(random, length, rates):
        shape = SHAPES[random.choice(others) if step.foreign else provider]
        written += shape(step, random)
        if len(written) >= length:
            break
    system = random.choice((None, None, "You are kind.")) if provider != "openai" else None
    tokens = 10 + sum(len(str(message)) for message in written[:length]) // 5
    budget = int(max(16, tokens * random.choice((0.02, 0.1, 0.3, 0.6, 0.9, 1.5)) + random.randrange(300)))
    return GeneratedConversation(provider=provider, messages=written[:length], system=system, max_tokens=budget, oddities=rates)


def _rates(random: Random) -> dict[str, float]:
    if random.random() < 0.25:
        return {}
    return {name: round(random.random(), 3) for name in ODDITIES if random.random() < 0.4}
