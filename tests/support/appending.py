"""Appending: a session that is asked turn by turn with the placement `append`, for the tests of INJECT-6."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from germane import Agent, Context
from germane.api.strategies import COMPACT, VERBOSE
from germane.dialects.registry import dialect
from germane.types.message import Message, Wire
from germane.types.strategy import Strategy

__all__ = ["APPEND", "APPEND_XML", "FACTS", "QUESTIONS", "Chat", "prefix", "prompt"]

APPEND = replace(COMPACT, name="append", placement="append", floor=0.05)
APPEND_XML = replace(VERBOSE, name="append-xml", placement="append", floor=0.05)
"""The floor keeps what a question isn't about for the question that is about it."""
FACTS = ["Caroline's greyhound is called Biscuit", "Caroline adores oolong tea", "Caroline plays the cello on Fridays"]
QUESTIONS = ["What is my greyhound called?", "Which tea do I adore?", "Which instrument do I play, the cello?"]


class Chat:
    """One session as its caller keeps it: `history` holds the caller's own messages alone."""

    def __init__(self, agent: Agent, session: str | None = "s", strategy: Strategy = APPEND, **options: Any) -> None:
        self.agent, self.session, self.strategy = agent, session, strategy
        self.options: dict[str, Any] = {"model": "gpt-4o", "deadline": None} | options
        self.history: list[dict[str, Any]] = []

    async def say(self, text: str, answer: str = "") -> Context:
        """Adds a turn, assembles, and adds the answer (by default one that repeats the turn)."""
        self.history.append({"role": "user", "content": text})
        context = await self.send()
        self.history.append({"role": "assistant", "content": answer or f"You asked: {text}"})
        return context

    async def send(self, messages: Sequence[Mapping[str, Any]] | None = None, **options: Any) -> Context:
        given = self.options | {"session": self.session, "strategy": self.strategy} | options
        context = await self.agent.assemble(self.history if messages is None else messages, **given)
        wire = Wire(messages=context.messages, system=context.system if context.provider != "openai" else None)  # type: ignore[arg-type]
        assert dialect(context.provider).problems(wire) == ()
        assert context.trace.budget is not None
        assert context.metadata.total_tokens_injected <= context.trace.budget.available
        return context


def prompt(context: Context) -> list[str]:
    """The prompt as the provider reads it: system text, then each message in parts, one string each, without cache marks."""
    system = [] if context.provider == "openai" else [_plain({"role": "system", "content": context.system})]
    return [*system, *(text for message in context.messages for text in _parts(message))]


def prefix(before: Context, after: Context) -> bool:
    """Whether the prompt before is the beginning of the prompt after."""
    one, two = prompt(before), prompt(after)
    return one == two[: len(one)]


def _parts(message: Mapping[str, Any] | Message) -> list[str]:
    assert not isinstance(message, Message)
    content = message.get("content", message.get("parts"))
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    return [_plain({"role": message["role"], "part": part}) for part in parts]


def _plain(value: Any) -> str:
    def unmarked(one: Any) -> Any:
        if isinstance(one, Mapping):
            return {key: unmarked(each) for key, each in one.items() if key not in ("cache_control", "type")}
        return [unmarked(each) for each in one] if isinstance(one, list) else one

    return json.dumps(unmarked(value), sort_keys=True)
