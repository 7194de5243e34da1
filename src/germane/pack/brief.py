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
        self._own: dict[str, int] = {}
        self._long: set[str] = set()
        self._headers: dict[str, int] = {}

    def cost(self, item: Scored, groups: frozenset[str]) -> int:
        """Its own line, and its group's header unless that is in `groups`."""
        own = self._own.get(item.id)
        if own is None:
            own = self._own[item.id] = self._first(item)
        group = self._layout.group(item.candidate)
        return own if group in groups else own + self._header(item, group)

    def long(self, item: Scored) -> bool:
        self.cost(item, _ALONE)
        return item.id in self._long

    def passage(self, item: Scored) -> int:
        """The most that a passage may cost, a header of its own included."""
        return self._layout.cost(item.candidate, "", _ALONE) + PASSAGE

    def _first(self, item: Scored) -> int:
        candidate, group = item.candidate, frozenset((self._layout.group(item.candidate),))
        may = "event" in candidate.kinds and not candidate.required
        whole = None
        if not may or len(candidate.text) <= _SURELY * _WHOLE:
            whole = self._layout.cost(candidate, candidate.text, group)
            if not may or whole <= _WHOLE:
                return whole
        empty = self._layout.cost(candidate, "", group)
        if whole is not None and whole - empty <= _WHOLE:
            return whole
        self._long.add(item.id)
        return empty + PASSAGE

    def _header(self, item: Scored, group: str) -> int:
        known = self._headers.get(group)
        if known is None:
            alone, among = (self._layout.cost(item.candidate, "", groups) for groups in (_ALONE, frozenset((group,))))
            known = self._headers[group] = alone - among
        return known
