"""Layout: what all formats share: the order of items and sections, costs in tokens, and the final text.

A `Grammar` says how each part looks. A `Format` made of a grammar implements the costs that packing asks for
(`stages.pack.cost.Layout`) and writes the result. Lines are rendered once and cached as long as the format lives, which is
one assembly.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple, Protocol

from germane.kinds.conversations.outline import OUTLINE as OUTLINE
from germane.kinds.profile.reads import parse_clause_name
from germane.ports.models import Tokenizer
from germane.stages.write.excerpts import Excerpt, Excerpts, beginning_of, breadcrumb, ends_matter, event_excerpt
from germane.text.normal import normalised
from germane.text.summary import Summaries, Summary
from germane.text.templates import neutralise, neutralise_line
from germane.types.candidate import Candidate, Chosen
from germane.types.strategy import Shortening

_SEPARATOR = "\n\n"
_LONGEST_HANDLE, _LONGEST_SCORE = "a55", "0.555"
"""The longest usual short handle and score, to cost a line before its own are known."""
_MAX_COUNTED = 16_384
"""Characters: the cost of a longer line is estimated from its size, as it will hardly fit and counting takes time (BUD-2)."""


@dataclass(frozen=True, slots=True)
class Section:
    """The header and footer of items that belong together. `key` identifies the section and `rank` orders it; both are the
    same for all its items."""

    key: str
    rank: tuple[int, str]
    opening: str
    closing: str
    full: str = ""
    """The opening to use when another section shown has the same opening."""


class RenderedLine(NamedTuple):
    """One item as written: `before`, its short handle, `middle`, its score where the grammar writes scores, `after`."""

    before: str
    middle: str
    after: str = ""
    handle: str = ""
    """What the text calls the item where that isn't a short handle; it is then part of `before`."""
    scored: bool = True
    """Whether its score is written where the grammar writes scores."""

    def filled(self, short: str, score: str) -> str:
        """The line with what is known only at the end: the item's short handle, which depends on its place, and its score."""
        return f"{self.before}{'' if self.handle else short}{self.middle}{score if self.scored else ''}{self.after}"

    def head(self, short: str) -> str:
        """What the line begins with where that is germane's alone: up to its short handle, with the sign behind it."""
        return "" if self.handle else f"{self.before}{short}{self.middle[:1]}"


