"""JSON splice: changes a JSON object in its own bytes, so that all that stays keeps its spelling.

A body that is parsed and written anew has other white space, escapes and numbers than its sender wrote. `splice` copies the
bytes of each part whose value stays, and writes only what is new. Members keep their order, and new ones come last. Elements of
a list are found again by their value, wherever they stand; of the others, an element takes the place of one between the same
neighbours, and is changed inside.
"""

from __future__ import annotations

import json
import marshal
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any

_SPACE = re.compile(r"[ \t\n\r]*+")
_MAX_LEVELS = 16
"""Levels in which parts can be changed: what isn't recognised as the caller's own object is compared once on each."""
_MAX_LEAD = 64
"""Bytes of white space in front of a part that a new part beside it gets too."""
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_NOTHING: Mapping[str, bytes] = MappingProxyType({})
_Pieces = list[bytes | memoryview]
"""Parts of what is written, one behind the other."""


class Unspliceable(ValueError):
    """The bytes can't be changed safely. Its text says why, and holds nothing of them."""


def splice(original: bytes, changed: Mapping[str, Any], *, before: Mapping[str, Any] | None = None) -> bytes:
    """Returns a JSON object whose value is `changed`, in which each part of `original` with an unchanged value has its own
    bytes; the very same bytes where nothing changes. Values are compared strictly: 1, 1.0 and true are three values.

    `before` is what `json.loads` returned for `original`, if the caller has that: parts of it that are in `changed`, as the
    same objects, needn't be compared.

    Raises `Unspliceable` where `original` isn't a JSON object in UTF-8 (without a byte order mark), is nested too deeply, or
    has a key twice in an object that changes (other parsers may take the other), and where `changed` isn't JSON. Linear.
    """
    try:
        text = "" if before is not None and original.isascii() else original.decode()
        value = json.loads(text) if before is None else before
        splicing = _Splicing(original)
        start = splicing.behind_space(0)
        if original[start : start + 1] != b"{":
            raise Unspliceable("the body isn't a JSON object")
        if _same(value, changed):
            return original
        written, end = splicing.object(start, value, changed, 1)
        if splicing.behind_space(end) != len(original):
            raise Unspliceable("the body doesn't end behind its JSON object")
    except Unspliceable:
        raise
    except UnicodeDecodeError:
        raise Unspliceable("the body isn't UTF-8") from None
    except RecursionError:
        raise Unspliceable("the body is nested too deeply") from None
    except (ValueError, TypeError, LookupError, StopIteration):
        raise Unspliceable("the body, or what it is to be, isn't JSON") from None
    return b"".join((original[:start], *written, original[end:]))


