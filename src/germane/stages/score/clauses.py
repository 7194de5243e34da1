"""Clauses: puts the clauses of messages in the place of the messages, each with its own probability (PACK-5).

What a person types to an assistant says several things at once, of which a request needs one: showing that one alone brings
the same for a third of the tokens. Messages between people are short and say one thing; they stay whole.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from math import log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from germane.kinds.profile.reads import clause_hash, clause_name
from germane.kinds.profile.telling import has_number, judge_clauses, names_in
from germane.search.relevance import (
    ClauseTraits,
    MessageFacts,
    clause_log_odds,
    clause_need,
    clause_need_row,
    clause_row,
    sigmoid,
)
from germane.stages.score.links import LinkedClause, newer_clauses_beside
from germane.text.clauses import KINDS, Cues, Span, clauses, read_cues
from germane.text.normal import in_lower_case
from germane.text.terms import stem_set
from germane.types.budget import expected_clauses
from germane.types.caches import FifoCache
from germane.types.candidate import Candidate, Provenance, Scored
from germane.types.query import Query

MAX_DIVIDED = 24
"""The best messages that are divided; those behind them stay whole. Measured: docs/research/everyday.md."""
_MAX_READ = 4_000
"""Characters of a message that is divided; a longer one stays whole, and is shown by excerpts."""
_CHANGE, _EMPTY, _NEVER, _YOU = (KINDS.index(kind) for kind in ("change", "empty", "never", "you"))
_MIN_WORDS = 2
"""Words of a clause, besides those that say nothing: "Got it." and "Thanks!" are never worth their tokens."""
_MAX_FOLLOWED = 10
"""The best messages, of which what may have made them outdated is divided too."""
_MIN_MESSAGES = 24
"""Messages of which a term's weight is reckoned at least: in a store of two, a word that both have tells something too."""
_MIN_TOKENS = 8
"""Tokens that the line of a clause costs at least."""
_MAX_LOG_ODDS = 6.0
_TALK = "conversation"


class _Known(NamedTuple):
    span: Span
    traits: ClauseTraits
    stems: frozenset[int]


class ClauseReader:
    """The places and traits of messages' clauses. Remembers those that were read last, and no text of them."""

    def __init__(self, max_messages: int = 4_096) -> None:
        self._known: FifoCache[tuple[str, int], tuple[_Known, ...]] = FifoCache(max_messages)

    def of(self, candidate: Candidate) -> tuple[_Known, ...]:
        key = candidate.id, candidate.content_hash
        known = self._known.get(key)
        if known is None:
            known = tuple(_read(candidate.text))
            self._known.keep(key, known)
        return known


class Divided(NamedTuple):
    """The items with clauses in the place of messages, in score order, and P(need), None where nothing was asked to be
    judged."""

    items: tuple[Scored, ...]
    need: float | None


def divide(
    ranked: Sequence[Scored],
    query: Query,
    reader: ClauseReader,
    found: NDArray[np.float64] | None,
    price: float | None = None,
) -> Divided | None:
    """Puts the clauses of the best messages of chats with an assistant in the place of the messages. `ranked` must stand in
    score order; `found` are the features that P(need) is judged by (`search.need.need_features`), None where it isn't to be
    judged. With a `price` of a token, clauses that can't be worth their tokens are left out, but for each message's best one.
    Returns None where no message is divided."""
    messages = _divided(ranked)
    if not messages or query.broad:
        return None
    divided = list(clause_rows(messages, query, reader))
    gone = {item.id for item in messages}
    items = [item for item in ranked if item.id not in gone]
    if not divided:  # the messages say nothing
        return Divided(tuple(items), None if found is None else 0.0)
    odds = np.maximum(clause_log_odds([row for _, _, row in divided]), _of_asked_days(divided, reader))
    if linked := {item.id for item in messages[:_MAX_FOLLOWED] if item.candidate.replaced_by}:
        odds = newer_clauses_beside(odds, list(_linked(messages, reader)), linked)
    chances = sigmoid(odds)
    origins = {item.id: _origin(item.candidate) for item in messages}
    made = zip(divided, odds.tolist(), chances.tolist(), _may_pay(divided, chances, price), strict=True)
    items += [_clause(item, origins[item.id], span, value, chance) for (item, span, _), value, chance, pays in made if pays]
    items.sort(key=lambda item: (-item.log_odds, item.rank, item.id))
    need = None if found is None else clause_need(clause_need_row(found, chances, query)) if _says(query.text) else 0.0
    return Divided(tuple(item._replace(rank=rank) for rank, item in enumerate(items, start=1)), need)


def _says(text: str) -> bool:
    """Whether a request says anything: "thanks!" and "ok great" don't."""
    return has_number(text) or _telling_words(read_cues(text)) > 0


def _telling_words(cues: Cues) -> int:
    """The words besides those that say nothing."""
    return cues.words - cues.counts[_EMPTY]


def _divided(ranked: Sequence[Scored]) -> list[Scored]:
    """The best messages that are divided; and what makes one of the very best outdated, or may, wherever it stands."""
    talk = [item for item in ranked if _is_divided(item.candidate)]
    linked = {id for item in talk[:_MAX_FOLLOWED] for id, _ in item.candidate.replaced_by}
    return [*talk[:MAX_DIVIDED], *(item for item in talk[MAX_DIVIDED:] if item.id in linked)]


def _linked(messages: Sequence[Scored], reader: ClauseReader) -> Iterator[LinkedClause]:
    """The clauses in the order of `clause_rows`."""
    for item in messages:
        for _, traits, stems in reader.of(item.candidate):
            yield LinkedClause(item.candidate, stems, traits.changes)