class Grammar(Protocol):
    """Writes the parts of one format. Pure; all text it returns is escaped. `scores` is whether its lines hold scores."""

    @property
    def scores(self) -> bool: ...

    def stable(self, directive: str, items: bool) -> str:
        """The text that doesn't change with the query: the directive and the notice about `items`, if any; may be empty."""

    def section(self, candidate: Candidate) -> Section:
        """The section that the candidate belongs to."""

    def line(self, candidate: Candidate, text: str) -> RenderedLine:
        """The candidate's line, showing `text` of it."""

    def further(self, candidate: Candidate, text: str, *, adjoining: bool) -> str | None:
        """What a clause adds to the line of an earlier clause of its message, `adjoining` where nothing stands between them;
        None where it has a line of its own."""

    def late(self, sections: Sequence[tuple[Section, Sequence[str]]]) -> str:
        """The text that changes with the query: the sections in the given order, each with its lines."""

    @property
    def notice(self) -> str:
        """The standing notice about items, for text that stands apart from `stable`; empty where `late` holds it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedContext:
    """The text to inject into the messages: `stable` and `late`, as one text (`text`) or apart; both are empty when there is
    nothing to inject. `items` stand in rendered order with their handles; `attribution` maps each handle to an id
    (FORMAT-6)."""

    stable: str = ""
    late: str = ""
    items: tuple[Chosen, ...] = ()
    attribution: Mapping[str, str]

    @property
    def text(self) -> str:
        return _SEPARATOR.join(filter(None, (self.stable, self.late)))


class Format:
    """Costs and writes items with one grammar and one tokenizer. Lives for one assembly: its caches grow with each item
    seen."""

    __slots__ = (
        *("_apart", "_costs", "_excerpts", "_first_number", "_grammar", "_headers", "_last", "_lines", "_neutrals"),
        *("_same_opening", "_score", "_sections", "_shortening", "_summaries", "_tokenizer"),
    )

    def __init__(
        self,
        grammar: Grammar,
        tokenizer: Tokenizer,
        terms: Sequence[str],
        *,
        first_number: int = 1,
        apart: bool = False,
        shortening: Shortening = "excerpt",
    ) -> None:
        """`first_number` is the first item's. `apart` says that `late` stands by itself in the conversation: it has the notice
        then, and `stable` doesn't depend on whether there are items. `shortening` is what `shorten` makes of long items."""
        self._first_number, self._apart = first_number, apart
        self._grammar, self._tokenizer, self._score = grammar, tokenizer, _LONGEST_SCORE if grammar.scores else ""
        self._excerpts, self._summaries, self._shortening = Excerpts(terms), Summaries(), shortening
        self._sections: dict[str, Section] = {}
        self._headers: dict[str, int] = {}
        self._same_opening: dict[str, int] = {}
        self._lines: dict[tuple[str, str], RenderedLine] = {}
        self._costs: dict[tuple[str, str], int] = {}
        self._neutrals: dict[str, str] = {}
        self._last: tuple[str, tuple[Chosen, ...], RenderedContext] | None = None

    def fixed(self, directive: str) -> int:
        """Tokens of the directive, the standing notice and the outermost wrapper."""
        stable = self._grammar.stable(directive, not self._apart)
        return self._count(stable) + self._count(_SEPARATOR + self._late(()))

    def cost(self, candidate: Candidate, text: str) -> int:
        """Tokens of the item's own line, without the header that it stands under."""
        key = (candidate.id, text)
        tokens = self._costs.get(key)
        if tokens is None:
            if len(text) > _MAX_COUNTED:
                tokens = self._tokenizer.ceiling(text)
            else:
                line = self._lines[key] = self._grammar.line(candidate, text)
                tokens = self._tokenizer.count(line.filled(_LONGEST_HANDLE, self._score) + "\n")
            self._costs[key] = tokens
        return tokens

    def group(self, candidate: Candidate) -> str:
        """The key of the section whose header the item stands under."""
        return self._section(candidate).key

    def header(self, candidate: Candidate) -> int:
        """Tokens of the opening and closing of the item's section. Sections with the same opening all need their full openings,
        so the second of them also pays the difference for the first."""
        section = self._section(candidate)
        header = self._headers.get(section.key)
        if header is None:
            header = self._count(f"{section.opening}\n{section.closing}")
            count = self._same_opening[section.opening] = self._same_opening.get(section.opening, 0) + 1
            if count > 1 and section.full:
                short, header = header, self._count(f"{section.full}\n{section.closing}")
                header += header - short if count == 2 else 0
            self._headers[section.key] = header
        return header

    def chars(self, candidate: Candidate, text: str) -> int:
        """Characters of the item's own line as written, its line break included."""
        if len(text) > _MAX_COUNTED:
            return len(text) + 1
        return len(self._line(candidate, text).filled(_LONGEST_HANDLE, self._score)) + 1

    def wrapper_chars(self) -> int:
        """Characters of the outermost wrapper around the items."""
        return len(self._late(()))

    def shorten(self, candidate: Candidate, tokens: int, chars: int | None = None) -> Excerpt | Summary | None:
        """What is shown of a text that is too long (`Strategy.shorten`), or the beginning of a block, that costs at most
        `tokens` as written, a header of its own included, and whose line has at most `chars` characters; None when nothing
        useful fits, and for an item of the graph, which is one short line. A breadcrumb has the share 0."""
        header = self.header(candidate)

        def cost(text: str) -> int:
            counted = header + self.cost(candidate, text)
            return counted if chars is None else max(counted, -(-self.chars(candidate, text) * tokens // max(1, chars)))

        tokens = tokens if chars is None else min(tokens, chars)
        if candidate.block is not None:
            return beginning_of(candidate.text, tokens, cost)
        if candidate.graph is not None:
            return None
        if ends_matter(candidate.event_type) and (ends := event_excerpt(candidate.text, tokens, cost)) is not None:
            return ends
        if self._shortening == "excerpt":
            return self._excerpts.of(candidate.text, tokens, cost)
        if self._shortening == "summary" or candidate.required:
            found = self._excerpts.match(candidate.text)
            return (self._excerpts if found else self._summaries).of(candidate.text, tokens, cost)
        if (whole := cost(candidate.text)) <= tokens:
            return Excerpt(candidate.text, 1.0)
        if self._shortening == "none":
            return None
        pointer = breadcrumb(candidate, self._text_tokens(candidate.text))
        return Excerpt(pointer, 0.0) if cost(pointer) <= min(tokens, whole - 1) else None

    def total(self, directive: str, chosen: Sequence[Chosen]) -> int:
        """Tokens of the whole text as it will be written, as one text or as two, whichever is more."""
        written = self.write(directive, chosen)
        if not (written.stable and written.late):
            return self._count(written.text)
        return max(self._count(written.text), self._count(written.stable) + self._count(written.late))

    def write(self, directive: str, chosen: Sequence[Chosen]) -> RenderedContext:
        """The final text. Sections stand by rank, memories by score, activity and conversation by time. The last result is
        cached."""
        items = tuple(chosen)
        if self._last is not None and self._last[0] == directive and self._last[1] == items:
            return self._last[2]
        written = self._write(directive, items)
        self._last = (directive, items, written)
        return written

    def _write(self, directive: str, chosen: tuple[Chosen, ...]) -> RenderedContext:
        placed = sorted(((self._section(item.scored.candidate), item) for item in chosen), key=_order)
        sections: list[tuple[Section, list[str]]] = []
        items: list[Chosen] = []
        handles: dict[str, str] = {}
        scores = self._grammar.scores
        for _, group in groupby(placed, key=lambda pair: pair[0].key):
            members, lines, heads = list(group), list[str](), list[str]()
            section = members[0][0]
            talk = section.rank[0] == TALK_RANK
            before: tuple[str, int] | None = None
            for _, item in members:
                scored = item.scored
                candidate = scored.candidate
                clause = parse_clause_name(candidate.id) if talk else None
                further = self._further(item, clause, before)
                before = None if clause is None else (clause[0], clause[2])
                if further is not None:
                    lines[-1] += further
                    items.append(Chosen(scored, item.text, item.tokens, item.share, items[-1].handle))
                    continue
                line = self._line(candidate, item.text)
                said = talk or candidate.category in (ACTIVITY, CONVERSATION)
                short = f"{'a' if said else 'm'}{len(handles) + self._first_number}"
                handle = line.handle or short
                if handle in handles:
                    handle = _unused(handle, handles)
                handles[handle] = candidate.id
                lines.append(line.filled(short, f"{scored.score:.3f}" if scores else ""))
                heads.append(line.head(short))
                items.append(Chosen(scored, item.text, item.tokens, item.share, handle))
            sections.append((section, list(map(self._neutral, heads, lines))))
        stable = self._grammar.stable(directive, bool(items) and not self._apart)
        late = self._late(sections) if items else ""
        return RenderedContext(stable=stable, late=late, items=tuple(items), attribution=handles)

    def _neutral(self, head: str, line: str) -> str:
        """The line as it is written at last: whatever its parts make together imitates no chat template."""
        neutral = self._neutrals.get(line)
        if neutral is None:
            neutral = self._neutrals[line] = neutralise_line(head, line)
        return neutral

    def _further(self, item: Chosen, clause: tuple[str, int, int] | None, before: tuple[str, int] | None) -> str | None:
        """What the item adds to the line before, which ends `before` (message, character); None where it begins a line."""
        if clause is None or before is None or clause[0] != before[0]:
            return None
        return self._grammar.further(item.scored.candidate, item.text, adjoining=clause[1] - before[1] <= 1)

    def _late(self, sections: Sequence[tuple[Section, Sequence[str]]]) -> str:
        late = self._grammar.late(sections)
        return _SEPARATOR.join(filter(None, (self._grammar.notice, late))) if self._apart else late

    def _text_tokens(self, text: str) -> int:
        return self._tokenizer.ceiling(text) if len(text) > _MAX_COUNTED else self._count(text)

    def _section(self, candidate: Candidate) -> Section:
        section = self._sections.get(candidate.id)
        if section is None:
            section = self._sections[candidate.id] = self._grammar.section(candidate)
        return section

    def _line(self, candidate: Candidate, text: str) -> RenderedLine:
        key = (candidate.id, text)
        line = self._lines.get(key)
        if line is None:
            line = self._lines[key] = self._grammar.line(candidate, text)
        return line

    def _count(self, text: str) -> int:
        return self._tokenizer.count(text) if text else 0


def _order(pair: tuple[Section, Chosen]) -> tuple[object, ...]:
    """Sort key: blocks by their place, memories by rank of their section and by score, activity and conversation by section and
    by time."""
    section, item = pair
    candidate = item.scored.candidate
    if section.rank[0] == BLOCKS_RANK:
        return (section.rank, "", candidate.position, item.scored.rank, candidate.id)
    if section.rank[0] != TALK_RANK:
        return (section.rank, "", -item.score, item.scored.rank, candidate.id)
    clause = parse_clause_name(candidate.id)
    place = (candidate.id, 0) if clause is None else clause[:2]
    return (section.rank, section.key, candidate.created_at, candidate.session or "", candidate.position, *place)


def _unused(handle: str, taken: Mapping[str, str]) -> str:
    """The handle with a number added, as it is taken: different ids may be equal once they are cleaned."""
    number = 2
    while f"{handle}~{number}" in taken:
        number += 1
    return f"{handle}~{number}"


# The order of the sections, and a category as part of a tag's name (FORMAT-1).


ACTIVITY, CONVERSATION = "activity", "conversation"
DOCUMENTS = "document"
"""The category of passages of documents, whose title says where they stand."""
_ORDER = ("instruction", "about", "procedural", "factual", "preference", "behavioral", "episodic")
_ODD = re.compile(r"[^a-z0-9]+")
_MAX_TAG = 40
"""Characters of a tag."""
_MAX_READ = 512
"""Characters of a category that are looked at."""

TASKS = "task"
"""The frames of the task stack, which come right after the blocks."""
BLOCKS_RANK = -1
"""The rank of memory blocks, which come first."""
TALK_RANK = len(_ORDER) + 1
"""The rank of what happened, of what was said and of outlines, which come last and stand by time."""


def category_rank(name: str) -> int:
    """The category's place in the order of sections. Other categories share one rank, after the known ones and before
    activity, conversation and outline; the caller sorts them by name."""
    if name in (ACTIVITY, CONVERSATION, OUTLINE):
        return TALK_RANK
    if name == TASKS:
        return BLOCKS_RANK
    return _ORDER.index(name) if name in _ORDER else len(_ORDER)


@lru_cache(maxsize=256)
def category_tag(category: str, nonce: str) -> str:
    """The category as part of a tag's name: lowercase ASCII letters, digits and underscores, beginning with a letter, without
    the nonce."""
    plain = normalised(category[:_MAX_READ], "NFKD").encode("ascii", "ignore").decode().lower()
    name = _ODD.sub("_", plain).replace(nonce, "_").strip("_")[:_MAX_TAG].rstrip("_")
    if name in _ORDER:
        return name
    forms = f"## {name}", f"<{name}_memories>"  # a chat template's heading and token else
    said = name[:1].isalpha() and all(neutralise(form) == form for form in forms)
    return name if said else f"other_{name}".rstrip("_")