class _Splicing:
    """What reads the bytes and writes parts of them. The methods take where a value starts, the value, and what it is to be."""

    def __init__(self, original: bytes) -> None:
        self._bytes, self._view = original, memoryview(original)
        self._text = original.decode("latin-1")
        """A character for each byte, in which json's scanner finds where values end: whatever is above ASCII is in strings."""
        self._scan: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder().scan_once  # type: ignore[attr-defined]

    def behind_space(self, at: int) -> int:
        found = _SPACE.match(self._text, at)
        return at if found is None else found.end()

    def object(self, start: int, value: Mapping[str, Any], changed: Mapping[str, Any], level: int) -> tuple[_Pieces, int]:
        """Returns the object's new bytes, and where the old ones end."""
        text, view, pieces, known = self._text, self._view, _Pieces(), set[str]()
        begin = start + 1
        end = at = self.behind_space(begin)
        while text[at] != "}" or known:
            key, at = self._key(at)
            if key in known:
                raise Unspliceable("a key stands twice in an object that changes")
            known.add(key)
            if key in changed and not _same(value[key], changed[key]):
                written, end = self._changed(at, value[key], changed[key], level)
                pieces += (b",", view[begin:at], *written)
            else:
                end = self._scan(text, at)[1]
                pieces += (b",", view[begin:end]) if key in changed else ()
            at = self.behind_space(end)
            if text[at] == "}":
                break
            pieces += (view[end:at],) if key in changed else ()
            begin = self._behind_comma(at)
            at = self.behind_space(begin)
        if known != value.keys():
            raise LookupError
        lead = self._lead(begin)
        for key in changed:
            pieces += () if key in known else (b",", lead, _written_key(key), _written(changed[key]))
        return [b"{", *pieces[1:], view[end if known else begin : at], b"}"], at + 1

    def _key(self, at: int) -> tuple[str, int]:
        """Returns the key, and where its value starts."""
        if self._text[at] != '"':
            raise ValueError
        key, end = self._scan(self._text, at)
        if not key.isascii():
            key = json.loads(self._bytes[at:end].decode())
        at = self.behind_space(end)
        if self._text[at] != ":":
            raise ValueError
        return key, self.behind_space(at + 1)

    def _behind_comma(self, at: int) -> int:
        if self._text[at] != ",":
            raise ValueError
        return at + 1

    def _lead(self, begin: int) -> bytes:
        """Returns the white space with which a part begins, for one that is added."""
        end = self.behind_space(begin)
        return self._bytes[begin:end] if end - begin <= _MAX_LEAD else b""

    def _changed(self, start: int, value: Any, changed: Any, level: int) -> tuple[_Pieces, int]:
        """Returns the bytes of what takes the place of a value that differs from it, and where that ends."""
        both_objects = isinstance(value, dict) and isinstance(changed, Mapping)
        if not both_objects and not (isinstance(value, list) and isinstance(changed, list | tuple)):
            end = self._scan(self._text, start)[1]
            spelled = {value: self._bytes[start:end]} if isinstance(value, str) else _NOTHING
            return [_written(changed, spelled)], end
        if level == _MAX_LEVELS:
            raise Unspliceable("what changes is nested too deeply")
        return (self.object if both_objects else self._list)(start, value, changed, level + 1)

    def _list(self, start: int, value: Sequence[Any], changed: Sequence[Any], level: int) -> tuple[_Pieces, int]:
        """Returns the list's new bytes, and where the old ones end."""
        text, scan, view = self._text, self._scan, self._view
        kept, instead = _places(value, changed)
        taken = {index: changed[place] for place, index in instead.items()}
        begins, edited = list[int](), dict[int, _Pieces]()
        begin = start + 1
        end = at = self.behind_space(begin)
        while text[at] != "]" or begins:
            index = len(begins)
            begins.append(begin)
            if index in taken:
                written, end = self._changed(at, value[index], taken[index], level)
                edited[index] = [view[begin:at], *written]
            else:
                end = scan(text, at)[1]
            at = end if text[end] in ",]" else self.behind_space(end)
            if text[at] == "]":
                break
            begin = self._behind_comma(at)
            at = begin if text[begin] in "{[" else self.behind_space(begin)
        if len(begins) != len(value):
            raise LookupError
        ends = [*(one - 1 for one in begins[1:]), end]
        pieces, place, lead = _Pieces(), 0, self._lead(begin)
        while place < len(kept):
            same, place = kept[place], place + 1
            if same is not None:
                last = same
                while place < len(kept) and kept[place] == last + 1:
                    last, place = last + 1, place + 1
                pieces += (b",", view[begins[same] : ends[last]])
            elif place - 1 in instead:
                pieces += (b",", *edited[instead[place - 1]])
            else:
                pieces += (b",", lead, _written(changed[place - 1]))
        return [b"[", *pieces[1:], view[end if begins else begin : at], b"]"], at + 1


def _places(old: Sequence[Any], new: Sequence[Any]) -> tuple[list[int | None], dict[int, int]]:
    """Returns, for each new element, the index of an old one with its value; and by the index of a new element without one the
    index of the old element that it takes the place of. Those in neither are added.

    An element is that of the old ones with its value which is next in order, else any. Between two that are next in order, the
    others take the places of those that aren't found, from the end on: what is added stands in front of what is changed.
    """
    length = min(len(old), len(new))
    first = next((at for at in range(length) if not _same(old[at], new[at])), length)
    last = next((at for at in range(length - first) if not _same(old[~at], new[~at])), length - first)
    stop = len(old) - last
    found = _Standing(old, new, first, stop)
    kept: list[int | None] = list(range(first))
    instead, unfound, before = dict[int, int](), list[int](), first - 1
    for value in new[first : len(new) - last]:
        index: int | None = before + 1
        if before + 1 == stop or old[before + 1] is not value:
            index = found.index(value, before)
        if index is None:
            unfound.append(len(kept))
        elif index > before:
            instead.update(_changed_between(old, new, range(before + 1, index), unfound))
            unfound, before = [], index
        kept.append(index)
    instead.update(_changed_between(old, new, range(before + 1, stop), unfound))
    return [*kept, *range(stop, len(old))], instead


