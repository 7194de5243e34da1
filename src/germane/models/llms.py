"""LLMs: the language model for a name that settings and the command line use, or for a caller's function.

The function of a `FunctionLLM` is async: it takes a prompt and returns a text.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from germane.errors import InvalidInput, LLMError, UnknownName
from germane.ports.models import LLM, Completion

_OPENAI_URL, _ANTHROPIC_URL = "https://api.openai.com/v1", "https://api.anthropic.com"


def open_llm(name: str, access: Mapping[str, str]) -> LLM:
    """Returns the language model called `name`. `access` holds the addresses and keys by the names of the variables that the
    providers' own libraries use: OPENAI_BASE_URL, OPENAI_API_KEY, ANTHROPIC_BASE_URL, ANTHROPIC_API_KEY.

    Names are `openai:<model>`, `anthropic:<model>`, and the address of any OpenAI-compatible endpoint followed by `#` and the
    model, such as `http://localhost:11434/v1#llama3.2`; such an address gets no key unless OPENAI_BASE_URL is the same. Raises
    `UnknownName`, `InvalidInput`, and `MissingExtra` without aiohttp. Asks no endpoint anything.
    """
    from germane.models.llm_endpoints import AnthropicMessages, ChatCompletions

    provider, _, model = name.partition(":")
    if name.startswith(("http://", "https://")):
        address, _, model = name.partition("#")
        own = address.rstrip("/") == access.get("OPENAI_BASE_URL", "").rstrip("/")
        provider, key = "openai", access.get("OPENAI_API_KEY") if own else None
    elif provider == "openai":
        address, key = access.get("OPENAI_BASE_URL") or _OPENAI_URL, access.get("OPENAI_API_KEY")
    elif provider == "anthropic":
        address, key = access.get("ANTHROPIC_BASE_URL") or _ANTHROPIC_URL, access.get("ANTHROPIC_API_KEY")
    else:
        raise UnknownName(
            "no LLM is called {}", name, advice="take 'openai:<model>', 'anthropic:<model>' or '<address>#<model>'"
        )
    if not model.strip():
        raise InvalidInput(
            "the LLM {} names no model", name, advice="write it after the colon, or after # where it is an address"
        )
    return AnthropicMessages(address, model, key) if provider == "anthropic" else ChatCompletions(address, model, key)


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
