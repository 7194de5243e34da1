"""Agents: the compaction session of the OpenAI Agents SDK, turn by turn, with a stand-in for `responses.compact`.

OpenAI's server returns the user's messages as they were, and one encrypted item that stands for everything else. The stand-in
does the same: the item holds the stand-in's summary of what isn't the user's, with the item before it, readable.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from agents import SessionABC
from agents.memory import OpenAIResponsesCompactionSession

from bench.compactors.stand_in import StandIn
from germane.dialects.registry import dialect, parse_all

__all__ = ["compacted_session"]


def compacted_session(
    messages: Sequence[dict[str, Any]], budget: int, count: Callable[[str], int], stand_in: StandIn, *, defaults: bool
) -> tuple[list[dict[str, Any]], int]:
    """The items of the session after the last turn, and how often it was compacted. With `defaults` that is whenever ten items
    aren't the user's; else when the budget is exceeded."""
    server = _Server(stand_in, count)
    beyond = None if defaults else (lambda context: count(json.dumps(context["session_items"])) > budget)
    client: Any = SimpleNamespace(responses=server)
    session = OpenAIResponsesCompactionSession("one", _InMemory(), client=client, should_trigger_compaction=beyond)

    async def replayed() -> list[Any]:
        turn: list[Any] = []
        for message in messages:
            if message["role"] == "user" and turn:
                await session.add_items(turn)
                await session.run_compaction({"compaction_mode": "input"})
                turn = []
            turn += (
                dialect("openai-responses").render(parse_all([message])).messages
                if message["role"] != "tool"
                else [_output(message)]
            )
        await session.add_items(turn)
        return list(await session.get_items())

    return asyncio.run(replayed()), server.times


def _output(message: dict[str, Any]) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": message["tool_call_id"], "output": message["content"]}


class _InMemory(SessionABC):
    """A session that keeps its items in a list."""

    def __init__(self) -> None:
        self.session_id = "one"
        self._items: list[Any] = []

    async def get_items(self, limit: int | None = None) -> list[Any]:
        return list(self._items if limit is None else self._items[-limit:])

    async def add_items(self, items: list[Any]) -> None:
        self._items += items

    async def pop_item(self) -> Any:
        return self._items.pop() if self._items else None

    async def clear_session(self) -> None:
        self._items = []


class _Server:
    """In the place of OpenAI's server."""

    def __init__(self, stand_in: StandIn, count: Callable[[str], int]) -> None:
        self._stand_in, self._count, self.times = stand_in, count, 0

    async def compact(self, *, model: str, input: list[Any]) -> Any:
        self.times += 1
        users = [item for item in input if item.get("role") == "user"]
        others = [_readable(item) for item in input if item.get("role") != "user"]
        text = self._stand_in("\n".join(others), self._count)
        return SimpleNamespace(output=[*users, {"type": "compaction", "id": f"cmp_{self.times}", "encrypted_content": text}])


def _readable(item: dict[str, Any]) -> str:
    match item.get("type"):
        case "function_call":
            return f"{item['name']}({item['arguments']})"
        case "function_call_output":
            return str(item["output"])
        case "compaction":
            return str(item["encrypted_content"])
    content = item.get("content")
    return content if isinstance(content, str) else " ".join(str(part.get("text", "")) for part in content or ())
