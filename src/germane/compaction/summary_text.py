"""Summary text: the text of a summary: constraints, ledger and outline in the talk's own words, or prose (HIST-3).

The text has headed sections of plain text, one item a line. Headings are at the beginning of a line and items behind `- `,
and all white space of an item becomes single spaces: no content can look like a heading or another item. `notes_of_summary`
reads such a text, so that summaries build on one another. The extractive summary needs no language model.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

from germane.compaction.notes import (
    ARTIFACT_KINDS,
    COLON_KINDS,
    Artifact,
    ArtifactKind,
    Constraint,
    ExchangeNotes,
    Ledger,
    is_open,
)
from germane.compaction.reading.outline_line import telling
from germane.text.clauses import sentences

Count = Callable[[str], int]

_CONSTRAINTS, _OUTLINE = "Constraints, in the user's own words, the newest last:", "What happened, the newest last:"
_HEADINGS: Mapping[ArtifactKind, str] = MappingProxyType(
    {
        "file": "Files and how they changed:",
        "error": "Errors and what resolved them:",
        "decision": "Decisions:",
        "task": "Tasks:",
        "id": "Ids:",
        "url": "Addresses:",
    }
)
_SHARES: Mapping[ArtifactKind, float] = MappingProxyType(
    {"file": 0.26, "error": 0.14, "decision": 0.12, "task": 0.12, "id": 0.07, "url": 0.04}
)
"""The share of what the constraints leave that each kind is sure of; the rest is the outline's. What isn't used goes to the
others, to the ledger first."""
_ITEM, _SPACED, _COLON = "- ", " — ", ": "
_MORE_SUFFIX = re.compile(r" \(and (\d{1,9}) more\)\Z")
_BYTES_PER_TOKEN, _MAX_BYTES_PER_TOKEN = 3.6, 12
"""The ratio to begin with, and the one beyond which a text certainly doesn't fit as a whole, and isn't counted."""
_MAX_ROUNDS = 8
_FULL_SHARE = 0.92
"""The share of the tokens from which on no further round is worth its time."""
_RECENT_SHARE = 0.5
"""The share of the outline's room that its newest lines have before older ones are thinned."""


def extractive_summary(notes: Sequence[ExchangeNotes], max_tokens: int, count: Count) -> str:
    """Returns the summary of these notes, the oldest first: at most `max_tokens` by `count`, which is asked some ten times at
    most; '' where nothing fits. Constraints are kept whole before all else; where not even they fit, the newest that do
    (`constraints_left_out`). Deterministic; linear."""
    draft = _Draft(notes)
    if not draft.size or max_tokens <= 0:
        return ""
    each = _BYTES_PER_TOKEN
    if draft.size <= _MAX_BYTES_PER_TOKEN * max_tokens:
        whole = draft.written(draft.size)
        tokens = count(whole)
        if tokens <= max_tokens:
            return whole
        each = draft.size / max(1, tokens)
    best, best_size, low, high = "", 0, 0.0, float(draft.size)
    size = min(each * max_tokens, high)
    for _ in range(_MAX_ROUNDS):
        text = draft.written(size)
        tokens = count(text) if text else 0
        if tokens <= max_tokens:
            best, best_size, low = (text, len(text), size) if len(text) >= best_size else (best, best_size, size)
            if tokens >= _FULL_SHARE * max_tokens:
                break
            size = min(size * max_tokens / max(1, tokens), (size + high) / 2)
        else:
            high = size
            size = max(low, 0.98 * size * max_tokens / tokens) if low < 0.98 * size * max_tokens / tokens else (low + size) / 2
        if high - low < max(8.0, 0.02 * high):
            break
    return best


def constraints_left_out(notes: Sequence[ExchangeNotes], text: str) -> tuple[Constraint, ...]:
    """Returns the constraints of these notes that the summary `text` lacks, as no more fitted. Linear."""
    kept = {_plain(one.text) for one in Ledger(notes_of_summary(text)).constraints}
    return tuple(one for one in Ledger(notes).constraints if _plain(one.text) and _plain(one.text) not in kept)


def notes_of_summary(text: str) -> tuple[ExchangeNotes, ...]:
    """Returns what a summary says, as notes: first constraints and artifacts, with no line, then the outline line by line. What
    isn't in the form of `extractive_summary` is passed over. Linear."""
    constraints, artifacts, lines = list[Constraint](), list[Artifact](), list[str]()
    kinds = {heading: kind for kind, heading in _HEADINGS.items()}
    section = ""
    for line in text.split("\n"):
        if not line.startswith(_ITEM):
            section = line if line in kinds or line in (_CONSTRAINTS, _OUTLINE) else section if not line.strip() else ""
            continue
        item = line[len(_ITEM) :].strip()
        if not item or not section:
            continue
        if section == _CONSTRAINTS:
            constraints.append(Constraint(text=item))
        elif section == _OUTLINE:
            lines.append(item)
        else:
            artifacts.append(_artifact(kinds[section], item))
    if not constraints and not artifacts and not lines:
        return ()
    held = ExchangeNotes(line="", constraints=tuple(constraints), artifacts=tuple(artifacts))
    return (held, *(ExchangeNotes(line=line) for line in lines))


