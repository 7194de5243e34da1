"""Everyday: a person's requests as turns of a conversation: what each is shown; and turns that need no memory.

A talk holds what its conversation was shown up to now, and what that makes of each request.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from math import nan
from typing import Literal

import numpy as np

from germane.types.candidate import Chosen
from germane.types.context import Context, Metadata
from germane_eval.answers import MissedEvidence, cut
from germane_eval.dataset import Question, spread_evenly
from germane_eval.metrics import Interval, intervals, message_text, resampling_groups

OPEN = 0
"""Stands for the budget of a request without one: the strategy decides how much is added."""

_PROFILE = "profile"
"""The source of what always stands."""
_REPLY = "Okay."
_TEXT, _LINE, _ITEMS = 400, 200, 6
"""Characters that are kept of a message, and of each of the items that were shown, of which the best are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestAnswer:
    """What one request of a talk was shown, within `budget` tokens or without one (`OPEN`). Tokens are those of all that the
    prompt holds more than the caller's own messages."""

    conversation: str
    id: str
    question: str
    category: str
    budget: int
    found: bool | None
    """Whether all the evidence stands in the prompt; None for a request that needs nothing stored."""
    alone: bool
    """Whether outdated text stands there without all the evidence."""
    standing: int
    """Tokens in this prompt, from whichever turn."""
    new: int
    """Tokens that this turn added."""
    profile: int
    """Of the standing tokens those of what always stands."""
    searched: int
    """Of the new tokens those beyond what always stands."""
    items: int
    """Items that this turn added."""
    searched_items: int
    """Of these items those beyond what always stands."""
    answer: str | None = None
    needed: tuple[MissedEvidence, ...] = ()
    """The evidence that isn't held, each with the lines that stood in its place. Empty within a budget."""
    shown: tuple[str, ...] = ()
    """Where the request is a miss: the best of what this turn added. Empty within a budget."""

    @property
    def missed(self) -> bool:
        """Whether evidence isn't shown, outdated text stands alone, or items are added where nothing stored is needed."""
        return self.alone or (self.searched_items > 0 if self.found is None else not self.found)


@dataclass(slots=True, kw_only=True)
class Talk:
    """Put a request with `ask`, assemble `messages`, and hand the context to `answer`; then the next request.

    What was shown for an earlier request counts for the later ones of the talk, as long as it stands."""

    conversation: str
    session: str
    """Of all its requests."""
    said: Mapping[str, str]
    """The texts of the person's messages by id."""
    count: Callable[[str], int]
    """Counts the tokens of a text."""
    budget: int = OPEN
    messages: list[dict[str, str]] = field(default_factory=list)
    """The caller's own: the requests up to now, each but the last with a reply."""
    shown: dict[str, str] = field(default_factory=dict)
    """What was shown of each message or memory, by id."""
    standing: int = 0
    profile: int = 0

    def ask(self, question: Question) -> None:
        """Appends the request to `messages`."""
        if self.messages:
            self.messages.append({"role": "assistant", "content": _REPLY})
        self.messages.append(question.message)

    def answer(self, question: Question, context: Context) -> RequestAnswer:
        """What `context`, the assembly of `messages`, shows for the last request."""
        for item in context.items:
            for id in _origins(item):
                self.shown[id] = f"{self.shown.get(id, '')} {item.text}"
        prompt = "\n".join(map(message_text, context.to_openai()))
        standing = self.count(prompt) - self.count("\n".join(map(message_text, self.messages)))
        profile = profile_tokens(context.metadata)
        new, more = standing - self.standing, profile - self.profile
        self.standing, self.profile = standing, profile
        needed = self._needed(question, flat_text(prompt))
        found = not needed if question.evidence else None
        answered = RequestAnswer(
            conversation=self.conversation,
            id=question.id,
            question=question.text,
            category=question.category,
            budget=self.budget,
            found=found,
            alone=bool(needed) and not question.superseded.isdisjoint(self.shown),
            standing=standing,
            new=new,
            profile=profile,
            searched=new - more,
            items=len(context.items),
            searched_items=sum(not always_stands(item) for item in context.items),
            answer=question.answer,
        )
        if self.budget != OPEN or not answered.missed:
            return answered
        return _with_texts(answered, needed, context.items)

    def _needed(self, question: Question, prompt: str) -> tuple[MissedEvidence, ...]:
        """The evidence that isn't held in the flat text of the prompt."""
        found = []
        for id in sorted(question.evidence):
            text = self.said[id]
            there = text if is_in_prompt(text, prompt) else self.shown.get(id)
            if there is None or not is_held(text, question.answer or "", there):
                instead = () if there is None else (cut(there, _LINE),)
                found.append(MissedEvidence(id=id, text=cut(text, _TEXT), instead=instead))
        return tuple(found)


def _with_texts(answered: RequestAnswer, needed: tuple[MissedEvidence, ...], items: Sequence[Chosen]) -> RequestAnswer:
    best = sorted(items, key=lambda item: item.scored.rank)[:_ITEMS]
    return replace(answered, needed=needed, shown=tuple(cut(item.text, _LINE) for item in best))


