"""Results: the single results of all passes over all conversations, each of which has a store of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from germane.api.germane import Germane
from germane.evaluate.answered import Answered
from germane.evaluate.circumstances import Circumstances
from germane.evaluate.dataset import Dataset
from germane.evaluate.everyday.talk import RequestAnswer
from germane.evaluate.latency import Timed
from germane.evaluate.need.turn_figures import TurnAnswer
from germane.evaluate.passes import Passes
from germane.evaluate.prefix import ReplayedCall

__all__ = ["Results"]

_AGENT, _PERSON = "evaluated", "somebody"
"""Ids of the agent that records each conversation, and of its user in everyday data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """The results that the figures of a report are made of."""

    circumstances: Circumstances
    calls: tuple[ReplayedCall, ...]
    timed: tuple[Timed, ...]
    answered: tuple[Answered, ...]
    """By clock, in the order of the clocks."""
    requests: tuple[RequestAnswer, ...]
    turns: tuple[TurnAnswer, ...]

    @classmethod
    async def of(cls, dataset: Dataset, passes: Passes, opened: Callable[[], Germane]) -> Results:
        """Runs the passes. `opened` opens an empty store."""
        calls: list[ReplayedCall] = []
        timed: list[Timed] = []
        answered: list[Answered] = []
        requests: list[RequestAnswer] = []
        turns: list[TurnAnswer] = []
        circumstances = Circumstances()
        for conversation in dataset.conversations:
            async with opened() as germane:
                circumstances = await Circumstances.of(germane, passes.asker)
                agent = germane.agent(_AGENT, user=_PERSON if dataset.everyday else None)
                calls += await passes.record_conversation(germane, agent, conversation)
                timed += await passes.time_questions(agent, conversation)
                answered += await passes.ask_questions(agent, conversation)
                requests += await passes.ask_requests(germane, agent, conversation)
                turns += await passes.ask_turns(agent, conversation)
        clocks = [question_clock.name for question_clock in passes.question_clocks]
        answered.sort(key=lambda answer: clocks.index(answer.clock))
        return cls(
            circumstances=circumstances,
            calls=tuple(calls),
            timed=tuple(timed),
            answered=tuple(answered),
            requests=tuple(requests),
            turns=tuple(turns),
        )