class _Item(NamedTuple):
    text: str
    size: int
    """Bytes of its line in UTF-8: of the scripts that there are, closer to the tokens than characters are."""
    urgent: bool = False


class _Draft:
    """All items of the summary, and the choice among them for a number of bytes."""

    __slots__ = ("_constraints", "_kinds", "_outline", "_sections", "size")

    def __init__(self, notes: Sequence[ExchangeNotes]) -> None:
        ledger = Ledger(notes)
        self._constraints = [_item(_plain(one.text)) for one in ledger.constraints if _plain(one.text)]
        kinds: dict[ArtifactKind, list[_Item]] = {kind: [] for kind in ARTIFACT_KINDS}
        for one in ledger.artifacts:
            kinds[one.kind].append(_item(_written(one), urgent=is_open(one) or _is_change(one)))
        self._kinds = kinds
        self._outline = [_item(line) for one in notes if (line := _plain(one.line))]
        self._sections = [(_CONSTRAINTS, self._constraints), *((_HEADINGS[kind], items) for kind, items in kinds.items())]
        self._sections.append((_OUTLINE, self._outline))
        self.size = sum(_heading_size(heading) + _size(items) for heading, items in self._sections if items)

    def written(self, size: float) -> str:
        """The summary in at most so many bytes; all of it where these are `size` or more."""
        if size >= self.size:
            return _joined((heading, [item.text for item in items]) for heading, items in self._sections)
        constraints = _newest(self._constraints, size - _heading_size(_CONSTRAINTS))
        parts = [(_CONSTRAINTS, [item.text for item in constraints])]
        if len(constraints) == len(self._constraints):
            if constraints:
                size -= _heading_size(_CONSTRAINTS) + _size(constraints)
            parts += self._ledger_and_outline(size)
        return _joined(parts)

    def _ledger_and_outline(self, room: float) -> list[tuple[str, list[str]]]:
        """The kinds in what each is sure of, then in what the others leave, then the outline in the rest."""
        present = [kind for kind in ARTIFACT_KINDS if self._kinds[kind]]
        needed = {kind: _heading_size(_HEADINGS[kind]) + _size(self._kinds[kind]) for kind in present}
        outline_needs = _heading_size(_OUTLINE) + _size(self._outline) if self._outline else 0
        sure = {kind: min(room * _SHARES[kind], needed[kind]) for kind in present}
        outline = min(outline_needs, max(0.0, room * (1 - sum(_SHARES.values()))))
        spare = room - sum(sure.values()) - outline
        for kind in present:
            more = min(spare, needed[kind] - sure[kind])
            sure[kind] += more
            spare -= more
        parts = list[tuple[str, list[str]]]()
        for kind in present:
            chosen = _urgent_first(self._kinds[kind], sure[kind] - _heading_size(_HEADINGS[kind]))
            parts.append((_HEADINGS[kind], [item.text for item in chosen]))
            spare += sure[kind] - (_heading_size(_HEADINGS[kind]) + _size(chosen) if chosen else 0)
        parts.append((_OUTLINE, _thinned(self._outline, outline + spare - _heading_size(_OUTLINE))))
        return parts


def _joined(parts: Iterable[tuple[str, Sequence[str]]]) -> str:
    return "\n\n".join("\n".join((heading, *(_ITEM + text for text in texts))) for heading, texts in parts if texts)


def _item(text: str, *, urgent: bool = False) -> _Item:
    return _Item(text, len(text.encode("utf-8", "surrogatepass")) + len(_ITEM) + 1, urgent)


def _size(items: Iterable[_Item]) -> int:
    return sum(item.size for item in items)


def _heading_size(heading: str) -> int:
    return len(heading) + 3


def _newest(items: Sequence[_Item], room: float) -> list[_Item]:
    """The newest items that fit, in their order; what doesn't fit is passed over."""
    kept = list[_Item]()
    for item in reversed(items):
        if item.size <= room:
            kept.append(item)
            room -= item.size
    return kept[::-1]


