"""Clause evidence: for each request of everyday data, the clauses that an assembly would choose from, with their features and
labels; and the same for germane's turns without need, asked in the same stores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from math import ceil

import numpy as np
from numpy.typing import NDArray

from germane.api.agent import Agent
from germane.api.arguments import build_request
from germane.api.strategies import DEFAULT
from germane.api.wiring import Parts, wire
from germane.clock import Clock
from germane.search.relevance import CLAUSE_FEATURES, clause_need_row, shipped, sigmoid
from germane.settings.settings import Settings
from germane.stages.read.query import read
from germane.stages.score.clauses import MAX_DIVIDED, ClauseReader, clause_rows
from germane.stages.score.score import assess_need
from germane.types.candidate import Scored
from germane.types.limits import COUNT
from germane.types.message import Message
from germane.types.query import Query
from germane.types.scope import Scope
from germane_eval.dataset import Conversation, Dataset, Question, ends, fill
from germane_eval.everyday import Half, TurnWithoutNeed, answer_units, is_held, turns

__all__ = ["ClauseList", "clause_lists", "covering"]

Floats = NDArray[np.float64]
_RAISED_BY = 40.0
"""Log-odds added to each intercept: the weakest candidate becomes almost certain, and the order stays."""
_DEPTH = 400
_YOUNG = (6, 20)
_ENOUGH = 0.75
"""The share of an answer's words in a message that must be shown."""
_LINE = 6
"""Tokens of a clause's line besides its text."""


@dataclass(frozen=True, slots=True)
class ClauseList:
    """The clauses found for one request, the best message's first. `found` are the features of P(need) that the search gives
    (`search.need.need_features`), None where nothing was found; the category of germane's turns without need is `turn`."""

    person: str
    category: str
    needed: bool
    rows: Floats
    tokens: Floats
    relevant: Floats
    found: Floats | None
    query: Query
    texts: tuple[tuple[str, str], ...]
    """Each clause's message, by the data's id, and its text."""
    question: Question | None = None
    said: dict[str, str] | None = None
    young: bool = False
    """Asked when the person had said little yet."""

    def need_row(self, clause: Floats) -> Floats | None:
        """The features of P(need), where `clause` are the coefficients of clauses, the intercept last; None where nothing was
        found."""
        if self.found is None or not len(self.rows):
            return None
        return clause_need_row(self.found, sigmoid(self.rows @ clause[:-1] + clause[-1]), self.query)

    def holds(self, places: Sequence[int]) -> bool:
        """Whether the clauses at these places hold what the request needs."""
        if self.question is None or self.said is None:
            return False
        shown: dict[str, str] = {}
        for place in places:
            id, text = self.texts[place]
            shown[id] = f"{shown.get(id, '')} {text}"
        answer = self.question.answer or ""
        return all(id in shown and is_held(self.said[id], answer, shown[id]) for id in self.question.evidence)


