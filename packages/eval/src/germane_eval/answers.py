"""Answers: the result for one question: how much of its evidence is ranked or shown, what was missed, what is wasted.

Recall is computed by plain functions of ranks and of shown shares. A shortened message counts with its shown share.
Breadcrumbs and summaries count nothing: none of their items carries the id of the message.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from germane.api.agent import Agent
from germane.errors import InvalidInput, NotFound
from germane.text.normal import fold
from germane.text.terms import UNSPACED, analyse, query_terms
from germane.types.candidate import Chosen, Scored
from germane.types.context import Context


@dataclass(frozen=True, slots=True, kw_only=True)
class MissedEvidence:
    """An evidence message that wasn't shown: its id, its text (empty where it can't be read), and the best items that stood
    there instead. Long texts are cut."""

    id: str
    text: str
    instead: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What one assembly showed of the evidence within `budget` tokens."""

    budget: int
    tokens: int
    """Tokens of all the added text, wrapper included; at most `budget`."""
    items: int
    """Number of items in the added text."""
    shares: tuple[float, ...]
    """The shown share of each evidence message, [0, 1], in the order of the sorted ids."""
    contained: bool | None = None
    """Whether the added text contains the answer word for word; None for a question without an answer."""
    words: float | None = None
    """The share of the answer's content words in the added text, [0, 1]; None for a question without an answer."""
    redundancy: float | None = None
    """The share of shown items that nearly repeat an earlier one, [0, 1]; None where no item is shown."""
    stale: bool | None = None
    """Whether a superseded message is shown without its replacement; None where no message is superseded."""
    current: bool | None = None
    """Whether what replaced a superseded message is shown; None where no message is superseded."""
    unmarked: bool | None = None
    """Whether a superseded message is shown without a mark that it is outdated; None where no message is superseded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unlimited:
    """What one assembly without `max_tokens` added."""

    effort: str
    """A word or a number; empty for the strategy's own effort."""
    tokens: int
    """Tokens of all the added text, wrapper included."""
    items: int
    shares: tuple[float, ...]
    """The shown share of each evidence message, [0, 1], in the order of the sorted ids."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The result for one question at one clock."""

    conversation: str
    id: str
    question: str
    category: str
    clock: str
    ranks: tuple[int | None, ...]
    """The rank of each evidence message among all ranked messages, counted from 1, in the order of the sorted ids; None for a
    message that no source found."""
    shown: tuple[Shown, ...]
    """One entry for each budget, ascending."""
    unlimited: tuple[Unlimited, ...] = ()
    """One entry for each effort, at the first clock only."""
    missed: tuple[MissedEvidence, ...] = ()
    """What wasn't shown within the budget nearest to 1,000 tokens."""
    fault: str = ""
    """Why germane fell back to a lower degradation level; empty where it didn't. `shown` describes the fallback then."""


# How much of a question's evidence is ranked or shown.


WHOLE_SHARE = 0.999
"""The shown share from which on a message counts as whole."""


def ranks(ranked: Iterable[Scored], evidence: Collection[str]) -> tuple[int | None, ...]:
    """The rank of each evidence message among the distinct messages of `ranked`, counted from 1, in the order of the sorted
    ids; None for a message that isn't ranked. Of several pieces of one message the best rank counts."""
    found: dict[str, int] = {}
    for scored in sorted(ranked, key=lambda scored: scored.rank):
        found.setdefault(scored.candidate.provenance.message_id or scored.id, len(found) + 1)
    return tuple(found.get(id) for id in sorted(evidence))


def shares(items: Iterable[Chosen], evidence: Collection[str]) -> tuple[float, ...]:
    """The shown share of each evidence message, [0, 1], in the order of the sorted ids. Pieces of one message add up; a memory
    that was extracted from a message shows the part of it that it states."""
    found = dict.fromkeys(sorted(evidence), 0.0)
    for item in items:
        id = item.provenance.message_id
        if id in found:
            found[id] = min(1.0, found[id] + item.share * item.provenance.metadata.get("share", 1.0))
    return tuple(found.values())


def any_at(ranks: Sequence[int | None], k: int) -> float:
    """1.0 when at least one evidence message is among the first k."""
    return float(any(rank is not None and rank <= k for rank in ranks))


def every_at(ranks: Sequence[int | None], k: int) -> float:
    """1.0 when every evidence message is among the first k."""
    return float(all(rank is not None and rank <= k for rank in ranks))


def fraction_at(ranks: Sequence[int | None], k: int) -> float:
    """The share of the evidence messages that are among the first k."""
    return sum(rank is not None and rank <= k for rank in ranks) / len(ranks)


def any_within(shares: Sequence[float]) -> float:
    """1.0 when any part of any evidence message is shown."""
    return float(any(share > 0 for share in shares))


def every_within(shares: Sequence[float]) -> float:
    """1.0 when every evidence message is shown whole."""
    return float(all(share >= WHOLE_SHARE for share in shares))


def fraction_within(shares: Sequence[float]) -> float:
    """The mean shown share of the evidence messages."""
    return sum(shares) / len(shares)


def touched_within(shares: Sequence[float]) -> float:
    """The share of the evidence messages of which any part is shown."""
    return sum(share > 0 for share in shares) / len(shares)


