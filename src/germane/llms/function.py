"""FunctionLLM: a plain async function as a language model: it takes a prompt and returns a text."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from germane.errors import LLMError
from germane.ports.llm import Completion

__all__ = ["FunctionLLM"]

_CHARACTERS_PER_TOKEN = 4
"""For the estimate of what a function costs, which tells only text."""


class FunctionLLM:
    """Calls `await function(prompt)`, where the prompt begins with the instructions. The function returns the answer's text, or
    a `Completion` with its own counts; of a text the tokens are estimated, four characters each."""

    def __init__(self, function: Callable[[str], Awaitable[str | Completion]], *, model: str | None = None) -> None:
        self._function = function
        self._model = model or getattr(function, "__qualname__", None) or type(function).__qualname__
        self.name = f"function:{self._model}"

    async def complete(
        self, system: str, prompt: str, *, max_tokens: int, schema: Mapping[str, Any] | None = None
    ) -> Completion:
        asked = f"{system}\n\n{prompt}"
        try:
            answer = await self._function(asked)
        except Exception as error:
            raise LLMError(f"the LLM {self.name} raised {type(error).__name__}") from error
        if isinstance(answer, Completion):
            return answer
        if not isinstance(answer, str):
            raise LLMError(f"the LLM {self.name} returned {type(answer).__name__}, not a text")
        return Completion(text=answer, input_tokens=_tokens(asked), output_tokens=_tokens(answer), model=self._model)

    async def close(self) -> None:
        """There is nothing to release: the function is the caller's."""

    def __repr__(self) -> str:
        return f"<FunctionLLM {self._model}>"


def _tokens(text: str) -> int:
    return -(-len(text) // _CHARACTERS_PER_TOKEN)