def _changed_between(old: Sequence[Any], new: Sequence[Any], left: Sequence[int], unfound: Sequence[int]) -> dict[int, int]:
    """Returns which of the new elements `unfound` take the places of which old ones of `left`. Where there are more of one
    kind, one is skipped whose neighbour has more in common with its counterpart."""
    instead = dict[int, int]()
    to, at = len(left) - 1, len(unfound) - 1
    while to >= 0 and at >= 0:
        here = _in_common(old[left[to]], new[unfound[at]])
        if to > at and _in_common(old[left[to - 1]], new[unfound[at]]) > here:
            to -= 1
        elif at > to and _in_common(old[left[to]], new[unfound[at - 1]]) > here:
            at -= 1
        else:
            instead[unfound[at]] = left[to]
            to, at = to - 1, at - 1
    return instead


def _in_common(old: Any, new: Any) -> int:
    """Returns how many members two objects share, by equal texts and by identity; -1 where they can't be compared."""
    if not isinstance(old, dict) or not isinstance(new, Mapping):
        return 0 if type(old) is type(new) else -1
    fewer, more = (old, new) if len(old) < len(new) else (new, old)
    return sum(more.get(key) is one or (isinstance(one, str) and bool(more.get(key) == one)) for key, one in fewer.items())


class _Standing:
    """Where in a part of a list a value stands. An object that the new list has too is known by its identity, any other by its
    fingerprint."""

    def __init__(self, old: Sequence[Any], new: Sequence[Any], first: int, stop: int) -> None:
        self._old, self._first, self._stop = old, first, stop
        self._shared = set(map(id, new)) & {id(old[index]) for index in range(first, stop)}
        self._has_others = any(id(old[index]) not in self._shared for index in range(first, stop))

    @cached_property
    def _indices(self) -> Mapping[int | bytes, list[int]]:
        """Those of each value, the last one first."""
        found = defaultdict[int | bytes, list[int]](list)
        for index in reversed(range(self._first, self._stop)):
            found[self._mark(self._old[index])].append(index)
        return found

    def index(self, value: Any, before: int) -> int | None:
        """Returns the next index behind `before` at which the value stands, else any at which it does; None without one.
        `before` never decreases from call to call."""
        mark = self._mark(value) if self._has_others or id(value) in self._shared else b""
        indices = self._indices.get(mark) if mark else None
        if not indices:
            return None
        while len(indices) > 1 and indices[-1] <= before:
            indices.pop()
        return indices[-1]

    def _mark(self, value: Any) -> int | bytes:
        return id(value) if id(value) in self._shared else _fingerprint(value)


def _fingerprint(value: Any) -> bytes:
    """Returns bytes that are equal for values that are the same: marshal writes types, all of a float, and the order of keys.
    Empty for what isn't JSON, such as an object of a class."""
    try:
        return marshal.dumps(value, 2)  # from version 3 on they depend on which strings are one object
    except ValueError:
        return b""


def _same(value: Any, other: Any, levels: int = 2) -> bool:
    """Returns whether two values are the same, at once where they are one object or differ early: on the upper levels what
    they hold is compared one by one."""
    if value is other:
        return True
    kind = type(value)
    if kind is not type(other):
        return False
    if kind is str:
        return bool(value == other)
    if levels and kind is list:
        pairs = zip(value, other, strict=False)
        return len(value) == len(other) and all(one is two or _same(one, two, levels - 1) for one, two in pairs)
    if levels and kind is dict:
        return value.keys() == other.keys() and all(_same(one, other[key], levels - 1) for key, one in value.items())
    return _fingerprint(value) == _fingerprint(other) != b""


def _written(value: Any, spelled: Mapping[str, bytes] = _NOTHING) -> bytes:
    """Returns new JSON. A string of `spelled` has these bytes."""
    if spelled and isinstance(value, str):
        return spelled.get(value) or _written(value)
    if spelled and isinstance(value, Mapping):
        return b"{" + b",".join(_written_key(key) + _written(one, spelled) for key, one in value.items()) + b"}"
    if spelled and isinstance(value, list | tuple):
        return b"[" + b",".join(_written(one, spelled) for one in value) + b"]"
    return _encode(value).encode(errors="backslashreplace")  # a lone surrogate is `\ud800` in JSON too


def _written_key(key: object) -> bytes:
    if not isinstance(key, str):
        raise TypeError
    return _written(key) + b":"
