"""Passes: the steps of each conversation: record it, time its questions, ask them, ask turns that need no memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from germane.api.agent import Agent
from germane.api.germane import Germane
from germane.clock import Clock
from germane.evaluate.answered import Answered
from germane.evaluate.ask import Asker
from germane.evaluate.dataset import Conversation, Dataset
from germane.evaluate.everyday.talk import OPEN, RequestAnswer, Talk
from germane.evaluate.fill import fill
from germane.evaluate.latency import Timed
from germane.evaluate.need.turn_figures import TurnAnswer
from germane.evaluate.need.turns import TurnWithoutNeed
from germane.evaluate.prefix import ReplayedCall
from germane.evaluate.question_clock import QuestionClock, ends
from germane.evaluate.replay import last_sessions, replay
from germane.evaluate.sample import spread_evenly

__all__ = ["Passes", "Steps", "calls_to_replay"]

_REPLAYED_CALLS = 500
"""Calls over the whole data set from which prefix reuse is measured."""
_MIN_CALLS = 20
"""Calls of each replayed conversation: fewer say too little about it."""
_WARM_UP_CALLS = 5


@dataclass(slots=True)
class Steps:
    """Counts finished steps and reports them to `progress(done, total)`."""

    progress: Callable[[int, int], None] | None
    total: int = 0
    done: int = 0

    def __call__(self, count: int = 1) -> None:
        self.done += count
        if self.progress:
            self.progress(self.done, self.total)


@dataclass(frozen=True, slots=True, kw_only=True)
class Passes:
    """The settings of one evaluation, and the passes that run with them."""

    asker: Asker
    question_clocks: Sequence[QuestionClock]
    latency_deadline: float | None
    """Seconds; None skips the timed pass."""
    replayed: Mapping[str, int]
    """Calls to replay, by the name of the conversation."""
    talk: int | None
    """Requests that share a conversation, in everyday data; None for questions that are asked alone."""
    turns: Mapping[str, Sequence[TurnWithoutNeed]]
    """Turns without need to ask, by the name of the conversation."""
    clock: Clock
    steps: Steps

    def count(self, dataset: Dataset) -> int:
        """Number of steps in all: messages and memories to record, calls to replay, questions and turns to ask."""
        asked_each = len(self.question_clocks) if self.talk is None else 1 + len(self.asker.budgets)
        each = asked_each + (self.latency_deadline is not None)
        steps = 0
        for conversation in dataset.conversations:
            said = sum(map(len, conversation.sessions.values()))
            max_calls = self.replayed.get(conversation.name, 0)
            calls = sum(map(len, last_sessions(conversation, max_calls).values()))
            asked = each * len(conversation.questions) + len(self.turns.get(conversation.name, ()))
            steps += said + len(conversation.memories) + calls + asked
        return steps

    async def record_conversation(self, germane: Germane, agent: Agent, conversation: Conversation) -> list[ReplayedCall]:
        """Records the whole conversation. In a replayed conversation the last sessions are recorded turn by turn, and the
        calls made in between are returned."""
        if max_calls := self.replayed.get(conversation.name, 0):
            return await replay(
                germane,
                agent,
                conversation,
                strategy=self.asker.strategy,
                model=self.asker.model,
                max_calls=max_calls,
                progress=self.steps,
            )
        await fill(agent, conversation, progress=self.steps)
        return []

    async def time_questions(self, agent: Agent, conversation: Conversation) -> list[Timed]:
        """Asks each question once under the deadline. Runs before `ask_questions`, so that no cache holds a question yet."""
        if self.latency_deadline is None:
            return []
        await agent.warm()
        end, question_clock = ends(conversation), self.question_clocks[0]
        for number in range(min(_WARM_UP_CALLS, len(conversation.questions))):
            await agent.assemble([{"role": "user", "content": f"warming up {number}"}], model=self.asker.model)
        timed = []
        for question in conversation.questions:
            at = question_clock.at(question, end)
            timed.append(
                await self.asker.time_question(agent, question, at=at, deadline=self.latency_deadline, clock=self.clock)
            )
            self.steps()
        return timed

    async def ask_questions(self, agent: Agent, conversation: Conversation) -> list[Answered]:
        """Asks each question by each clock, within each budget; by the first clock also without a budget. Everyday data are
        asked by `ask_requests` instead."""
        if self.talk is not None:
            return []
        answered, end = [], ends(conversation)
        for clock in self.question_clocks:
            for question in conversation.questions:
                at = clock.at(question, end)
                unlimited = clock is self.question_clocks[0]
                answered.append(
                    await self.asker.ask_question(
                        agent, question, conversation=conversation.name, clock=clock.name, at=at, unlimited=unlimited
                    )
                )
                self.steps()
        return answered

    async def ask_requests(self, germane: Germane, agent: Agent, conversation: Conversation) -> list[RequestAnswer]:
        """Asks the requests of a person by the first clock, in talks of `talk` requests: without a budget, then within each.
        Each talk is a session of its own. Empty for other data."""
        if self.talk is None:
            return []
        answers, end, clock = [], ends(conversation), self.question_clocks[0]
        said = {message.id or "": message.content for messages in conversation.sessions.values() for message in messages}
        for budget in (OPEN, *self.asker.budgets):
            for start in range(0, len(conversation.questions), self.talk):
                talk = Talk(
                    conversation=conversation.name,
                    session=f"asking {budget} {start // self.talk}",
                    said=said,
                    count=lambda text: germane.count(text, model=self.asker.model),
                    budget=budget,
                )
                for question in conversation.questions[start : start + self.talk]:
                    answers.append(await self.asker.ask_request(agent, question, talk, at=clock.at(question, end)))
                    self.steps()
        return answers

    async def ask_turns(self, agent: Agent, conversation: Conversation) -> list[TurnAnswer]:
        """Asks the conversation's turns without need by the first clock."""
        answers, at = [], self.question_clocks[0].at(None, ends(conversation))
        for turn in self.turns.get(conversation.name, ()):
            answers.append(await self.asker.ask_turn(agent, turn, conversation=conversation.name, at=at))
            self.steps()
        return answers


def calls_to_replay(dataset: Dataset) -> dict[str, int]:
    """Number of calls to replay, by conversation: 500 in all and at least 20 of each, so at most 25 conversations."""
    chosen = spread_evenly(dataset.conversations, _REPLAYED_CALLS // _MIN_CALLS)
    return {conversation.name: _REPLAYED_CALLS // len(chosen) for conversation in chosen}
