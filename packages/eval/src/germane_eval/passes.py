"""Passes: the steps of each conversation: record it, time its questions, ask them, ask turns that need no memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from germane.api.agent import Agent
from germane.api.germane import Germane
from germane.clock import Clock
from germane.types.budget import Effort
from germane.types.candidate import Scored
from germane.types.context import Context
from germane.types.message import Message
from germane.types.strategy import Strategy
from germane_eval.answers import (
    Answered,
    MissedEvidence,
    Shown,
    Unlimited,
    contained,
    current,
    missed_evidence,
    nearest_budget,
    ranks,
    redundancy,
    shares,
    stale,
    unmarked,
    words_shared,
)
from germane_eval.dataset import Conversation, Dataset, Question, QuestionClock, Stated, ends, fill, spread_evenly, starts
from germane_eval.everyday import OPEN, RequestAnswer, Talk, TurnAnswer, TurnWithoutNeed, always_stands, profile_tokens
from germane_eval.metrics import ReplayedCall, Timed, common_prefix, prompt_texts

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


# Puts one question or turn to an agent: within each budget, with each effort, in a talk, or timed.


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
    """The candidates that `Agent.search` would return: all in score order, without those below the floor."""
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


# Assembles and records the last sessions of a conversation turn by turn, to measure prefix reuse. An application does
# the same and also calls the model; here only the prompts are compared.


def call_positions(said: Sequence[Message]) -> list[int]:
    """Positions of the messages of a session after which a model is called: every user message with an answer or, in a session
    without an assistant, every message. Empty for fewer than two: a single call has no previous prompt."""
    assisted = any(message.role == "assistant" for message in said)
    found = [
        position
        for position, message in enumerate(said)
        if not assisted or (message.role == "user" and position + 1 < len(said) and said[position + 1].role != "user")
    ]
    return found if len(found) > 1 else []


def last_sessions(conversation: Conversation, max_calls: int) -> dict[str, list[int]]:
    """The last sessions that hold `max_calls` calls together, in order, each with the positions of its calls. Calls beyond
    `max_calls` are cut off."""
    chosen: dict[str, list[int]] = {}
    left = max_calls
    for session, said in reversed(list(conversation.sessions.items())):
        if left <= 0:
            break
        positions = call_positions(said)[:left]
        chosen[session] = positions if len(positions) > 1 else []
        left -= len(chosen[session])
    return dict(reversed(chosen.items()))


async def replay(
    germane: Germane,
    agent: Agent,
    conversation: Conversation,
    *,
    strategy: str | Strategy,
    model: str,
    max_calls: int,
    progress: Callable[[int], None] | None = None,
) -> list[ReplayedCall]:
    """Replays at most `max_calls` calls of `agent`, a handle of `germane`. Earlier sessions are recorded first, each replayed
    turn after its assembly, and then the rest: afterwards the agent holds the whole conversation. `progress` is called with the
    numbers of recorded messages and of calls."""
    chosen = last_sessions(conversation, max_calls)
    head = {session: said for session, said in conversation.sessions.items() if session not in chosen}
    await fill(agent, replace(conversation, sessions=head, memories=_dated(conversation)), progress=progress)
    calls = []
    for session, positions in chosen.items():
        said, recorded = conversation.sessions[session], 0
        before: tuple[list[str], int] | None = None
        for position in positions:
            heard = said[: position + 1]
            context = await agent.assemble(
                heard, model=model, session=session, at=heard[-1].created_at, deadline=None, strategy=strategy
            )
            own = 0 if context.trace.budget is None else context.trace.budget.messages
            texts = prompt_texts(context.to_openai())
            if before is not None:
                same = germane.count(common_prefix(before[0], texts), model=model)
                whole = germane.count("".join(texts), model=model)
                calls.append(
                    ReplayedCall(
                        conversation=conversation.name, prompt=whole, common=same, own=own, own_common=min(own, before[1])
                    )
                )
            before = texts, own
            await agent.record(said[recorded : position + 1], session=session)
            if progress:
                progress(1 + position + 1 - recorded)
            recorded = position + 1
        await fill(agent, replace(conversation, sessions={session: said[recorded:]}, memories=()), progress=progress)
    return calls


def _dated(conversation: Conversation) -> list[Stated]:
    """The memories. Those without a time of their own are valid from the beginning of the whole conversation, because `fill`
    sees only a part of it."""
    began = starts(conversation)
    return [
        stated
        if began is None or stated.given.get("valid_from") or stated.given.get("observed_at")
        else replace(stated, given={**stated.given, "valid_from": began})
        for stated in conversation.memories
    ]
