"""Answer: what the endpoints' answers have in common: JSON of bounded length, counts of tokens, and the error for a status."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from germane.errors import LLMError
from germane.ports.llm import MAX_TOKENS

__all__ = ["failure", "max_bytes", "read_answer", "tokens"]

_HEADROOM, _PER_TOKEN = 65_536, 64
"""Bytes that an answer may have: in all, and for each token."""
_OF_ENDPOINT = frozenset({401, 402, 403, 404, 429})
"""Status codes that any request would get: a wrong key, no credit, an unknown model, a rate limit."""


def failure(message: str, status: int | None) -> LLMError:
    """Returns the error for an answer with this status (None: no answer)."""
    return LLMError(message, status=status, of_endpoint=status is None or status in _OF_ENDPOINT)


def max_bytes(max_tokens: int) -> int:
    """Returns how long an answer of that many tokens may be."""
    return _HEADROOM + _PER_TOKEN * max_tokens


def read_answer(body: bytes, host: str) -> Mapping[str, Any]:
    """Returns the JSON object of an answer. Raises `LLMError`."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        raise LLMError(f"the LLM at {host} answered something else than a JSON object")
    return answer


def tokens(usage: object, name: str) -> int:
    """Returns the count called `name` of an answer's `usage`; 0 where it is missing or no count."""
    count = usage.get(name) if isinstance(usage, Mapping) else None
    return count if isinstance(count, int) and not isinstance(count, bool) and 0 <= count < MAX_TOKENS else 0
