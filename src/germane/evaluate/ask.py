"""Ask: `Asker`, which puts one question or turn to an agent: within each budget, with each effort, in a talk, or timed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from germane.api.agent import Agent
from germane.clock import Clock
from germane.evaluate.answered import Answered, MissedEvidence, Shown, Unlimited
from germane.evaluate.containment import contained, words_shared
from germane.evaluate.dataset import Question
from germane.evaluate.everyday.talk import OPEN, RequestAnswer, Talk, always_stands, profile_tokens
from germane.evaluate.latency import Timed
from germane.evaluate.missed import missed_evidence, nearest_budget
from germane.evaluate.need.turn_figures import TurnAnswer
from germane.evaluate.need.turns import TurnWithoutNeed
from germane.evaluate.recall import ranks, shares
from germane.evaluate.redundancy import current, redundancy, stale, unmarked
from germane.types.candidate import Scored
from germane.types.context import Context
from germane.types.effort import Effort
from germane.types.strategy import Strategy

__all__ = ["Asker"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """The options that all questions of an evaluation are asked with."""

    strategy: str | Strategy
    model: str
    budgets: Sequence[int]
    """Tokens, ascending."""
    efforts: Sequence[Effort | float | None] = (None,)
    """Efforts of the assemblies without `max_tokens`; None is the strategy's own."""
    deadline: float | None
    """Seconds; None waits for every source."""

    async def ask_question(
        self, agent: Agent, question: Question, *, conversation: str, clock: str, at: datetime | None, unlimited: bool = False
    ) -> Answered:
        """Assembles once within each budget and, with `unlimited`, once with each effort and no budget. The ranks of the
        evidence don't depend on the budget: they are read from the assembly with the largest one."""
        shown, fault = [], ""
        ranked: tuple[Scored, ...] = ()
        missed: tuple[MissedEvidence, ...] = ()
        for budget in self.budgets:
            context = await self._assemble(agent, [question.message], at, self.deadline, budget)
            fault = fault or context.metadata.fallback_reason
            ranked = _ranked(context)
            shown.append(_shown(context, question, budget))
            if unlimited and budget == nearest_budget(self.budgets):
                missed = await missed_evidence(agent, context, sorted(question.evidence), shown[-1].shares)
        freely = []
        for effort in self.efforts if unlimited else ():
            context = await self._assemble(agent, [question.message], at, self.deadline, None, effort)
            fault = fault or context.metadata.fallback_reason
            freely.append(_unlimited(context, question, effort))
        return Answered(
            conversation=conversation,
            id=question.id,
            question=question.text,
            category=question.category,
            clock=clock,
            ranks=ranks(ranked, question.evidence),
            shown=tuple(shown),
            unlimited=tuple(freely),
            missed=missed,
            fault=fault,
        )

    async def time_question(
        self, agent: Agent, question: Question, *, at: datetime | None, deadline: float, clock: Clock
    ) -> Timed:
        """Assembles once within the strategy's own budget and `deadline` seconds, and measures how long the caller waits."""
        began = clock.steady()
        context = await self._assemble(agent, [question.message], at, deadline, None)
        return Timed(
            category=question.category,
            seconds=clock.steady() - began,
            level=context.metadata.degradation_level,
            stages=dict(context.metadata.timings),
        )

    async def ask_request(self, agent: Agent, question: Question, talk: Talk, *, at: datetime | None) -> RequestAnswer:
        """Assembles once, for the next request of the talk, within its budget or, where it has none, with the strategy's own
        effort."""
        talk.ask(question)
        budget = None if talk.budget == OPEN else talk.budget
        return talk.answer(
            question, await self._assemble(agent, talk.messages, at, self.deadline, budget, session=talk.session)
        )

    async def ask_turn(self, agent: Agent, turn: TurnWithoutNeed, *, conversation: str, at: datetime | None) -> TurnAnswer:
        """Assembles once, without a budget and with the strategy's own effort."""
        context = await self._assemble(agent, turn.messages, at, self.deadline, None)
        standing_alone = bool(context.items) and all(always_stands(item) for item in context.items)
        return TurnAnswer(
            id=turn.id,
            language=turn.language,
            kind=turn.kind,
            conversation=conversation,
            tokens=0 if standing_alone else context.metadata.total_tokens_injected - profile_tokens(context.metadata),
            items=sum(not (item.scored.candidate.required or always_stands(item)) for item in context.items),
        )

    async def _assemble(
        self,
        agent: Agent,
        messages: list[dict[str, str]],
        at: datetime | None,
        deadline: float | None,
        budget: int | None,
        effort: Effort | float | None = None,
        session: str | None = None,
    ) -> Context:
        return await agent.assemble(
            messages,
            model=self.model,
            session=session,
            at=at,
            deadline=deadline,
            max_tokens=budget,
            effort=effort,
            strategy=self.strategy,
        )


def _ranked(context: Context) -> tuple[Scored, ...]:
    """The candidates that `Agent.recall` would return: all in score order, without those below the floor."""
    left = (item.scored for item in context.trace.left_out if item.reason != "below_floor")
    return (*(item.scored for item in context.trace.chosen), *left)


def _shown(context: Context, question: Question, budget: int) -> Shown:
    tokens, answer = context.metadata.total_tokens_injected, question.answer
    if tokens > budget:
        raise AssertionError(f"{tokens} tokens were added where {budget} were allowed: {question.id}")
    parts = {
        item.provenance.message_id or item.id: item.scored.candidate.outdated is not None
        for item in context.items
        if item.share > 0
    }
    return Shown(
        budget=budget,
        tokens=tokens,
        items=len(context.items),
        shares=shares(context.items, question.evidence),
        contained=None if answer is None else contained(answer, context.added),
        words=None if answer is None else words_shared(answer, context.added),
        redundancy=redundancy([item.text for item in context.items]),
        stale=stale(parts, superseded=question.superseded, evidence=question.evidence),
        current=current(parts, superseded=question.superseded, evidence=question.evidence),
        unmarked=unmarked(parts, superseded=question.superseded),
    )


def _unlimited(context: Context, question: Question, effort: Effort | float | None) -> Unlimited:
    return Unlimited(
        effort="" if effort is None else str(effort),
        tokens=context.metadata.total_tokens_injected,
        items=len(context.items),
        shares=shares(context.items, question.evidence),
    )
