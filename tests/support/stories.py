"""Stories: a recorded conversation in which one message answers one question, for the tests of whole flows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from germane import Agent, Context
from germane.types.candidate import Chosen

__all__ = ["ASKED", "MODELS", "QUESTION", "TALK", "ask", "ids", "texts", "told"]

TALK: list[dict[str, Any]] = [
    {"id": "m1", "role": "user", "name": "Caroline", "content": "I adopted a greyhound called Biscuit last week."},
    {"id": "m2", "role": "assistant", "content": "How lovely! How is he settling in?"},
    {"id": "m3", "role": "user", "name": "Caroline", "content": "He sleeps all day, but the neighbours' cat scares him."},
    {"id": "m4", "role": "assistant", "content": "Greyhounds are gentle. Give him a quiet corner of his own."},
]
QUESTION = "What is my greyhound called?"
ASKED: list[dict[str, Any]] = [{"role": "user", "content": QUESTION}]
MODELS = {"openai": "gpt-4o", "anthropic": "claude-sonnet-4-5", "gemini": "gemini-2.5-flash"}


async def told(agent: Agent, talk: list[dict[str, Any]] | None = None, *, session: str = "s1") -> Agent:
    await agent.record(TALK if talk is None else talk, session=session)
    return agent


async def ask(agent: Agent, question: str = QUESTION, **options: Any) -> Context:
    """Assembles for `question` in a new session, without a deadline unless `options` give one."""
    given: dict[str, Any] = {"model": "gpt-4o", "session": "s2", "deadline": None}
    return await agent.assemble([{"role": "user", "content": question}], **given | options)


def texts(context: Context) -> list[str]:
    return [item.text for item in context.items]


def ids(context: Context, of: Callable[[Chosen], object] = lambda item: item.provenance.message_id) -> list[object]:
    """The caller's message ids of the injected items, in rendered order."""
    return [of(item) for item in context.items]
