"""LLM: the protocol for asking a language model one thing, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from germane.errors import InvalidInput

__all__ = ["LLM", "MAX_TOKENS", "Completion"]

MAX_TOKENS = 1 << 40
"""A count of tokens from here on is a fault of whoever counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """`text` is the answer; where a schema was asked for, it should be one JSON document, which the caller checks. `model` is
    what the endpoint says that it used. Tokens are the endpoint's counts, or an estimate where it gives none. Raises
    `InvalidInput` for a text that is none, and for counts that can't be."""

    text: str
    input_tokens: int
    output_tokens: int
    model: str

    def __post_init__(self) -> None:
        counts = (self.input_tokens, self.output_tokens)
        if not all(isinstance(count, int) and 0 <= count < MAX_TOKENS for count in counts):
            raise InvalidInput("a completion's tokens must be whole numbers from 0 on")
        if not all(isinstance(text, str) for text in (self.text, self.model)):
            raise InvalidInput("a completion's text and model must be texts")


class LLM(Protocol):
    """A language model behind an endpoint or a function. Implementations raise no error but `LLMError`, whose message holds
    neither the prompt nor the answer."""

    @property
    def name(self) -> str:
        """Provider and model, such as `openai:gpt-4o-mini`."""

    async def complete(
        self, system: str, prompt: str, *, max_tokens: int, schema: Mapping[str, Any] | None = None
    ) -> Completion:
        """Returns the answer to `prompt` under the instructions `system`, of at most `max_tokens` tokens. `schema` is a JSON
        schema that the answer should have. Raises `LLMError`, also for an answer that was cut off or refused."""

    async def close(self) -> None:
        """Releases connections. Idempotent."""
