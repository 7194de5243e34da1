"""Passes: what is done with each conversation in turn: heard, timed, asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from germane.api.agent import Agent
from germane.api.germane import Germane
from germane.clock import Clock
from germane.evaluate.answered import Answered
from germane.evaluate.ask import Asker
from germane.evaluate.dataset import Conversation, Dataset
from germane.evaluate.fill import fill
from germane.evaluate.latency import Timed
from germane.evaluate.prefix import Call
from germane.evaluate.replay import AGENT, replay, tail
from germane.evaluate.sample import spread
from germane.evaluate.when import When, ends

__all__ = ["Passes", "Steps", "replayed"]

_REPLAYED = 500
"""Calls over the whole data set that prefix reuse is told from."""
_FEWEST = 20
"""Of each conversation that is replayed."""
_WARMING = 5


@dataclass(slots=True)
class Steps:
    """How far it is."""

    progress: Callable[[int, int], None] | None
    total: int = 0
    done: int = 0

    def __call__(self, count: int = 1) -> None:
        self.done += count
        if self.progress:
            self.progress(self.done, self.total)


@dataclass(frozen=True, slots=True, kw_only=True)
class Passes:
    """`latency_deadline` (seconds) is None where latency isn't measured; `replayed` says how many calls of which
    conversations are replayed."""

    asker: Asker
    whens: Sequence[When]
    latency_deadline: float | None
    replayed: Mapping[str, int]
    clock: Clock
    steps: Steps

    def count(self, dataset: Dataset) -> int:
        """All the steps there are: messages, calls, answers."""
        each = len(self.whens) + (self.latency_deadline is not None)
        steps = 0
        for conversation in dataset.conversations:
            said = sum(map(len, conversation.sessions.values()))
            most = self.replayed.get(conversation.name, 0)
            calls = sum(map(len, tail(conversation, most).values()))
            steps += said + len(conversation.memories) + calls + each * len(conversation.questions)
        return steps

    async def hear(self, germane: Germane, conversation: Conversation) -> list[Call]:
        """Record it all, the last part of it turn by turn where it is to be replayed."""
        if most := self.replayed.get(conversation.name, 0):
            strategy, model = self.asker.strategy, self.asker.model
            return await replay(germane, conversation, strategy=strategy, model=model, most=most, progress=self.steps)
        await fill(germane.agent(AGENT), conversation, progress=self.steps)
        return []

    async def time(self, agent: Agent, conversation: Conversation) -> list[Timed]:
        """Before the questions are asked for their own sake, so that nothing of them is remembered."""
        if self.latency_deadline is None:
            return []
        await agent.warm()
        end, when = ends(conversation), self.whens[0]
        for number in range(min(_WARMING, len(conversation.questions))):
            await agent.assemble([{"role": "user", "content": f"warming up {number}"}], model=self.asker.model)
        timed = []
        for question in conversation.questions:
            at = when.at(question, end)
            timed.append(await self.asker.time(agent, question, at=at, deadline=self.latency_deadline, clock=self.clock))
            self.steps()
        return timed

    async def ask(self, agent: Agent, conversation: Conversation) -> list[Answered]:
        answered, end = [], ends(conversation)
        for when in self.whens:
            for question in conversation.questions:
                at = when.at(question, end)
                answered.append(await self.asker.ask(agent, question, conversation=conversation.name, clock=when.name, at=at))
                self.steps()
        return answered


def replayed(dataset: Dataset) -> dict[str, int]:
    """How many calls of which conversations: 500 in all, twenty at least of each, so at most 25 conversations."""
    chosen = spread(dataset.conversations, _REPLAYED // _FEWEST)
    return {conversation.name: _REPLAYED // len(chosen) for conversation in chosen}