def _may_pay(
    divided: Sequence[tuple[Scored, Span, tuple[float, ...]]], chances: NDArray[np.float64], price: float | None
) -> list[bool]:
    """Whether each clause may be worth its tokens at this price, or is the best of its message."""
    if price is None:
        return [True] * len(divided)
    least = price * _MIN_TOKENS * expected_clauses(chances.tolist())
    best = dict[str, float]()
    for (item, _, _), chance in zip(divided, chances.tolist(), strict=True):
        best[item.id] = max(chance, best.get(item.id, 0.0))
    return [chance >= min(least, best[item.id]) for (item, _, _), chance in zip(divided, chances.tolist(), strict=True)]


def _of_asked_days(divided: Sequence[tuple[Scored, Span, tuple[float, ...]]], reader: ClauseReader) -> NDArray[np.float64]:
    """The log-odds that a clause has at least because its message was said on a day that the request asks about, whatever its
    words; −∞ for all others."""
    return np.array(
        [
            item.log_odds - log(len(reader.of(item.candidate))) if item.candidate.evidence.day_asked > 0 else -np.inf
            for item, _, _ in divided
        ]
    )


def clause_rows(
    messages: Sequence[Scored], query: Query, reader: ClauseReader
) -> Iterator[tuple[Scored, Span, tuple[float, ...]]]:
    """Yields each clause of the messages, which must stand in score order: its message, its place and its features."""
    beginnings = [_beginnings(term.stems) for term in query.terms]
    addresses = read_cues(query.text).counts[_YOU] > 0
    texts = [in_lower_case(item.candidate.text) for item in messages]
    holding = [[_occurs(begin, low, (0, len(low))) for begin in beginnings] for low in texts]
    counts = [sum(column) for column in zip(*holding, strict=True)]
    size = max(_MIN_MESSAGES, len(texts))
    weights = [log((size + 1) / (count + 0.5)) for count in counts]
    everything = sum(weight for weight, count in zip(weights, counts, strict=True) if count)
    times = sorted(item.candidate.created_at for item in messages)
    for place, (item, low, held) in enumerate(zip(messages, texts, holding, strict=True)):
        message = MessageFacts(
            log_odds=item.log_odds,
            gap=messages[0].log_odds - item.log_odds,
            place=place,
            late=bisect_left(times, item.candidate.created_at) / len(times),
            user=item.candidate.role == "user",
            addresses=addresses,
        )
        own = [(begin, weight) for begin, weight, holds in zip(beginnings, weights, held, strict=True) if holds]
        for span, traits, _ in reader.of(item.candidate):
            weight = sum(weight for begin, weight in own if _occurs(begin, low, span))
            yield item, span, clause_row(traits, message, weight=weight, all_weight=everything)


def _is_divided(candidate: Candidate) -> bool:
    return (
        candidate.category == _TALK
        and candidate.evidence.assistant > 0
        and candidate.passage is None
        and not candidate.required
        and len(candidate.text) <= _MAX_READ
    )


def _origin(candidate: Candidate) -> Provenance:
    """Where the clauses of a message come from."""
    origin = candidate.provenance
    return Provenance(
        source_kind=origin.source_kind,
        channel=origin.channel,
        session=origin.session,
        message_id=origin.message_id,
        refs=(candidate.id,),
        metadata=origin.metadata,
    )


def _clause(item: Scored, origin: Provenance, span: Span, odds: float, chance: float) -> Scored:
    candidate = item.candidate
    part = candidate._replace(
        id=clause_name(candidate.id, *span),
        text=candidate.text[slice(*span)],
        content_hash=clause_hash(candidate.content_hash, *span),
        provenance=origin,
    )
    return item._replace(candidate=part, score=chance, log_odds=odds, breakdown=item.breakdown._replace(relevance=chance))


def _read(text: str) -> Iterator[_Known]:
    spans = clauses(text)
    worths = judge_clauses(text, spans)
    for place, (span, worth) in enumerate(zip(spans, worths, strict=True)):
        clause = text[slice(*span)]
        cues, number = read_cues(clause), has_number(clause)
        if not number and _telling_words(cues) < _MIN_WORDS:
            continue
        traits = ClauseTraits(
            words=cues.words,
            number=number,
            names=names_in(clause),
            question=clause.endswith(("?", "？")),
            first=place == 0,
            lasting=_log_odds(worth.lasting),
            rule=_log_odds(worth.rule),
            changes=cues.counts[_CHANGE] + cues.counts[_NEVER] > 0,
        )
        yield _Known(span, traits, stem_set(clause))


def _log_odds(probability: float) -> float:
    probability = min(max(probability, 1e-9), 1 - 1e-9)
    return max(-_MAX_LOG_ODDS, min(_MAX_LOG_ODDS, log(probability / (1 - probability))))


def _beginnings(stems: Sequence[str]) -> tuple[str, ...]:
    """What words of the term begin with. A stem may end in a letter that its words don't have: `happi`, `happy`."""
    return tuple(dict.fromkeys(stem[:-1] if len(stem) > 4 and stem.endswith("i") else stem for stem in stems))


def _occurs(beginnings: Sequence[str], low: str, span: Span) -> bool:
    for begin in beginnings:
        place = low.find(begin, *span)
        while place >= 0:
            if not begin.isascii() or place == 0 or not low[place - 1].isalnum():
                return True
            place = low.find(begin, place + 1, span[1])
    return False