def _urgent_first(items: Sequence[_Item], room: float) -> list[_Item]:
    """The items that fit, the urgent before the others, and the newest first of each; in their order."""
    chosen = set[int]()
    for urgent in (True, False):
        for place in range(len(items) - 1, -1, -1):
            if items[place].urgent is urgent and items[place].size <= room:
                chosen.add(place)
                room -= items[place].size
    return [item for place, item in enumerate(items) if place in chosen]


def _thinned(items: Sequence[_Item], room: float) -> list[str]:
    """All lines where they fit; else the newest, and of the older ones evenly those that say most, each with the number of
    those that it stands for."""
    if not items or _size(items) <= room:
        return [item.text for item in items]
    recent = _newest_run(items, room * _RECENT_SHARE)
    older = items[: len(items) - len(recent)]
    if not older:
        return [item.text for item in recent]
    room -= _size(recent)
    mean = (_size(older) / len(older)) + len(" (and 99 more)")
    for kept in range(min(len(older), int(room / mean)), 0, -1):
        merged = [_merged(older[place * len(older) // kept : (place + 1) * len(older) // kept]) for place in range(kept)]
        if _size(merged) <= room:
            return [item.text for item in (*merged, *recent)]
        if kept > 8:
            merged = _newest_run(merged, room)
            return [item.text for item in (*merged, *recent)]
    return [item.text for item in recent]


def _newest_run(items: Sequence[_Item], room: float) -> list[_Item]:
    start = len(items)
    while start and items[start - 1].size <= room:
        start -= 1
        room -= items[start].size
    return list(items[start:])


def _merged(items: Sequence[_Item]) -> _Item:
    """One line for several: the one that says most, and how many more there were."""
    best = max(items, key=lambda item: telling(item.text))
    more = sum(_represents(item.text) for item in items) - 1
    text = _MORE_SUFFIX.sub("", best.text)
    return _item(f"{text} (and {more} more)" if more else text)


def _represents(line: str) -> int:
    more = _MORE_SUFFIX.search(line)
    return 1 + int(more[1]) if more else 1


def _is_change(artifact: Artifact) -> bool:
    return artifact.kind == "file" and artifact.change not in ("", "read")


def _plain(text: str) -> str:
    return " ".join(text.split())


def _written(artifact: Artifact) -> str:
    """The item of an artifact: its name and its change, told apart by a mark that no name holds."""
    return f"{artifact.name}{_mark(artifact.kind)}{artifact.change}" if artifact.change else artifact.name


def _artifact(kind: ArtifactKind, item: str) -> Artifact:
    name, _, change = item.partition(_mark(kind))
    return Artifact(kind=kind, name=name, change=change)


def _mark(kind: ArtifactKind) -> str:
    return _COLON if kind in COLON_KINDS else _SPACED


# A language model's prose takes the place of the outline; constraints and ledger of the rules stay beside it. The text
# has the same form, and no line of the prose can look like a heading.


_LIST_MARKS = "-*•– \t"
"""What lists begin with."""


def prose_lines(prose: str) -> tuple[str, ...]:
    """Returns the sentences, each on one line, without the marks of a list. Linear."""
    lines = (" ".join(prose[start:end].split()).lstrip(_LIST_MARKS) for start, end in sentences(prose))
    return tuple(line for line in lines if line)


def told_summary(lines: Sequence[str], notes: Sequence[ExchangeNotes], max_tokens: int, count: Count) -> str:
    """Returns constraints and artifacts of `notes`, and `lines` in the place of the notes' own: at most `max_tokens` by
    `count`; '' where the lines don't fit as a whole. Linear."""
    told = [ExchangeNotes(line=line) for line in lines]
    text = extractive_summary([*_pinned(notes), *told], max_tokens, count) if max_tokens > 0 else ""
    return text if [one.line for one in notes_of_summary(text) if one.line] == list(lines) else ""


def pinned_tokens(notes: Sequence[ExchangeNotes], max_tokens: int, count: Count) -> int:
    """Returns what constraints and artifacts of `notes` take of `max_tokens`."""
    return count(extractive_summary(_pinned(notes), max_tokens, count))


def thinned_lines(
    lines: Sequence[str], notes: Sequence[ExchangeNotes], newer: Sequence[ExchangeNotes], max_tokens: int, count: Count
) -> tuple[str, ...]:
    """Returns `lines`, which stand for those of `notes`, and then as many of the lines of `newer` as fit a told summary of all
    of them; nothing where no line does. Linear."""
    room = max_tokens - count("".join(f"- {line}\n" for line in lines))
    text = extractive_summary([*_pinned(notes), *newer], room, count) if room > 0 else ""
    added = tuple(one.line for one in notes_of_summary(text) if one.line)
    return (*lines, *added) if added else ()


def _pinned(notes: Sequence[ExchangeNotes]) -> list[ExchangeNotes]:
    return [replace(one, line="") for one in notes]
