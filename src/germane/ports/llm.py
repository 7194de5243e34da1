"""LLM: the protocol for asking a language model one thing, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

__all__ = ["LLM", "Completion"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """`text` is the answer; where a schema was asked for, it should be one JSON document, which the caller checks. `model` is
    what the endpoint says that it used. Tokens are the endpoint's counts, or an estimate where it gives none."""

    text: str
    input_tokens: int
    output_tokens: int
    model: str


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
