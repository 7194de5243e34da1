"""Brief: a long message goes in as a passage around its match first, and grows when everybody has had a turn.

Of what an assistant wrote, up to a thousand tokens, one passage usually answers; the rest of it takes the place of other
messages. Typed memories are not cut like this: somebody chose their words.
"""

from __future__ import annotations

from germane.pipeline.pack.cost import Layout
from germane.types.candidate import Candidate, Scored

__all__ = ["PASSAGE", "Brief"]

PASSAGE = 42
"""Tokens of text. Measured on chats with an assistant: 58 loses a point and a half of recall within 1,000 tokens, 122 five,
whole messages seven."""
_WHOLE = 90
"""Tokens of text up to which a message isn't long: to cut it would save less than it hides."""
_SURELY = 16
"""Characters a token at most: what is longer than that is long without being counted."""
_ALONE: frozenset[str] = frozenset()


class Brief:
    """What items cost as they would go in first. Asks the layout once or twice an item; lives no longer than one packing."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._known: dict[int, tuple[int, str, int, bool]] = {}
        self._among: dict[str, tuple[frozenset[str], int]] = {}

    def weighed(self, item: Scored) -> tuple[int, str, int, bool]:
        """The cost of its own line, the group whose header it stands under, the cost of that header, and whether it goes in as
        a passage first."""
        return self._known.get(item.rank) or self._weigh(item)

    def passage(self, item: Scored) -> int:
        """The most that a passage may cost, a header of its own included."""
        return self._layout.cost(item.candidate, "", _ALONE) + PASSAGE

    def _weigh(self, item: Scored) -> tuple[int, str, int, bool]:
        candidate = item.candidate
        group = self._layout.group(candidate)
        among = self._among.get(group)
        if among is None:
            inside, text = frozenset((group,)), candidate.text
            text = text if len(text) <= _SURELY * _WHOLE else ""
            own = self._layout.cost(candidate, text, inside)
            among = self._among[group] = (inside, self._layout.cost(candidate, text, _ALONE) - own)
        inside, header = among
        own, long = self._first(candidate, inside)
        known = self._known[item.rank] = (own, group, header, long)
        return known

    def _first(self, candidate: Candidate, inside: frozenset[str]) -> tuple[int, bool]:
        """What its own line costs at first, and whether that is a passage. ASCII text of so few characters as twice the tokens
        can hardly be long: it isn't worth a second line to tell."""
        text = candidate.text
        short = len(text) <= 2 * _WHOLE and text.isascii()
        if short or candidate.required or "event" not in candidate.kinds:
            return self._layout.cost(candidate, text, inside), False
        whole = None
        if len(text) <= _SURELY * _WHOLE:
            whole = self._layout.cost(candidate, text, inside)
            if whole <= _WHOLE:
                return whole, False
        empty = self._layout.cost(candidate, "", inside)
        if whole is not None and whole - empty <= _WHOLE:
            return whole, False
        return empty + PASSAGE, True
