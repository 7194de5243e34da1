"""Merge: differences between two texts as splices of whole words, and merges of two rewrites of one text.

A difference is found by Myers' algorithm over words, which takes n·d steps for n words of both texts and d differing
words. Where that could be many, lines stand for words, and beyond that everything between the common beginning and the
common end is one splice. So the time is bounded by a constant, beside what is linear. Text that is added at the end is
one splice, without any comparison. Two orders of items are merged here too.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import merge
from operator import attrgetter
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from loro import LoroDoc, LoroText


_WORD = re.compile(r"[^\W\u2e80-\u9fff]+|.", re.DOTALL)
"""A run of letters and digits, or one character; scripts that write no spaces count character by character."""
_MAX_COMPARED = 2_000
"""Differing words, or lines, of both texts together that are compared at most: the steps are their square where nothing is the
same, however few of them are in one of the texts, and nothing else runs meanwhile."""
_FIRST_SIGN = 0x10000
"""The characters from here on stand for words."""
_NAME = "text"
_END = "\uffff"
"""Ends each word of a text that is merged: it stands for no character."""
_WIDE = re.compile(r"[\u2e80-\u9fff]").match
"""Whether a character belongs to a script that writes no spaces."""

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
    if new.startswith(old):
        return [Splice(len(old), 0, new[len(old) :])]
    first, last = _same_ends(old, new)
    old, new = old[first : len(old) - last], new[first : len(new) - last]
    return _between(_WORD.findall(old), _WORD.findall(new), scratch, first)


def _between(before: Sequence[str], after: Sequence[str], scratch: Scratch, start: int = 0) -> list[Splice]:
    """Returns the splices between two sequences of words; the first word is at position `start`."""
    keys = _keys(before), _keys(after)
    same, ending = _common(*keys)
    start += sum(map(len, before[:same]))
    before, after = before[same : len(before) - ending], after[same : len(after) - ending]
    if before and after:
        if len(before) + len(after) <= _MAX_COMPARED:
            old, new = keys[0][same : same + len(before)], keys[1][same : same + len(after)]
            return _compared(before, after, (old, new), start, scratch)
        lines = "".join(before).splitlines(keepends=True), "".join(after).splitlines(keepends=True)
        if len(lines[0]) + len(lines[1]) <= _MAX_COMPARED:
            return _compared(*lines, lines, start, scratch)
    return [Splice(start, sum(map(len, before)), "".join(after))] if before or after else []


def spliced(text: LoroText, found: Sequence[Splice]) -> None:
    """Applies splices to a text in a document."""
    for one in reversed(found):
        if one.removed:
            text.delete(one.start, one.removed)
        if one.inserted:
            text.insert(one.start, one.inserted)


def merged_text(base: str, ours: str, theirs: str, scratch: Scratch, *, yielding: bool = False) -> str:
    """Merges two texts that were both made from `base`, as concurrent edits of one document are merged. Each character that
    either side removed is gone, each run that either side inserted is there in one piece, and what both kept is there once,
    in its order. So leaving out what one side inserted gives the other side's text less what the first removed. Where both
    replaced the same words, both replacements stand one after the other; with `yielding` only that of `theirs`."""
    if ours in (base, theirs):
        return theirs
    if theirs == base:
        return ours
    words = [[word + _END for word in _WORD.findall(text.replace(_END, "\ufffd"))] for text in (base, ours, theirs)]
    whole = "".join(words[0])
    mine, others = (_between(words[0], text, scratch) for text in words[1:])
    if yielding:
        mine = _yielded(whole, mine, others)
    return _spaced(_both(whole, mine, others).split(_END)[:-1])


def _both(base: str, mine: Sequence[Splice], others: Sequence[Splice]) -> str:
    """Applies the splices of two sides to their base: each insertion stands at its place, `mine` before that of `others`."""
    parts, position = list[str](), 0
    """The text before `position` is in `parts`, as far as neither side removes it."""
    for one in merge(mine, others, key=attrgetter("start")):
        parts += (base[position : one.start], one.inserted)
        position = max(position, one.start + one.removed)
    return "".join((*parts, base[position:]))


def _yielded(base: str, mine: Sequence[Splice], others: Sequence[Splice]) -> list[Splice]:
    """Returns the splices of one side; one that replaces a word which the other side replaces too only removes it. Spaces and
    signs alone are no words: a difference replaces them wherever something stands before them now."""
    found, later = list[Splice](), list(reversed(others))
    for one in mine:
        while later and later[-1].start + later[-1].removed <= one.start:
            later.pop()
        both = slice(0, 0)
        if later and later[-1].start < one.start + one.removed:
            other = later[-1]
            both = slice(max(one.start, other.start), min(one.start + one.removed, other.start + other.removed))
        replaced = any(map(_in_word, base[both]))
        found.append(Splice(one.start, one.removed, "") if replaced else one)
    return found


def _spaced(words: Sequence[str]) -> str:
    """Joins words; two that come from different sides, with nothing between them, get a space."""
    parts, before = list[str](), ""
    for word in words:
        if before and _in_word(before[-1]) and _in_word(word[0]) and not (_WIDE(before[-1]) or _WIDE(word[0])):
            parts.append(" ")
        parts.append(word)
        before = word
    return "".join(parts)


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
    gone = set(base) - (set(ours) & set(theirs))  # the list keeps what was moved and removed at once
    found = dict.fromkeys(map(str, document.get_movable_list(_NAME).to_vec()))
    return [one for one in found if one not in gone]


def reorder(order: Any, present: list[str], wanted: Sequence[str], values: Callable[[str], str] = str) -> None:
    """Removes, adds and moves the items of a list in a document, so that they are `wanted` after being `present`, both by id;
    `values` gives what is stored of an added one."""
    keep = set(wanted)
    seen = set[str]()
    for index in range(len(present) - 1, -1, -1):
        if present[index] not in keep or present[index] in seen:
            order.delete(index, 1)
            del present[index]
        else:
            seen.add(present[index])
    stay = _in_order(present, [one for one in wanted if one in seen])
    end = 0
    for one in wanted:
        if one not in stay:
            if one in seen:
                here = present.index(one)
                del present[here]
                end -= here < end
                if here != end:
                    order.mov(here, end)
            else:
                order.insert(end, values(one))
            present.insert(end, one)
        end = present.index(one, end) + 1


def _in_order(present: Sequence[str], wanted: Sequence[str]) -> set[str]:
    """Returns the most items of `present` that are in the order of `wanted` already, so that all others have to be moved: a
    longest increasing subsequence."""
    place = {one: index for index, one in enumerate(present)}
    tops, last, before = list[int](), list[str](), dict[str, str]()
    for one in wanted:
        index = bisect_left(tops, place[one])
        if index:
            before[one] = last[index - 1]
        tops[index : index + 1], last[index : index + 1] = [place[one]], [one]
    stay = set[str]()
    current = last[-1] if last else None
    while current is not None:
        stay.add(current)
        current = before.get(current)
    return stay


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


def _keys(words: Sequence[str]) -> list[str]:
    """Returns what is compared of each word: itself, and of a space or a sign the word before too, because a space that
    stays while its word goes isn't the same."""
    keys, before = list[str](), ""
    for word in words:
        first = word[0]
        if first.isalnum() or first == "_":  # as `_in_word`, without a call for each word
            before = word
            keys.append(word)
        else:
            keys.append(f"{before}{_END}{word}")
    return keys


def _compared(
    removed: Sequence[str], inserted: Sequence[str], keys: tuple[Sequence[str], Sequence[str]], start: int, scratch: Scratch
) -> list[Splice]:
    """Compares two sequences of words, by their keys, as texts of which each character stands for a key."""
    signs = {key: chr(_FIRST_SIGN + number) for number, key in enumerate(dict.fromkeys((*keys[0], *keys[1])))}
    document = scratch()
    text = document.get_text(_NAME)
    text.insert(0, "".join(map(signs.__getitem__, keys[0])))
    document.commit()
    began = document.oplog_frontiers
    text.update("".join(map(signs.__getitem__, keys[1])), use_refined_diff=False)  # the refined one drops short matches
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
