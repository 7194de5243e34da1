"""Budget: what a model's window leaves for germane, its shares, and how much of it an assembly uses (NEED, AMOUNT)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from heapq import nlargest
from itertools import islice
from math import inf
from types import MappingProxyType
from typing import Any, Final, Literal

from germane.errors import InvalidInput
from germane.types.candidate import LeftOut, Scored
from germane.types.checks import check_text, check_whole_number
from germane.types.evidence import Unread
from germane.types.limits import COUNT, NAME

_CONSTRAINED_BELOW = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """All numbers are tokens of the target model. `available` is what germane may add, wrappers included."""

    window: int
    messages: int
    tools: int
    reserve: int
    safety: int
    available: int
    cap: int
    exceeds_window: bool
    """True where the messages and tools alone don't fit beside reserve and safety margin: nothing is added."""

    @property
    def is_constrained(self) -> bool:
        return self.available < _CONSTRAINED_BELOW


def allocate(
    *,
    window: int,
    max_output: int,
    messages: int,
    tools: int,
    safety_fraction: float,
    cap: int,
    overhead: int = 0,
    reserve: int | None = None,
) -> Budget:
    """window − messages − tools − reserve − safety − overhead, floored at 0, never above `cap`.

    reserve = clamp(15 % of the window, 500, 4,096) unless given, never above the model's max output; safety is a fraction of
    the window.
    `overhead` is what germane's own messages cost beside their text, and what a dialect adds to the caller's messages. Sizes
    are 0 or more.
    """
    reserve = min(min(max(int(window * 0.15), 500), 4096) if reserve is None else reserve, max_output)
    safety = int(window * safety_fraction)
    room = window - messages - tools - reserve - safety
    return Budget(
        window=window,
        messages=messages,
        tools=tools,
        reserve=reserve,
        safety=safety,
        available=max(0, min(room - overhead, cap)),
        cap=cap,
        exceeds_window=room < 0,
    )


# How a builder shares out the tokens of one whole request, by model (BUILD-3).


_SMALL_BELOW = 120_000
"""Tokens of a window below which the limits for small models hold: those for large ones take 100,000 and a safety margin."""
_MEMORY_SHARE, _RESPONSE_SHARE = 0.25, 0.25
"""The most of a window that memory and the answer get, where it is smaller than the limits together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLimits:
    """Tokens of the model, but for `max_messages`. `max_tokens` bounds the window; `memory_tokens` all that germane adds of
    what is stored (directive, blocks, activity, memories and messages that were found); `history_tokens` the conversation, of
    which the running exchange stays whatever it takes; `response_tokens` is kept free for the answer, and is its maximum."""

    max_tokens: int = 200_000
    memory_tokens: int = 12_000
    history_tokens: int = 80_000
    response_tokens: int = 8_000
    max_messages: int = 500

    def __post_init__(self) -> None:
        for name in (each.name for each in fields(self)):
            value, minimum = getattr(self, name), 0 if name == "memory_tokens" else 1
            check_whole_number(f"limits.{name}", value, minimum, COUNT.maximum)

    def within(self, window: int, max_output: int) -> RequestLimits:
        """The limits as a model of this window can keep them: never more than it has, and in a small window with room for each
        part."""
        size = min(self.max_tokens, window)
        answer = min(self.response_tokens, max_output) if max_output else self.response_tokens
        if self.memory_tokens + self.history_tokens + answer <= size:
            return replace(self, max_tokens=size, response_tokens=answer)
        return replace(
            self,
            max_tokens=size,
            response_tokens=max(1, min(answer, int(size * _RESPONSE_SHARE))),
            memory_tokens=min(self.memory_tokens, int(size * _MEMORY_SHARE)),
        )


LARGE = RequestLimits()
SMALL = RequestLimits(memory_tokens=6_000, history_tokens=40_000, response_tokens=4_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitTable:
    """The limits by model. `overrides` are by the name of a model or the beginning of its name (`claude`, `gpt-4o`), of which
    the longest counts. `changes` replace single limits for every model."""

    large: RequestLimits = LARGE
    small: RequestLimits = SMALL
    overrides: Mapping[str, RequestLimits] = field(default_factory=dict)
    changes: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, limits in self.overrides.items():
            if not check_text("limits.overrides", name, NAME).strip() or not isinstance(limits, RequestLimits):
                raise InvalidInput("must map names of models to RequestLimits, not {}", name, path="limits.overrides")
        if strangers := self.changes.keys() - {each.name for each in fields(RequestLimits)}:
            raise InvalidInput(
                "has no {}", min(strangers), path="limits", advice=f"give {', '.join(e.name for e in fields(RequestLimits))}"
            )
        self._changed(self.large)

    def of(self, names: tuple[str, ...], window: int, max_output: int) -> RequestLimits:
        """The limits of a model by the names it goes by, of this window and maximum output."""
        found = [name for name in self.overrides if any(_is_of(name.lower(), each.lower()) for each in names)]
        base = self.overrides[max(found, key=len)] if found else self.small if window < _SMALL_BELOW else self.large
        return self._changed(base).within(window, max_output)

    def _changed(self, limits: RequestLimits) -> RequestLimits:
        changes: dict[str, Any] = dict(self.changes)
        return replace(limits, **changes) if changes else limits


def _is_of(family: str, model: str) -> bool:
    """Whether the model is of this name, or its name goes on after it with a new word."""
    return model.startswith(family) and not model[len(family) : len(family) + 1].isalnum()


# A text made to fit into a number of tokens, and how; and the count of a text's tokens.


CompressionMethod = Literal["whole", "extractive", "llm"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CompressedText:
    """`tokens` are those of `text`, `original_tokens` those of what was given, as the model counts them or by an upper
    estimate. `method` is `whole` where nothing had to be done, `extractive` for sentences of the text itself, `llm` for what a
    language model wrote. `share` is the length of `text` over that of the original, in [0, 1]. `note` says why a language
    model's answer wasn't used."""

    text: str
    tokens: int
    original_tokens: int
    method: CompressionMethod
    share: float
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenCount:
    """`exact` tells whether this is the model's own count; else it is an upper estimate. `tokenizer` is what counted."""

    tokens: int
    exact: bool
    tokenizer: str