def _origins(item: Chosen) -> set[str]:
    """The ids of the messages that an item is, or is made of."""
    provenance = item.provenance
    made_of: Sequence[str] = getattr(provenance, "message_ids", ())
    return {id for id in (provenance.message_id, *made_of) if id is not None}


def always_stands(item: Chosen) -> bool:
    """Whether the item is a line of the profile."""
    return item.source == _PROFILE


def profile_tokens(metadata: Metadata) -> int:
    """Tokens of what always stands in this prompt."""
    tokens: int = getattr(metadata, "profile_tokens", 0)
    return tokens


# Whether what a request needs is shown: each message of its evidence, or lines made of it, with the answer's words. Of
# a message, those words count that the answer shares with it. A line that was made of the message need not repeat the
# rest.


_UNSPACED = r"\u3040-\u30ff\u3400-\u9fff"
_RUN = re.compile(f"[{_UNSPACED}]+")
_WORD = re.compile(rf"[^\W_{_UNSPACED}]+")
_MIN_WORD = 3
"""Characters of the shortest word that counts."""
_SMALL_WORDS = """
    all and any are but for from had has have her his into its not one she that the their they this was were with you your
"""
_COMMON = frozenset(_SMALL_WORDS.split())
_MIN_SHOWN_SHARE = 0.75
"""The share of a message's units that must be shown."""
_RECOGNISED_BY = 80
"""Characters by which a message is recognised in a prompt: long ones are shortened there."""


def answer_units(text: str) -> frozenset[str]:
    """Returns numbers and words of three letters and more, in lower case, without the commonest English ones; of Chinese and
    Japanese every two characters that follow each other."""
    text = text.lower()
    pairs = {run[at : at + 2] for run in _RUN.findall(text) for at in range(len(run) - 1)}
    return frozenset(pairs | {word for word in _WORD.findall(text) if _counts(word)})


def is_held(message: str, answer: str, shown: str) -> bool:
    """Whether `shown` has three quarters of the units that `answer` and `message` share; true where they share none."""
    wanted = answer_units(answer) & answer_units(message)
    return len(wanted & answer_units(shown)) >= _MIN_SHOWN_SHARE * len(wanted)


def flat_text(text: str) -> str:
    """`text` with single spaces between its words."""
    return " ".join(text.split())


def is_in_prompt(message: str, prompt: str) -> bool:
    """Whether the message itself stands in the flat text of the prompt, by its first 80 characters."""
    return flat_text(message)[:_RECOGNISED_BY] in prompt


def _counts(word: str) -> bool:
    return (len(word) >= _MIN_WORD or word.isdigit()) and word not in _COMMON


# The means over a person's requests, by category and by person, without a budget and within each.


