"""Amount: how much an assembly adds without being told: whether anything is needed, and what a token must bring (NEED, AMOUNT).

P(need) is the probability that anything stored helps with the request. Below a strategy's threshold nothing that was searched
for goes in. Above it, an item goes in while the share of the still missing that it is expected to bring is worth its tokens:

    gain = min(1, 2 P(need)) · P(item is relevant) / (number of relevant items expected in this request)
    an item goes in while gain / tokens ≥ price

So a request of which it is doubtful that it needs anything gets little. The rule compares the candidates of one request with
one another: it holds where all probabilities are off by one factor.

A long message may bring a passage for fewer tokens. The passage's size and its worth stand here, as the search decides by them
what to read and the packer what to show.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import nlargest
from itertools import islice
from math import inf

from germane.types.candidate import LeftOut, Scored
from germane.types.unread import Unread

__all__ = [
    "COUNTED_ITEMS",
    "EXPECTED_CLAUSES",
    "LINE_TOKENS",
    "MOST_CHARS_PER_TOKEN",
    "PASSAGE_TOKENS",
    "PASSAGE_VALUE",
    "SHORT_PASSAGE_TOKENS",
    "Cut",
    "Need",
    "TokenPrice",
    "expected_clauses",
    "price_asked",
    "shown_value",
]

_TELLING = 8.0
"""By how much tokens cost more in answer to a message that asks for nothing, as most turns of a chat do. Set by hand, as no
labelled conversation says what such a turn needs: 8 keeps 90 % of the prompts' prefix in replayed conversations, 1 keeps 59."""
_OVERVIEW = 1.05
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
MOST_CHARS_PER_TOKEN = 8
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
    return per_token * (_OVERVIEW if broad else 1.0 if asks else _TELLING)


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
