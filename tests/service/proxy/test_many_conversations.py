"""Many conversations at once, over two workers: each is one session, and its messages are stored once (PROXY-1, PROXY-4)."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from germane import Clock
from support.calendar import Opening
from support.examples import whole
from support.proxied_turns import ProxiedTurns, assistant, chat_answer, human, made_call, proxied

pytestmark = [pytest.mark.requirement("PROXY-1", "PROXY-4"), pytest.mark.soak]
Fields = dict[str, Any]


class Conversation:
    """A made conversation: with tools or with the last messages alone, named or not, with one worker or with either."""

    def __init__(self, number: int, dice: random.Random) -> None:
        self.number, self.dice = number, dice
        self.history, self.sessions, self.said = list[Fields](), set[str](), Counter[str]()
        self.named = dice.choice([None, None, f"shared {number % 2}"])
        self.steps, self.window = dice.choice([(3, None), (0, 6), (0, 9), (0, None)])
        self.moves = dice.random() < 0.5

    async def held(self, workers: tuple[ProxiedTurns, ProxiedTurns]) -> None:
        for turn in range(self.dice.randint(1, 8)):
            self._say(human(f"question {self.number}.{turn}"))
            steps = self.dice.randint(0, self.steps)
            for step in range(steps):
                called = json.dumps([self.number, turn, step])
                call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": called}}
                await self._answered(workers, {"role": "assistant", "content": None, "tool_calls": [call]})
                self._say({"role": "tool", "tool_call_id": "c", "content": f"seen {called}"})
            await self._answered(workers, assistant(f"answer {self.number}.{turn}"))

    async def _answered(self, workers: tuple[ProxiedTurns, ProxiedTurns], answer: Fields) -> None:
        """A request, and its answer. Another worker gets the next request only when this one has recorded."""
        worker = self.dice.choice(workers) if self.moves else workers[0]
        agent = worker.germane.agent("support", org="acme", user="caroline")
        shown = self.history[-self.window :] if self.window else self.history
        call = made_call("openai", [{"role": "system", "content": f"step {len(self.history)}"}, *shown])
        session = await worker.find(agent, call, named=self.named)
        self.sessions.add(session)
        worker.recorder.offer(worker.turn(agent, session, call, chat_answer(answer)))
        if self.moves:
            assert await worker.recorder.flush(30)
        else:
            await asyncio.sleep(0)
        self._say(answer)

    def _say(self, message: Fields) -> None:
        self.history.append(message)
        calls = message.get("tool_calls")
        self.said[f"look({calls[0]['function']['arguments']})" if calls else message["content"]] += 1


@pytest.mark.parametrize("seed", range(40 if whole() else 2))
async def test_each_conversation_is_one_session_and_each_message_is_stored_once(
    opening: Opening, tmp_path: Path, seed: int
) -> None:
    dice, clock = random.Random(seed), Clock()
    talks = [Conversation(number, dice) for number in range(8)]
    async with opening(clock=clock) as germane:
        folder = tmp_path / "spool"
        async with proxied(germane, clock, folder) as one, proxied(germane, clock, folder) as two:
            await asyncio.gather(*(talk.held((one, two)) for talk in talks))
            assert await one.recorder.flush(30)
            assert await two.recorder.flush(30)
            assert sum(one.recorder.counts.dropped.values()) + sum(two.recorder.counts.dropped.values()) == 0
        page = await germane.agent("support", org="acme", user="caroline").messages(limit=1000)
    assert {talk.number: len(talk.sessions) for talk in talks} == dict.fromkeys(range(8), 1)
    assert Counter(message.text for message in page.messages) == sum((talk.said for talk in talks), Counter[str]())
