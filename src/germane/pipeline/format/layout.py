"""Layout: what every format shares: order, sections, costs and the final text.

A `Grammar` says how things look; a `Format` made of one fulfils what packing asks (`pack/cost.py`) and writes the result.
Lines are rendered once and remembered for as long as the format lives, which is one assembly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple, Protocol

from germane.pipeline.format.category import TALK
from germane.pipeline.format.shorten import Excerpt, Excerpts
from germane.ports.tokenizer import Tokenizer
from germane.types.candidate import Candidate, Chosen

__all__ = ["Format", "Grammar", "Line", "Section", "Written"]

_JOINT = "\n\n"
_ALONE: frozenset[str] = frozenset()
_HUGE = 16_384
"""Characters above which a line is costed by its size: it is not worth the time to count what will hardly fit (BUD-2)."""


@dataclass(frozen=True, slots=True)
class Section:
    """What stands around items that belong together. `key` names it, `rank` orders it, both the same for all its items."""

    key: str
    rank: tuple[int, str]
    opening: str
    closing: str
    full: str = ""
    """The opening where another section shown has the same one."""


class Line(NamedTuple):
    """One item as written: `before`, a gap for what is known only at the end (a number, a score), `after`."""

    before: str
    after: str
    handle: str = ""
    """What the text calls it; empty where that is what goes into the gap."""


class Grammar(Protocol):
    """Pure text. Everything it returns is escaped."""

    def stable(self, directive: str, items: bool) -> str:
        """What doesn't change with the query; empty when there is nothing to say."""

    def section(self, candidate: Candidate) -> Section: ...

    def line(self, candidate: Candidate, text: str) -> Line: ...

    def late(self, sections: Sequence[tuple[Section, Sequence[str]]]) -> str:
        """The sections in order, each with its lines."""

    def gap(self, item: Chosen, number: int) -> str:
        """What goes between `before` and `after`. `number` counts the items as written, from 1."""

    @property
    def stand_in(self) -> str:
        """A gap as long as they come, to cost a line before its place is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What goes into the messages. `stable` and `late` go in one text (`text`) or apart; both are empty when there is nothing
    to inject. `items` stand in rendered order with their handles; `attribution` resolves each handle to an id (FORMAT-6)."""

    stable: str = ""
    late: str = ""
    items: tuple[Chosen, ...] = ()
    attribution: Mapping[str, str]

    @property
    def text(self) -> str:
        return _JOINT.join(filter(None, (self.stable, self.late)))