# Amount: how much an assembly adds: whether anything is needed, and what a token must bring (NEED, AMOUNT). P(need) is
# the probability that anything stored helps with the request. Below a strategy's threshold nothing that was searched
# for goes in. Above it, an item goes in while the share of the still missing that it is expected to bring is worth its
# tokens: gain = min(1, 2 P(need)) · P(item is relevant) / (number of relevant items expected in this request) an item
# goes in while gain / tokens ≥ price So a request of which it is doubtful that it needs anything gets little. The rule
# compares the candidates of one request with one another: it holds where all probabilities are off by one factor. The
# price follows from the request's effort. A long message may bring a passage for fewer tokens. The size and the value
# of a passage are defined here, as the search decides by them what to read and the packer what to show.


_TELLING_FACTOR = 8.0
"""By how much tokens cost more in answer to a message that asks for nothing, as most turns of a chat do. Set by hand, as no
labelled conversation says what such a turn needs: 8 keeps 90 % of the prompts' prefix in replayed conversations, 1 keeps 59."""
_OVERVIEW_FACTOR = 1.05
"""By how much they cost more for an overview (`broad`): its many short passages overlap in what they say."""
EXPECTED_CLAUSES = 1.3
"""The clauses that a request needs at least, as a rule, where messages are shown clause by clause. Their probabilities mean
what they say, so that little is shown where little is probable. Measured: docs/research/everyday.md."""
LINE_TOKENS = 32
"""Tokens that the best clause is worth in any case, where the request needs anything: in a store of five messages every
probability is low."""
COUNTED_ITEMS = 50
"""The best candidates that count as possibly relevant. Measured on LoCoMo within 750 tokens: 10 or 20 give 86.8 % of the
evidence, 50 give 87.7, all of some hundred 87.2."""
MAX_CHARS_PER_TOKEN = 8
"""Of any usual text: a longer one takes more tokens, and isn't counted to learn that."""
PASSAGE_TOKENS = 42
"""Tokens of a passage's text. Measured on chats with an assistant: 58 loses a point and a half of recall within 1,000 tokens,
122 loses five, whole messages lose seven."""
SHORT_PASSAGE_TOKENS = 16
"""The same for an overview (`broad`), where a passage counts as the whole. Measured within 2,000 tokens: with passages of 42
tokens 59 % (order of events) and 28 % (summaries) of the messages asked for are shown in part, with 24 tokens 75 and 39, with
16 tokens 88 and 42."""
PASSAGE_VALUE = 0.4
"""What the passage that answers best is worth, as a fraction of the whole text."""


def shown_value(share: float) -> float:
    """What a text is worth of which this share is shown, as a fraction of the whole: its best passage is worth two fifths, and
    the rest grows with the share. Measured on chats with an assistant within 1,000 tokens: passages worth everything touch 70 %
    of the evidence and show 54 % of it; by this rule they touch 68 and show 61; worth their share alone, 62 and 62."""
    return PASSAGE_VALUE + (1 - PASSAGE_VALUE) * min(1.0, share)


