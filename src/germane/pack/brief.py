"""Brief: a long message goes in as a passage around its match first, and grows when everybody has had a turn.

Of what an assistant wrote, up to a thousand tokens, one passage usually answers; the rest of it takes the place of other
messages. Typed memories are not cut like this: somebody chose their words.
"""

from __future__ import annotations

from germane.item import Scored
from germane.pack.cost import Layout

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
        self._known: dict[int, tuple[int, str, int]] = {}
        self._long: set[int] = set()
        self._among: dict[str, tuple[frozenset[str], int]] = {}

    def cost(self, item: Scored, groups: frozenset[str]) -> int:
        """Its own line, and its group's header unless that is in `groups`."""
        own, group, header = self._known.get(item.rank) or self._weigh(item)
        return own if group in groups else own + header

    def own(self, item: Scored) -> int:
        """Its own line."""
        return (self._known.get(item.rank) or self._weigh(item))[0]

    def group(self, item: Scored) -> str:
        """Which header it stands under."""
        return (self._known.get(item.rank) or self._weigh(item))[1]

    def long(self, item: Scored) -> bool:
        """Whether it goes in as a passage first."""
        if item.rank not in self._known:
            self._weigh(item)
        return item.rank in self._long

    def passage(self, item: Scored) -> int:
        """The most that a passage may cost, a header of its own included."""
        return self._layout.cost(item.candidate, "", _ALONE) + PASSAGE

    def _weigh(self, item: Scored) -> tuple[int, str, int]:
        """Own cost, group, and the cost of the group's header."""
        candidate = item.candidate
        group = self._layout.group(candidate)
        among = self._among.get(group)
        if among is None:
            inside, text = frozenset((group,)), candidate.text
            text = text if len(text) <= _SURELY * _WHOLE else ""
            own = self._layout.cost(candidate, text, inside)
            among = self._among[group] = (inside, self._layout.cost(candidate, text, _ALONE) - own)
        inside, header = among
        known = self._known[item.rank] = (self._first(item, inside), group, header)
        return known

    def _first(self, item: Scored, inside: frozenset[str]) -> int:
        candidate, text = item.candidate, item.candidate.text
        may = "event" in candidate.kinds and not candidate.required
        if len(text) <= 2 * _WHOLE and text.isascii():
            may = False  # it can hardly have so many tokens: not worth a second line to tell
        whole = None
        if not may or len(candidate.text) <= _SURELY * _WHOLE:
            whole = self._layout.cost(candidate, candidate.text, inside)
            if not may or whole <= _WHOLE:
                return whole
        empty = self._layout.cost(candidate, "", inside)
        if whole is not None and whole - empty <= _WHOLE:
            return whole
        self._long.add(item.rank)
        return empty + PASSAGE
