"""Changes: the differences between two texts as splices of whole words, and the merge of two rewrites of one text.

A difference is found by Myers' algorithm over words, which takes n·d steps for n words and d differing words. Where that
could be many, lines stand for words, and beyond that everything between the common beginning and the common end is one
splice. So the time is bounded by a constant beside what is linear.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from loro import LoroDoc, LoroText

__all__ = ["Splice", "merged_items", "merged_text", "spliced", "splices"]

_WORD = re.compile(r"[^\W\u2e80-\u9fff]+|.", re.DOTALL)
"""A run of letters and digits, or one character; scripts that write no spaces count character by character."""
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_STEPS = 1_000_000
"""The most pairs of differing words, or lines, that are compared."""
_FIRST = 0x10000
"""The characters from here on stand for words."""
_NAME = "text"

Scratch = Callable[[], "LoroDoc"]
"""Makes an empty document, which is used for one computation and dropped."""


@dataclass(frozen=True, slots=True)
class Splice:
    """Replaces `removed` characters from `start` by `inserted`. Positions are those of the old text."""

    start: int
    removed: int
    inserted: str


def splices(old: str, new: str, scratch: Scratch) -> list[Splice]:
    """Returns the splices that turn `old` into `new`, from the beginning to the end; they don't overlap. Deterministic."""
    if old == new:
        return []
    first, last = _same_ends(old, new)
    old, new = old[first : len(old) - last], new[first : len(new) - last]
    for pattern in (_WORD, _LINE):
        before, after = pattern.findall(old), pattern.findall(new)
        same, ending = _common(before, after)
        removed, inserted = before[same : len(before) - ending], after[same : len(after) - ending]
        start = first + sum(map(len, before[:same]))
        if not removed or not inserted:
            break
        if len(removed) * len(inserted) <= _STEPS:
            return _compared(removed, inserted, start, scratch)
    return [Splice(start, sum(map(len, removed)), "".join(inserted))]


def spliced(text: LoroText, found: Sequence[Splice]) -> None:
    """Applies splices to a text in a document."""
    for one in reversed(found):
        if one.removed:
            text.delete(one.start, one.removed)
        if one.inserted:
            text.insert(one.start, one.inserted)


def merged_text(base: str, ours: str, theirs: str, scratch: Scratch) -> str:
    """Merges two texts that were both made from `base`, as concurrent edits of one document (a CRDT). Each character that
    either side removed is gone, each run that either side inserted is there in one piece, and what both kept is there once,
    in its order. So leaving out what one side inserted gives the other side's text less what the first removed. Where both
    replaced the same words, both replacements stand one after the other."""
    if ours in (base, theirs):
        return theirs
    if theirs == base:
        return ours
    document = scratch()
    document.peer_id = 1
    document.get_text(_NAME).insert(0, base)
    document.commit()
    other = document.fork()
    document.peer_id, other.peer_id = 2, 3
    for side, text in ((document, ours), (other, theirs)):
        spliced(side.get_text(_NAME), splices(base, text, scratch))
        side.commit()
    document.import_(_updates(other, document))
    return document.get_text(_NAME).to_string()


def merged_items(base: Sequence[str], ours: Sequence[str], theirs: Sequence[str], scratch: Scratch) -> list[str]:
    """Merges two orders of items, by id, that were both made from `base`: an item that either side removed is gone, one that
    either side added or moved is where that side has it; where both moved it, where `theirs` has it."""
    if list(ours) in (list(base), list(theirs)):
        return list(theirs)
    if list(theirs) == list(base):
        return list(ours)
    document = scratch()
    document.peer_id = 1
    order = document.get_movable_list(_NAME)
    for one in base:
        order.push(one)
    document.commit()
    other = document.fork()
    document.peer_id, other.peer_id = 2, 3
    for side, items in ((document, ours), (other, theirs)):
        reorder(side.get_movable_list(_NAME), list(base), items)
        side.commit()
    document.import_(_updates(other, document))
    return list(dict.fromkeys(map(str, document.get_movable_list(_NAME).to_vec())))