def expected_clauses(chances: Iterable[float]) -> float:
    """Returns how many clauses a request needs, of clauses with these probabilities: the sum of the highest, at least
    `EXPECTED_CLAUSES`."""
    return max(EXPECTED_CLAUSES, sum(nlargest(COUNTED_ITEMS, chances)))


def price_asked(per_token: float, *, asks: bool, broad: bool) -> float:
    """Returns the price of a token in one request: more for a request that only tells something (not `asks`), and for an
    overview (`broad`)."""
    return per_token * (_OVERVIEW_FACTOR if broad else 1.0 if asks else _TELLING_FACTOR)


@dataclass(frozen=True, slots=True)
class Need:
    """P(need) of one request, in [0, 1], and the strategy's threshold."""

    probability: float
    threshold: float

    @property
    def met(self) -> bool:
        return self.probability >= self.threshold


@dataclass(frozen=True, slots=True)
class TokenPrice:
    """What a token costs in one request. `per_token` is a share of what is missing; `expected` is the number of relevant items
    to be expected, the sum of the probabilities of the best candidates; `need` is P(need). What has the probability `best` is
    worth a line (`LINE_TOKENS`) in any case."""

    per_token: float
    expected: float
    need: float = 1.0
    best: float = inf

    @classmethod
    def of(cls, per_token: float, ranked: Iterable[Scored], need: float = 1.0, *, unread: Sequence[Unread] = ()) -> TokenPrice:
        """The price for these candidates, which must stand in score order, and for those that weren't read. Required items
        don't count: they go in anyway."""
        found = list(islice((item.score for item in ranked if not item.candidate.required), COUNTED_ITEMS))
        if unread:
            found = nlargest(COUNTED_ITEMS, [*found, *(item.probability for item in unread)])
        return cls(per_token, sum(found), need)

    @classmethod
    def of_clauses(cls, per_token: float, ranked: Iterable[Scored], need: float) -> TokenPrice:
        """The price where clauses were scored, whose probabilities mean what they say."""
        chances = [item.score for item in ranked if not item.candidate.required and item.candidate.line is None]
        return cls(per_token, expected_clauses(chances), need, max(chances, default=inf))

    def gain(self, value: float) -> float:
        """The share of what is missing that `value`, a probability, is expected to bring."""
        return min(1.0, 2.0 * self.need) * value / self.expected if self.expected > 0 else 0.0

    def pays(self, value: float, tokens: int) -> bool:
        """Whether an item of this value is worth so many tokens."""
        return self.gain(value) >= self.per_token * tokens or (value >= self.best and tokens <= LINE_TOKENS)


@dataclass(frozen=True, slots=True)
class Cut:
    """Where the price stopped: the price, and the item that came nearest to it without reaching it, if there was one."""

    price: TokenPrice
    nearest: LeftOut | None = None

    @classmethod
    def of(cls, price: TokenPrice, left_out: Iterable[LeftOut]) -> Cut:
        priced = [out for out in left_out if out.reason == "price" and out.tokens and out.value is not None]
        return cls(price, max(priced, key=lambda out: (out.value or 0.0) / (out.tokens or 1), default=None))


# Effort says how readily an assembly spends tokens (AMOUNT-2). The price is the share of what is still missing that one
# token must be expected to bring, so a higher effort means a lower price, and more goes in. A number is relative to
# `medium`: 1 is medium, and 2 halves the price.


Effort = Literal["low", "medium", "high"]

_MEDIUM_PRICE: Final = 3.19e-4
_PRICES: Mapping[str, float] = MappingProxyType(
    {"low": 2 * _MEDIUM_PRICE, "medium": _MEDIUM_PRICE, "high": _MEDIUM_PRICE / 2.08}
)
"""Share of what is missing per token."""
_MIN_EFFORT, _MAX_EFFORT = 0.01, 100


def price_of_effort(effort: Effort | float) -> float:
    """Returns the price per token. Raises `InvalidInput` for another word and for a number outside 0.01 to 100."""
    if isinstance(effort, str):
        if effort in _PRICES:
            return _PRICES[effort]
    elif isinstance(effort, int | float) and not isinstance(effort, bool) and _MIN_EFFORT <= effort <= _MAX_EFFORT:
        return _MEDIUM_PRICE / effort
    words = ", ".join(_PRICES)
    raise InvalidInput(
        f"must be {words}, or a number from {_MIN_EFFORT} to {_MAX_EFFORT} (1 is medium), not {{}}", effort, path="effort"
    )


def parse_effort(written: str) -> Effort | float:
    """Returns the effort that a text names: a word, or a number in digits. Raises `InvalidInput`."""
    effort: Effort | float = written  # type: ignore[assignment]
    if written not in _PRICES:
        with suppress(ValueError):
            effort = float(written)
    price_of_effort(effort)
    return effort
