"""Collect: asks a data set's questions and keeps all candidates that the search finds, with their evidence.

Every conversation is an agent of its own in one store. The search uses the shipped relevance model with raised intercepts, so
that no candidate falls below the floor: a fit learns from what a model leaves out as much as from what it keeps.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from germane.api.agent import Agent
from germane.api.arguments import build_request
from germane.api.strategies import DEFAULT
from germane.api.wiring import Parts, wire
from germane.clock import Clock, zone
from germane.ports.models import STATIC_EMBEDDERS, Embedder, Tokenizer
from germane.search.relevance import Asked, Relevance, matrix
from germane.search.relevance import shipped as shipped_relevance
from germane.settings.settings import Settings
from germane.stages.read.query import read
from germane.stages.write.formats import open_format
from germane.stages.write.layout import Format
from germane.types.candidate import Candidate
from germane.types.limits import COUNT
from germane.types.scope import Scope
from germane.types.strategy import Strategy
from germane_eval.dataset import Conversation, Dataset, Question, ends, fill
from germane_eval.everyday import TurnWithoutNeed
from germane_eval.fit.candidates import Candidates

Progress = Callable[[int, int], None]
"""Called as `progress(lists collected, lists in all)`."""

Noted = Callable[[Candidates, Sequence[str]], None]
"""Called with each list and the ids of its candidates, or of the messages that they are parts of."""

_TOKENIZER = "o200k"
_RAISED_BY = 40.0
"""Log-odds added to each intercept: the weakest candidate becomes almost certain, and the order stays."""
_ASKED_AFTER = timedelta(hours=1)


async def collect_candidates(
    dataset: Dataset,
    *,
    embedder: str | Embedder | None = None,
    limit: int = 400,
    keywords: bool = False,
    relevance: Relevance | None = None,
    turns: Sequence[TurnWithoutNeed] = (),
    progress: Progress | None = None,
    note: Noted | None = None,
) -> list[Candidates]:
    """Returns one list of candidates for each question, with at most `limit` candidates of each source. With `keywords` each
    question gives a second list, found by keywords alone. `turns` are spread over the conversations and asked too; as questions
    without evidence, they are requests that need no memory.

    A question without a time is asked an hour after the last message of its conversation. `relevance` replaces the shipped
    model. Raises what `Germane.open`, `record` and `search` raise.
    """
    model = relevance or shipped_relevance(contextual=isinstance(embedder, str) and embedder not in STATIC_EMBEDDERS)
    parts = await wire(
        ":memory:",
        settings=Settings(extraction=False),
        embedder=embedder,
        clock=Clock(),
        sources={},
        relevance=replace(model, intercepts=model.intercepts + _RAISED_BY),
    )
    strategies = [_strategy(limit, vectors=vectors) for vectors in (True, False)[: 1 + keywords]]
    spread = len(dataset.conversations)
    total = (sum(len(conversation.questions) for conversation in dataset.conversations) + len(turns)) * len(strategies)
    found: list[Candidates] = []
    try:
        for number, conversation in enumerate(dataset.conversations):
            own = turns[number::spread]
            async for candidates, ids in _collect_from(parts, dataset.name, conversation, strategies, own):
                if note is not None:
                    note(candidates, ids)
                found.append(candidates)
                if progress is not None:
                    progress(len(found), total)
    finally:
        await parts.store.close()
        if parts.embedder is not embedder:
            await parts.embedder.close()
    return found


def _strategy(limit: int, *, vectors: bool) -> Strategy:
    plans = tuple(replace(plan, limit=limit, vectors=vectors) for plan in DEFAULT.sources)
    return replace(DEFAULT, name="fitting", sources=plans, floor=0.0)


async def _collect_from(
    parts: Parts,
    name: str,
    conversation: Conversation,
    strategies: Sequence[Strategy],
    turns: Sequence[TurnWithoutNeed],
) -> AsyncIterator[tuple[Candidates, list[str]]]:
    agent = Agent(parts, Scope(org=name[:200] or "default", agent=conversation.name[:200]))
    await fill(agent, conversation)
    await agent.warm()
    listing = _Listing(name, conversation, parts.engine.tokenizer(_TOKENIZER))
    end = ends(conversation) or parts.clock.now()
    later = end + _ASKED_AFTER
    requested: list[tuple[Question, datetime, dict[str, Any]]] = [
        (question, question.at or later, _given(question)) for question in conversation.questions
    ]
    requested += [(_question(turn), later, {"messages": turn.messages}) for turn in turns]
    for number, (question, at, given) in enumerate(requested):
        request = build_request(scope=agent.scope, catalog=parts.catalog, clock=parts.clock, model="any", at=at, **given)
        about = Asked.of(read(request))
        for strategy in strategies:
            found = await parts.engine.search(request, parts.store.within(agent.scope), strategy, COUNT.maximum)
            keywords = not any(plan.vectors for plan in strategy.sources)
            candidates = [scored.candidate for scored in found]
            shipped = number >= len(conversation.questions)
            made = listing.of(question, about, candidates, at, keywords=keywords, shipped=shipped)
            yield made, list(map(_id, candidates))


def _given(question: Question) -> dict[str, Any]:
    """The request that asks the question: a message where somebody is named who asks."""
    return {"messages": [question.message]} if question.name else {"messages": (), "query": question.text}


def _question(turn: TurnWithoutNeed) -> Question:
    return Question(id=f"turn {turn.id}", text=turn.text, category=turn.kind, evidence=frozenset())


def _id(candidate: Candidate) -> str:
    return candidate.provenance.message_id or candidate.id


class _Listing:
    """Turns the candidates of one conversation into arrays, with the token costs of the `compact` format."""

    def __init__(self, dataset: str, conversation: Conversation, tokenizer: Tokenizer) -> None:
        said = [message for messages in conversation.sessions.values() for message in messages]
        self._dataset, self._name = dataset, conversation.name
        self._sizes = {message.id: max(1, len(message.content)) for message in said}
        self._units = len(said) + len(conversation.memories)
        self._layout: Format = open_format("compact", tokenizer=tokenizer, nonce="x" * 8, zone=zone("UTC"), terms=())
        self._numbers: dict[str, int] = {}

    def of(
        self, question: Question, about: Asked, found: Sequence[Candidate], at: datetime, *, keywords: bool, shipped: bool
    ) -> Candidates:
        ids = list(map(_id, found))
        sizes = [self._sizes.get(id, len(one.text)) for id, one in zip(ids, found, strict=True)]
        return Candidates(
            dataset=self._dataset,
            conversation=self._name,
            question=question.id,
            category=question.category,
            **about._asdict(),
            needed=bool(question.evidence),
            shipped=shipped,
            wanted=len(question.evidence),
            units=self._units,
            table=matrix([one.evidence for one in found]),
            relevant=np.array([id in question.evidence for id in ids], np.bool_),
            message=np.array([self._number(id) for id in ids], np.int32),
            share=np.array([min(1.0, len(one.text) / size) for one, size in zip(found, sizes, strict=True)], np.float64),
            cost=np.array([self._layout.cost(one, one.text) for one in found], np.int32),
            group=np.array([self._number(self._layout.group(one)) for one in found], np.int32),
            header=np.array([self._layout.header(one) for one in found], np.int32),
            session=np.array([self._session(one) for one in found], np.int64),
            position=np.array([one.position for one in found], np.int64),
            keywords=keywords,
            fixed=self._layout.fixed(""),
            created=np.array([one.created_at.timestamp() for one in found], np.float64),
            at=at.timestamp(),
        )

    def _session(self, one: Candidate) -> int:
        return -1 if one.session is None else self._number(f"session {one.session}")

    def _number(self, name: str) -> int:
        return self._numbers.setdefault(name, len(self._numbers))