def reorder(order: Any, present: list[str], wanted: Sequence[str], values: Callable[[str], str] = str) -> None:
    """Removes, adds and moves the items of a list in a document, so that they are `wanted` after being `present`, both by id;
    `values` gives what is stored of an added one."""
    keep = set(wanted)
    for index in range(len(present) - 1, -1, -1):
        if present[index] not in keep:
            order.delete(index, 1)
            del present[index]
    there = set(present)
    for index, one in enumerate(wanted):
        if index < len(present) and present[index] == one:
            continue
        if one in there:
            here = present.index(one, index)
            order.mov(here, index)
            del present[here]
        else:
            order.insert(index, values(one))
        present.insert(index, one)
    for index in range(len(present) - 1, len(wanted) - 1, -1):  # an id that was there twice
        order.delete(index, 1)
        del present[index]


def _updates(document: LoroDoc, other: LoroDoc) -> bytes:
    from loro import ExportMode

    return document.export(ExportMode.Updates(other.oplog_vv))


def _same_ends(old: str, new: str) -> tuple[int, int]:
    """Returns how many characters are the same at the beginning and at the end, without the parts of words that differ."""
    shorter = min(len(old), len(new))
    first = _same_length(shorter, lambda start, end: old[start:end] == new[start:end])
    while first and _in_word(old[first - 1]):
        first -= 1
    a, b = len(old), len(new)
    last = _same_length(shorter - first, lambda start, end: old[a - end : a - start] == new[b - end : b - start])
    while last and _in_word(old[a - last]):
        last -= 1
    return first, last


def _in_word(character: str) -> bool:
    return character == "_" or character.isalnum()


def _same_length(longest: int, equal: Callable[[int, int], bool]) -> int:
    """Returns for how many positions two texts are equal, by halving; `equal` compares the positions of a range."""
    low, high = 0, longest
    while low < high:
        middle = (low + high + 1) // 2
        if equal(low, middle):
            low = middle
        else:
            high = middle - 1
    return low


def _common(before: Sequence[str], after: Sequence[str]) -> tuple[int, int]:
    """Returns how many words are the same at the beginning, and at the end of what is left."""
    shorter = min(len(before), len(after))
    first = next((index for index in range(shorter) if before[index] != after[index]), shorter)
    last = next((index for index in range(shorter - first) if before[-1 - index] != after[-1 - index]), shorter - first)
    return first, last


def _compared(removed: Sequence[str], inserted: Sequence[str], start: int, scratch: Scratch) -> list[Splice]:
    """Compares two sequences of words as texts of which each character stands for a word."""
    signs = {word: chr(_FIRST + number) for number, word in enumerate(dict.fromkeys((*removed, *inserted)))}
    document = scratch()
    text = document.get_text(_NAME)
    text.insert(0, "".join(map(signs.__getitem__, removed)))
    document.commit()
    began = document.oplog_frontiers
    text.update("".join(map(signs.__getitem__, inserted)))
    document.commit()
    found = list[Splice]()
    old = new = 0
    for _, change in document.diff(began, document.oplog_frontiers).get_diff():
        for part in cast("Any", change).diff:
            kept, gone, added = (getattr(part, name, None) for name in ("retain", "delete", "insert"))
            if kept:
                start += sum(map(len, removed[old : old + kept]))
                old, new = old + kept, new + kept
            elif gone:
                length = sum(map(len, removed[old : old + gone]))
                found.append(Splice(start, length, ""))
                old, start = old + gone, start + length
            elif added:
                found.append(Splice(start, 0, "".join(inserted[new : new + len(added)])))
                new += len(added)
    return _joined(found)


def _joined(found: Sequence[Splice]) -> list[Splice]:
    """Joins splices that touch: a removal and the insertion in its place are one replacement."""
    joined = list[Splice]()
    for one in found:
        last = joined[-1] if joined else None
        if last and last.start + last.removed == one.start:
            joined[-1] = Splice(last.start, last.removed + one.removed, last.inserted + one.inserted)
        else:
            joined.append(one)
    return joined