class Format:
    """One grammar, one tokenizer, one assembly. Not for keeping: what it remembers grows with what it is shown."""

    __slots__ = (
        *("_alike", "_costs", "_excerpts", "_grammar", "_headers", "_last", "_lines", "_sections", "_stand_in"),
        "_tokenizer",
    )

    def __init__(self, grammar: Grammar, tokenizer: Tokenizer, terms: Sequence[str]) -> None:
        self._grammar, self._tokenizer, self._stand_in = grammar, tokenizer, grammar.stand_in
        self._excerpts = Excerpts(terms)
        self._sections: dict[str, Section] = {}
        self._headers: dict[str, int] = {}
        self._alike: dict[str, int] = {}
        self._lines: dict[tuple[str, str], Line] = {}
        self._costs: dict[tuple[str, str], int] = {}
        self._last: tuple[str, tuple[Chosen, ...], Written] | None = None

    def fixed(self, directive: str) -> int:
        """The directive, the standing line and the outermost wrapper."""
        return self._count(self._grammar.stable(directive, True)) + self._count(_JOINT + self._grammar.late(()))

    def cost(self, candidate: Candidate, text: str, groups: frozenset[str]) -> int:
        """The item's own line, and its group's header unless `group(candidate)` is in `groups`."""
        key = (candidate.id, text)
        own = self._costs.get(key)
        if own is None:
            own = self._costs[key] = self._own(candidate, key)
        section = self._sections.get(candidate.id) or self._section(candidate)
        return own if section.key in groups else own + self._header(section)

    def group(self, candidate: Candidate) -> str:
        """Which header it stands under."""
        return (self._sections.get(candidate.id) or self._section(candidate)).key

    def shorten(self, candidate: Candidate, tokens: int) -> Excerpt | None:
        """An excerpt around what matches that costs at most `tokens` as written, a header of its own included; None when
        nothing worth showing fits."""
        return self._excerpts.of(candidate.text, tokens, lambda text: self.cost(candidate, text, _ALONE))

    def total(self, directive: str, chosen: Sequence[Chosen]) -> int:
        """Tokens of everything as it will be written: in one text or in two, whichever is more."""
        written = self.write(directive, chosen)
        if not (written.stable and written.late):
            return self._count(written.text)
        return max(self._count(written.text), self._count(written.stable) + self._count(written.late))

    def write(self, directive: str, chosen: Sequence[Chosen]) -> Written:
        """The final text. Order: sections by rank, memories by score, conversation by time."""
        items = tuple(chosen)
        if self._last is not None and self._last[0] == directive and self._last[1] == items:
            return self._last[2]
        written = self._write(directive, items)
        self._last = (directive, items, written)
        return written

    def _write(self, directive: str, chosen: tuple[Chosen, ...]) -> Written:
        placed = sorted(((self._section(item.scored.candidate), item) for item in chosen), key=_place)
        sections: list[tuple[Section, list[str]]] = []
        items: list[Chosen] = []
        handles: dict[str, str] = {}
        for _, group in groupby(placed, key=lambda pair: pair[0].key):
            members, lines = list(group), []
            for _, item in members:
                line = self._line(item.scored.candidate, item.text)
                gap = self._grammar.gap(item, len(items) + 1)
                handle = _unused(line.handle or gap, handles)
                handles[handle] = item.id
                lines.append(f"{line.before}{gap}{line.after}")
                items.append(Chosen(scored=item.scored, text=item.text, tokens=item.tokens, share=item.share, handle=handle))
            sections.append((members[0][0], lines))
        stable = self._grammar.stable(directive, bool(items))
        late = self._grammar.late(sections) if items else ""
        return Written(stable=stable, late=late, items=tuple(items), attribution=handles)

    def _own(self, candidate: Candidate, key: tuple[str, str]) -> int:
        text = key[1]
        if len(text) > _HUGE:
            return self._tokenizer.ceiling(text)
        line = self._lines[key] = self._grammar.line(candidate, text)
        return self._tokenizer.count(f"{line.before}{self._stand_in}{line.after}\n")

    def _header(self, section: Section) -> int:
        """Of sections with the same opening all need their full ones, and the second met pays for the first."""
        header = self._headers.get(section.key)
        if header is None:
            header = self._count(f"{section.opening}\n{section.closing}")
            alike = self._alike[section.opening] = self._alike.get(section.opening, 0) + 1
            if alike > 1 and section.full:
                short, header = header, self._count(f"{section.full}\n{section.closing}")
                header += header - short if alike == 2 else 0
            self._headers[section.key] = header
        return header

    def _section(self, candidate: Candidate) -> Section:
        section = self._sections.get(candidate.id)
        if section is None:
            section = self._sections[candidate.id] = self._grammar.section(candidate)
        return section

    def _line(self, candidate: Candidate, text: str) -> Line:
        key = (candidate.id, text)
        line = self._lines.get(key)
        if line is None:
            line = self._lines[key] = self._grammar.line(candidate, text)
        return line

    def _count(self, text: str) -> int:
        return self._tokenizer.count(text) if text else 0


def _place(pair: tuple[Section, Chosen]) -> tuple[object, ...]:
    section, item = pair
    candidate = item.scored.candidate
    if section.rank[0] < TALK:
        return (section.rank, "", -item.score, item.scored.rank, candidate.id)
    return (section.rank, section.key, candidate.created_at, candidate.session or "", candidate.position, candidate.id)


def _unused(handle: str, taken: Mapping[str, str]) -> str:
    """Handles are unique even where ids look alike once they are cleaned."""
    if handle not in taken:
        return handle
    number = 2
    while f"{handle}~{number}" in taken:
        number += 1
    return f"{handle}~{number}"
