"""open_llm: opens a language model by the name that settings and the command line use."""

from __future__ import annotations

from collections.abc import Mapping

from germane.errors import InvalidInput, UnknownName
from germane.ports.llm import LLM

__all__ = ["open_llm"]

_OPENAI_URL, _ANTHROPIC_URL = "https://api.openai.com/v1", "https://api.anthropic.com"


def open_llm(name: str, access: Mapping[str, str]) -> LLM:
    """Returns the language model called `name`. `access` holds the addresses and keys by the names of the variables that the
    providers' own libraries use: OPENAI_BASE_URL, OPENAI_API_KEY, ANTHROPIC_BASE_URL, ANTHROPIC_API_KEY.

    Names are `openai:<model>`, `anthropic:<model>`, and the address of any OpenAI-compatible endpoint followed by `#` and the
    model, such as `http://localhost:11434/v1#llama3.2`; such an address gets no key unless OPENAI_BASE_URL is the same. Raises
    `UnknownName`, `InvalidInput`, and `MissingExtra` without aiohttp. Asks no endpoint anything.
    """
    from germane.llms.anthropic_messages import AnthropicMessages
    from germane.llms.chat_completions import ChatCompletions

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
        raise UnknownName(f"no LLM is called {name!r}: take 'openai:<model>', 'anthropic:<model>' or '<address>#<model>'")
    if not model.strip():
        raise InvalidInput(f"the LLM {name!r} names no model: write it after the colon, or after # where it is an address")
    return AnthropicMessages(address, model, key) if provider == "anthropic" else ChatCompletions(address, model, key)
