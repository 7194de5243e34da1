"""ScriptedLLM: a language model for tests whose answers a test defines; it keeps what it was asked."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from germane.errors import LLMError
from germane.ports.models import Completion

__all__ = ["ScriptedLLM", "entry", "listed"]

_TURN = re.compile(r'^\{"id": .*\}$', re.MULTILINE)

Answer = str | LLMError | Exception | Callable[[str], Awaitable[str]]


def entry(text: str, *sources: str, kind: str = "preference", **fields: Any) -> dict[str, Any]:
    """One entry of an answer, from the first message unless told."""
    return {
        "kind": kind,
        "key": None,
        "text": text,
        "sources": list(sources or ("m1",)),
        "confidence": 0.7,
        "sensitive": False,
        **fields,
    }


def listed(*entries: Mapping[str, Any]) -> str:
    """An answer that lists these entries."""
    return json.dumps({"memories": list(entries)})


class ScriptedLLM:
    """Gives the answers of `script`, in turn, and then `always`; an exception is raised. `prompts` and `systems` are what it
    was asked. Each answer costs 100 tokens in and 20 out."""

    name = "test:model"

    def __init__(self, *script: Answer, always: Answer = '{"memories": []}') -> None:
        self.script, self.always = list(script), always
        self.prompts: list[str] = []
        self.systems: list[str] = []
        self.closed = False

    async def complete(
        self, system: str, prompt: str, *, max_tokens: int, schema: Mapping[str, Any] | None = None
    ) -> Completion:
        self.systems.append(system)
        self.prompts.append(prompt)
        answer = self.script.pop(0) if self.script else self.always
        if isinstance(answer, Exception):
            raise answer
        text = answer if isinstance(answer, str) else await answer(prompt)
        return Completion(text=text, input_tokens=100, output_tokens=20, model="model-1")

    async def close(self) -> None:
        self.closed = True

    def turns(self, call: int = -1) -> list[dict[str, Any]]:
        """The messages of one prompt, without those that are context."""
        return [json.loads(line) for line in _TURN.findall(self.prompts[call])]