# The evidence that a context didn't show, with its text, and what was shown in its place.


_TYPICAL_BUDGET = 1000
"""Tokens of the budget that missed evidence is shown for, or the one nearest to it."""
_MAX_TEXT, _MAX_INSTEAD = 400, 200
"""Characters that are kept of each text."""
_ITEMS = 3


def nearest_budget(budgets: Sequence[int]) -> int:
    """Returns the budget that is nearest to 1,000 tokens."""
    return min(budgets, key=lambda budget: abs(budget - _TYPICAL_BUDGET))


async def missed_evidence(
    agent: Agent, context: Context, evidence: Sequence[str], shares: Sequence[float]
) -> tuple[MissedEvidence, ...]:
    """Returns the evidence messages of which nothing is shown. `shares` is the shown share of each of `evidence`. What stood in
    the place of each are the best items that are no evidence."""
    wanted = set(evidence)
    others = sorted(context.items, key=lambda item: item.scored.rank)
    instead = tuple(cut(one.text, _MAX_INSTEAD) for one in others if (one.provenance.message_id or one.id) not in wanted)[
        :_ITEMS
    ]
    missed = [id for id, share in zip(evidence, shares, strict=True) if not share]
    return tuple([MissedEvidence(id=id, text=await _text(agent, id), instead=instead) for id in missed])


async def _text(agent: Agent, id: str) -> str:
    try:
        return cut((await agent.find(id)).text, _MAX_TEXT)
    except (NotFound, InvalidInput):
        return ""


def cut(text: str, limit: int) -> str:
    """Returns the text in one line of at most `limit` characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else f"{flat[: limit - 1].rstrip()}…"


# Whether the added text contains the words of the answer. This needs no labelled messages, only the answer. It can't
# judge an answer that has to be worked out, such as a sum, or a paraphrase.


_WORD = re.compile(r"\w+")
_ARTICLES = frozenset({"a", "an", "the"})
_UNSPACED = re.compile(f"[{UNSPACED}]")


def contained(answer: str, text: str) -> bool | None:
    """Whether the normalised text contains the normalised answer: folded, without punctuation and English articles. Only whole
    words match in scripts that separate words by spaces. None for an answer without a word."""
    wanted, given = _normal(answer), _normal(text)
    if not wanted:
        return None
    return wanted in given if _UNSPACED.search(wanted) else f" {wanted} " in f" {given} "


def words_shared(answer: str, text: str) -> float | None:
    """The share of the answer's distinct content words (stemmed, without stop words) that the text contains, [0, 1]; None for
    an answer without content words."""
    terms = query_terms(answer)
    if not terms:
        return None
    stems = frozenset(analyse(text))
    return sum(not stems.isdisjoint(term.stems) for term in terms) / len(terms)


def _normal(text: str) -> str:
    return " ".join(word for word in _WORD.findall(fold(text)) if word not in _ARTICLES)


# Wasted text: shown items that repeat another, and superseded messages.


ALIKE = 0.5
"""The Jaccard index from which on two texts are near-duplicates."""

_LENGTH = 3


def redundancy(texts: Sequence[str]) -> float | None:
    """The share of the texts that nearly repeat an earlier one, [0, 1]: |A ∩ B| / |A ∪ B| ≥ 0.5 for the sets A and B of their
    three-word shingles (resemblance; Broder 1997). None where there are no texts."""
    if not texts:
        return None
    sets: list[frozenset[tuple[str, ...]]] = []
    holders: dict[tuple[str, ...], list[int]] = {}
    repeated = 0
    for text in texts:
        own = shingles(text)
        shared = Counter(holder for shingle in own for holder in holders.get(shingle, ()))
        repeated += any(both / (len(own) + len(sets[other]) - both) >= ALIKE for other, both in shared.items())
        for shingle in own:
            holders.setdefault(shingle, []).append(len(sets))
        sets.append(own)
    return repeated / len(texts)


@lru_cache(maxsize=1 << 12)
def shingles(text: str) -> frozenset[tuple[str, ...]]:
    """Every three consecutive words of the folded text; a shorter text has one shingle with all of its words. LRU-cached."""
    words = _WORD.findall(fold(text))
    if len(words) < _LENGTH:
        return frozenset([tuple(words)] if words else [])
    return frozenset(zip(words, words[1:], words[2:], strict=False))


def stale(shown: Collection[str], *, superseded: Collection[str], evidence: Collection[str]) -> bool | None:
    """Whether a superseded message is shown without any of its replacements, which are the evidence that isn't superseded
    itself. None where no message is superseded."""
    if not superseded:
        return None
    current = set(evidence) - set(superseded)
    return not set(shown).isdisjoint(superseded) and current.isdisjoint(shown)


def current(shown: Collection[str], *, superseded: Collection[str], evidence: Collection[str]) -> bool | None:
    """Whether any replacement of a superseded message is shown. None where no message is superseded."""
    return not (set(evidence) - set(superseded)).isdisjoint(shown) if superseded else None


def unmarked(shown: Mapping[str, bool], *, superseded: Collection[str]) -> bool | None:
    """Whether a superseded message is shown without a mark that says so; `shown` says of each message whether it is marked.
    None where no message is superseded."""
    return any(not marked for id, marked in shown.items() if id in superseded) if superseded else None