async def clause_lists(data: Dataset, *, young: bool = False, half: Half = "fit") -> list[ClauseList]:
    """Returns a list for each question, and for a half of the turns without need, spread over the conversations. With `young`
    also for what is asked in stores of each person's first six and twenty messages: all that needs nothing, and what they
    answer."""
    sizes = (None, *_YOUNG) if young else (None,)
    found = list[ClauseList]()
    for shift, size in enumerate(sizes):
        conversations = [one if size is None else _first(one, size) for one in data.conversations]
        lists = await _lists(conversations, turns(half), shift * len(conversations) // len(sizes))
        found += lists if size is None else [replace(one, young=True) for one in lists]
    return found


def _first(conversation: Conversation, size: int) -> Conversation:
    """The first sessions that have so many messages, and what they answer."""
    sessions, known = dict[str, Sequence[Message]](), set[str]()
    for name, messages in conversation.sessions.items():
        if len(known) < size:
            sessions[name] = messages
            known |= {message.id or "" for message in messages}
    asked = [one for one in conversation.questions if one.category != "unknown" and known >= one.evidence]
    return replace(conversation, sessions=sessions, questions=asked)


async def _lists(
    conversations: Sequence[Conversation], without_need: Sequence[TurnWithoutNeed], shift: int
) -> list[ClauseList]:
    """The turns without need are dealt to the conversations, from the one at `shift` on."""
    model = shipped()
    raised = replace(model, intercepts=model.intercepts + _RAISED_BY)
    spread, found = len(conversations), list[ClauseList]()
    for number, conversation in enumerate(conversations):
        parts = await wire(
            ":memory:", settings=Settings(extraction=False), embedder=None, clock=Clock(), sources={}, relevance=raised
        )
        try:
            found += await _of_person(parts, conversation, without_need[(number + shift) % spread :: spread])
        finally:
            await parts.catch_up.close()
            await parts.store.close()
            await parts.embedder.close()
        print(f"{conversation.name}: {len(found)} lists", flush=True)
    return found


async def _of_person(parts: Parts, conversation: Conversation, without_need: Sequence[TurnWithoutNeed]) -> list[ClauseList]:
    agent = Agent(parts, Scope(org="bench", agent="assistant", user="person"))
    await fill(agent, conversation)
    await agent.warm()
    said = {message.id or "": message.content for messages in conversation.sessions.values() for message in messages}
    later = (ends(conversation) or parts.clock.now()) + timedelta(hours=1)
    strategy = replace(
        DEFAULT, floor=0.0, sources=tuple(replace(plan, limit=_DEPTH) for plan in DEFAULT.sources if plan.name != "days")
    )
    asked = [(one, [one.message], one.at or later) for one in conversation.questions]
    asked += [(_turn(one), one.messages, later) for one in without_need]
    reader, found = ClauseReader(), list[ClauseList]()
    for question, messages, at in asked:
        request = build_request(
            scope=agent.scope, catalog=parts.catalog, clock=parts.clock, model="any", at=at, messages=messages
        )
        ranked = await parts.engine.search(request, parts.store.within(agent.scope), strategy, COUNT.maximum)
        items = [item._replace(log_odds=item.log_odds - _RAISED_BY) for item in ranked]
        found.append(_list(conversation.name, question, items, read(request), reader, said))
    return found


def _turn(turn: TurnWithoutNeed) -> Question:
    return Question(id=f"turn {turn.id}", text=turn.text, category="turn", evidence=frozenset())


def _list(
    person: str,
    question: Question,
    ranked: Sequence[Scored],
    query: Query,
    reader: ClauseReader,
    said: dict[str, str],
) -> ClauseList:
    talk = [item for item in ranked if item.candidate.category == "conversation"][:MAX_DIVIDED]
    divided = list(clause_rows(talk, query, reader))
    rows = np.array([row for _, _, row in divided], np.float64).reshape(len(divided), len(CLAUSE_FEATURES))
    texts = tuple((item.candidate.provenance.message_id or "", item.candidate.text[slice(*span)]) for item, span, _ in divided)
    return ClauseList(
        person=person,
        category=question.category,
        needed=bool(question.evidence),
        rows=rows,
        tokens=np.array([len(text) / 4 + _LINE for _, text in texts]),
        relevant=_relevant(question, texts, said),
        found=assess_need(ranked, query, shipped(), 0.5).features,
        query=query,
        texts=texts,
        question=question,
        said=said,
    )


def covering(units: Sequence[frozenset[str]], wanted: frozenset[str]) -> list[int]:
    """Returns which clauses, by their units, hold three quarters of what is wanted of the message: the fewest, found
    greedily."""
    left, chosen, need = set(wanted), list[int](), ceil(_ENOUGH * len(wanted))
    while units and left and len(wanted) - len(left) < need:
        best = max(range(len(units)), key=lambda place: len(units[place] & left))
        if not units[best] & left:
            break
        left -= units[best]
        chosen.append(best)
    return chosen


def _relevant(question: Question, texts: Sequence[tuple[str, str]], said: dict[str, str]) -> Floats:
    """Which clauses hold what the request needs, as 0 or 1; none for a request that a standing instruction applies to."""
    labels = np.zeros(len(texts))
    if question.category == "instruction":
        return labels
    for id in question.evidence:
        places = [place for place, (message, _) in enumerate(texts) if message == id]
        units = [answer_units(texts[place][1]) for place in places]
        wanted = answer_units(question.answer or "") & answer_units(said[id])
        for chosen in covering(units, wanted) if wanted else range(min(1, len(places))):
            labels[places[chosen]] = 1.0
    return labels
