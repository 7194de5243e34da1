"""LLM argument: checks of `llm`, before anything is opened."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from germane.errors import InvalidInput
from germane.ports.llm import LLM, Completion

__all__ = ["LLMArgument", "check_llm", "is_llm"]

LLMArgument = str | LLM | Callable[[str], Awaitable[str | Completion]]
"""A name, an `LLM`, or a coroutine function from a prompt to the answer's text."""

_MEMBERS = ("name", "complete", "close")


def check_llm(llm: Any) -> None:
    """Raises `InvalidInput` that says what is wrong."""
    if llm is None or isinstance(llm, str) or is_llm(llm):
        return
    if isinstance(llm, type):
        raise InvalidInput(f"llm must be an object, not the class {llm.__name__}: write {llm.__name__}(…)")
    if not callable(llm):
        raise InvalidInput(f"llm must be a name, a coroutine function or an LLM, not {type(llm).__name__}")
    if not inspect.iscoroutinefunction(llm) and not inspect.iscoroutinefunction(getattr(llm, "__call__", None)):  # noqa: B004
        raise InvalidInput("llm is a function that blocks: write it as  async def")


def is_llm(llm: Any) -> bool:
    """Whether `llm` has the members of an `LLM`."""
    return not isinstance(llm, type) and all(hasattr(llm, name) for name in _MEMBERS)