By = Literal["all", "category", "person"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestFigure:
    """Means over `count` requests: all of them, or those of one category or one person.

    Over all requests and over those of a person, `count`, `alone`, `standing` and `profile` are of the requests that need
    something, the others of every turn. `low` and `high` bound the middle 95 % of the resampled means of `found`."""

    by: By
    name: str
    """The category or the person; empty for all requests."""
    budget: int
    """Tokens; 0 without a budget."""
    count: int
    found: float | None
    """The share of the requests of which all the evidence is shown; None where none of them needs any."""
    low: float | None
    high: float | None
    alone: float
    """The share that was shown outdated text without all the evidence."""
    standing: float
    """Tokens in the prompt, from whichever turn."""
    new: float
    """Tokens that a turn added."""
    profile: float
    """Of the standing tokens those of what always stands."""
    searched: float
    """Of the new tokens those beyond what always stands."""
    items: float
    """The share of the turns that got any item."""
    searched_items: float
    """The share of the turns that got any item beyond what always stands."""


_FIGURE_COLUMNS: tuple[Callable[[RequestAnswer], float], ...] = (
    lambda answer: nan if answer.found is None else answer.found,
    lambda answer: answer.alone,
    lambda answer: answer.standing,
    lambda answer: answer.profile,
    lambda answer: answer.new,
    lambda answer: answer.searched,
    lambda answer: answer.items > 0,
    lambda answer: answer.searched_items > 0,
)
_OF_NEEDING = 4
"""So many columns are means over the requests that need something, but for a category."""


def request_figures(answers: Sequence[RequestAnswer], seed: int = 0) -> tuple[RequestFigure, ...]:
    """The figures without a budget first, then those within each budget: of all requests, of each category by name, and of
    each person. Empty without answers."""
    found = []
    for budget in sorted({answer.budget for answer in answers}):
        asked = [answer for answer in answers if answer.budget == budget]
        found.append(_request_figure("all", "", asked, seed))
        found += _grouped("category", asked, lambda answer: answer.category, seed)
        found += _grouped("person", asked, lambda answer: answer.conversation, seed)
    return tuple(found)


def _grouped(
    by: By, answers: Sequence[RequestAnswer], name_of: Callable[[RequestAnswer], str], seed: int
) -> list[RequestFigure]:
    names = sorted({name for answer in answers if (name := name_of(answer))})
    return [_request_figure(by, name, [answer for answer in answers if name_of(answer) == name], seed) for name in names]


def _request_figure(by: By, name: str, answers: Sequence[RequestAnswer], seed: int) -> RequestFigure:
    needing = [answer for answer in answers if answer.found is not None] or answers
    found, alone, standing, profile = _means(answers if by == "category" else needing, seed)[:_OF_NEEDING]
    new, searched, items, searched_items = _means(answers, seed)[_OF_NEEDING:]
    return RequestFigure(
        by=by,
        name=name,
        budget=answers[0].budget,
        count=alone.count,
        found=found.mean if found.count else None,
        low=found.low,
        high=found.high,
        alone=alone.mean,
        standing=standing.mean,
        new=new.mean,
        profile=profile.mean,
        searched=searched.mean,
        items=items.mean,
        searched_items=searched_items.mean,
    )


def _means(answers: Sequence[RequestAnswer], seed: int) -> list[Interval]:
    rows = [[column(answer) for column in _FIGURE_COLUMNS] for answer in answers]
    return intervals(np.array(rows, dtype=np.float64), resampling_groups([""] * len(rows), whole=False), seed)


# Turns of chats in ten languages that nothing stored helps with (NEED-1), in two halves: `fit` serves to fit the
# probability of need, `report` only to report on it. Both have every kind of turn in every language, from thanks to
# pasted logs. `turns.jsonl` holds them, one JSON object a line.


Half = Literal["fit", "report"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnWithoutNeed:
    """A turn that a model answers as well without any memory."""

    id: int
    language: str
    """ISO 639-1."""
    kind: str
    """Such as `thanks`, `knowledge` or `code`."""
    half: Half
    text: str
    after: str = ""
    """The assistant's message that the turn follows; empty for a turn that makes sense alone."""

    @property
    def messages(self) -> list[dict[str, str]]:
        """The request that the turn is, in OpenAI's shape."""
        before = [{"role": "assistant", "content": self.after}] if self.after else []
        return [*before, {"role": "user", "content": self.text}]


@cache
def turns(half: Half) -> tuple[TurnWithoutNeed, ...]:
    """Returns the turns of one half, by language and kind."""
    lines = files("germane_eval").joinpath("turns.jsonl").read_text(encoding="utf-8").splitlines()
    return tuple(turn for turn in (TurnWithoutNeed(**json.loads(line)) for line in lines) if turn.half == half)


# What is added to turns that need no memory: how many of them get items, and how many tokens.


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnAnswer:
    """What one assembly added to a turn without need, asked in the store of one conversation."""

    id: int
    """Of the turn."""
    language: str
    kind: str
    conversation: str
    tokens: int
    """Tokens of all the added text but what always stands, wrapper and directive included. Where nothing else is added, the
    wrapper belongs to what always stands, and this is 0."""
    items: int
    """Number of items that were searched for: without the directive, and without what is pinned, required or always stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFigure:
    """Means over `count` turns without need: all of them, or those of one kind or one language."""

    by: Literal["all", "kind", "language"]
    name: str
    """The kind or the language; empty for all turns."""
    count: int
    tokens: float
    """Mean number of added tokens."""
    share: float
    """The share of the turns that got any item, [0, 1]. `low` and `high` bound the middle 95 % of its resampled means, and are
    None for fewer than five turns."""
    low: float | None
    high: float | None


def turns_by_conversation(names: Sequence[str], limit: int | None = None) -> dict[str, list[TurnWithoutNeed]]:
    """At most `limit` turns of the half `report`, evenly picked: of n conversations, turn i goes to conversation i mod n."""
    asked = turns("report") if limit is None else spread_evenly(turns("report"), limit)
    return {name: list(asked[index :: len(names)]) for index, name in enumerate(names)}


def turn_figures(answers: Sequence[TurnAnswer], seed: int = 0) -> tuple[TurnFigure, ...]:
    """The figures of all turns, then of each kind and of each language, the worst first. Empty without answers."""
    if not answers:
        return ()
    by_kind: dict[str, list[TurnAnswer]] = {}
    by_language: dict[str, list[TurnAnswer]] = {}
    for answer in answers:
        by_kind.setdefault(answer.kind, []).append(answer)
        by_language.setdefault(answer.language, []).append(answer)
    kinds = [_turn_figure("kind", name, alike, seed) for name, alike in by_kind.items()]
    languages = [_turn_figure("language", name, alike, seed) for name, alike in by_language.items()]
    return (_turn_figure("all", "", answers, seed), *sorted(kinds, key=_worst), *sorted(languages, key=_worst))


def _turn_figure(by: Literal["all", "kind", "language"], name: str, answers: Sequence[TurnAnswer], seed: int) -> TurnFigure:
    rows = [(one.tokens, one.items > 0) for one in answers]
    drawn = resampling_groups([""] * len(rows), whole=False)
    tokens, share = intervals(np.array(rows, dtype=np.float64), drawn, seed)
    return TurnFigure(by=by, name=name, count=share.count, tokens=tokens.mean, share=share.mean, low=share.low, high=share.high)


def _worst(figure: TurnFigure) -> tuple[float, float, str]:
    return (-figure.share, -figure.tokens, figure.name)
