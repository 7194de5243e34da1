"""Linear: checks that every function that reads text or a list takes linear time, by CPU time as T(4n) / T(n).

    python -m bench linear [--count 10000] [--limit 1000000] [--lists 400] [--items 16384] [--minutes 10] [--only format.escape]

A case is one function (`bench/readers.py`) and one kind of text: a run of one character, two characters in turn, halves of
each, or a run of one with the other before or behind it; characters come from every Unicode class. n grows until T(n) can be
measured, then by factors of four until a call takes 6 ms, or for every fiftieth case until the text has `--limit` characters or
a call takes a second. The functions that read a list of the caller's (`bench/list_readers.py`: messages, items, calls,
mutations, tools, lines) are measured likewise, by kinds of items instead of characters.

The largest ratio counts. A ratio above 5 is measured again with the minimum of several times, since the machine is noisy. If it
stays above 5, the next ratio, T(16n) / T(4n), is measured as well, and the smaller one counts, but no less than a quarter of
the first: a function that does extra work from some length on isn't quadratic, unless the work becomes more than six times as
much. A linear function has a ratio of about 4, n·log n a little more, a quadratic function 16. The run fails above 6.

All functions are measured with one case each before any is measured with a second, lists and texts side by side, so that
`--minutes` shortens the run for all alike.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import gc
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from types import MappingProxyType
from typing import Any

from bench.list_readers import LIST_SHAPES, LISTS
from bench.machine import describe
from bench.readers import READERS, Reader

__all__ = ["CHARACTERS", "SHAPES", "Case", "Timing", "list_cases", "main", "run", "text_case", "text_cases", "timing"]

_WORST = 6.0
_SUSPICIOUS = 5.0
_AGAIN = 8
_MEASURABLE = 0.0004
_LONG, _LONG_LIST, _LONGEST = 0.006, 0.05, 1.0
_TO_THE_END = 50
_SMALLEST = 64
_RUN = "run of a"

CHARACTERS: Mapping[str, str] = MappingProxyType(
    {f"ASCII {char}": char for char in "aZ09 _.,:;!?-/\\'\"`()[]{}<>#@&|=+*~^%$"}
    | {
        "newline": "\n", "return": "\r", "tab": "\t", "vertical tab": "\x0b", "NUL": "\0", "escape": "\x1b", "C1": "\x9b",
        "no-break space": "\xa0", "ideographic space": "\u3000", "line separator": "\u2028", "en quad": "\u2000",
        "zero width space": "\u200b", "non-joiner": "\u200c", "joiner": "\u200d", "bidi override": "\u202e", "BOM": "\ufeff",
        "mark above": "\u0301", "mark below": "\u0316", "overlay": "\u0338", "virama": "\u094d", "nukta": "\u093c",
        "Hebrew point": "\u05b0", "Arabic vowel": "\u064b", "Tibetan mark": "\u0f71", "Tibetan pair": "\u0f73",
        "kana mark": "\u3099", "half-width mark": "\uff9e", "musical mark": "\U0001d165", "marks in turn": "\u0316\u0301",
        "letter and marks": "a\u0316\u0301", "decomposing mark": "\u0344", "grapheme joiner": "\u034f",
        "jamo L": "\u1100", "jamo V": "\u1161", "jamo T": "\u11a8", "Hangul": "각", "Han": "書", "kana": "の", "kana half": "ｱ",
        "flag": "\U0001f1e6", "emoji": "👩", "emoji and joiner": "👩\u200d", "skin tone": "\U0001f3fd", "selector": "\ufe0f",
        "keycap": "1\ufe0f\u20e3", "tag": "\U000e0041", "surrogate": "\ud800", "low surrogate": "\udc00",
        "Thai": "ก", "Thai vowel": "\u0e33", "Arabic": "ع", "tatweel": "\u0640", "Persian": "پ",
        "Arabic digit": "٣", "superscript": "²", "Hebrew": "א", "Devanagari": "क", "Cyrillic": "ж",
        "Greek": "Σ", "sharp s": "ß", "dotted I": "İ", "ligature": "ﬃ", "salutation": "\ufdfa", "not less": "≮",
        "wide bracket": "［", "wide less": "＜", "wide colon": "：", "wide A": "Ａ", "bold": "𝐀", "fraction": "½",
        "ellipsis": "…", "curly quote": "“", "apostrophe": "’", "guillemet": "»", "corner": "「", "Han stop": "。",
        "DeepSeek's bar": "▁", "private": "\ue000", "noncharacter": "\uffff", "last": "\U0010ffff", "unassigned": "\u0378",
        "dot word": "a.", "word": "word ", "camel": "aB", "name": "Ann ", "slashes": "a/", "colons": "a::", "digit pair": "1.",
        "opening": "[ ", "entity": "&lt;", "handle": "\n[a1] ", "heading": "\n## ", "role": "\nSystem: ",
        "tag name": "<memory ",
        "token": "<|",
        "closing": "|>", "escaped quote": "\\'", "base64": "QUJD", "data URL": "data:a/b;", "month": "may ",
        "nonce": "qhzvkdtwmbxr", "half nonce": "qhzvkd", "question": "when? ", "wide nonce": "ｑｈｚｖｋｄ",
    }
)  # fmt: skip
"""One character of each class that a function might distinguish, and a few longer sequences."""


def _run(a: str, b: str, n: int) -> str:
    return (a * (n // len(a) + 1))[:n]


def _turns(a: str, b: str, n: int) -> str:
    return _run(a + b, "", n)


def _halves(a: str, b: str, n: int) -> str:
    return _run(a, "", n // 2) + _run(b, "", n - n // 2)


def _behind(a: str, b: str, n: int) -> str:
    return a + _run(b, "", n)


def _before(a: str, b: str, n: int) -> str:
    return _run(b, "", n) + a


def _lines(a: str, b: str, n: int) -> str:
    return _run(f"{a}{b * 30}\n", "", n)


SHAPES = MappingProxyType(
    {_RUN: _run, "a and b in turn": _turns, "a, then b": _halves, "one a, then b": _behind, "b, then one a": _before}
    | {"lines of a and 30 b": _lines}
)


@dataclass(frozen=True, slots=True)
class Case:
    """One function and one kind of text or list: `made` makes it of a length, up to `limit`. `longest` is the time of a call,
    in seconds, after which no longer one is measured."""

    reader: str
    what: str
    read: Callable[[Any], object]
    made: Callable[[int], Any]
    limit: int
    longest: float


@dataclass(frozen=True, slots=True)
class Timing:
    """`ratio` is the largest T(4n) / T(n), at `n` characters or items; `longest` is the longest call in
    seconds, with `size` of them."""

    reader: str
    what: str
    ratio: float
    n: int
    longest: float
    size: int


def text_case(name: str, reader: Reader, shape: str, a: str, b: str, limit: int, longest: float = _LONG) -> Case:
    """One function and one kind of text; `limit` are characters."""
    made, first, second = SHAPES[shape], CHARACTERS[a], CHARACTERS[b]
    return Case(name, _what(shape, a, b), reader, lambda n: made(first, second, n), limit, longest)


def list_case(name: str, shape: str, a: str, b: str, limit: int, longest: float = _LONG_LIST) -> Case:
    """One function and one kind of list; `limit` are items."""
    reader, made = LISTS[name], LIST_SHAPES[shape]
    first, second = reader.items[a], reader.items[b]
    return Case(name, _what(shape, a, b), reader.read, lambda n: made(first, second, n), limit, longest)


def _what(shape: str, a: str, b: str) -> str:
    return shape.replace("a", a, 1) if shape == _RUN else f"{shape}: a = {a}, b = {b}"


def timing(case: Case) -> Timing:
    """Times a case. An exception ends the run."""
    reader, made, limit = case.read, case.made, case.limit
    n = _SMALLEST
    before = _spent(reader, made(n))
    while before < _MEASURABLE and 16 * n <= limit:
        n *= 4
        before = _spent(reader, made(n))
    worst, at = 0.0, n
    while True:
        after = _spent(reader, made(4 * n))
        for _ in range(_AGAIN if after < _LONGEST else 1):
            if after <= _SUSPICIOUS * before:
                break
            before = min(before, _spent(reader, made(n)))
            after = min(after, _spent(reader, made(4 * n)))
        ratio = after / before if before >= _MEASURABLE / 4 else 0.0
        if ratio > _SUSPICIOUS and 4 * n <= limit:
            beyond = _spent(reader, made(16 * n))
            for _ in range(_AGAIN if after < _LONGEST else 1):
                if beyond <= _SUSPICIOUS * after:
                    break
                beyond = min(beyond, _spent(reader, made(16 * n)))
            ratio = min(ratio, max(beyond / after, ratio / 4))
        if ratio > worst:
            worst, at = ratio, n
        n *= 4
        if after > case.longest or 4 * n > limit or worst > 2 * _WORST:
            return Timing(case.reader, case.what, worst, at, after, n)
        before = after


def _spent(reader: Callable[[Any], object], text: Any) -> float:
    """CPU seconds of one call."""
    began = time.process_time()
    reader(text)
    return time.process_time() - began


def _keep_memory() -> None:
    """Keeps freed memory in the process: allocating it again would dominate the times."""
    with contextlib.suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None)
        for option, value in ((-3, 1 << 30), (-1, 2**31 - 1)):  # M_MMAP_THRESHOLD, M_TRIM_THRESHOLD of glibc
            libc.mallopt(option, value)


def _kinds(names: Sequence[str], shapes: Sequence[str], count: int, random: Random) -> Iterator[tuple[str, str, str]]:
    """So many kinds: runs of one for the first half at most, each once, then the other shapes at random."""
    runs = random.sample(names, min(len(names), -(-count // 2)))
    for name in runs:
        yield _RUN, name, name
    others = [shape for shape in shapes if shape != _RUN]
    for _ in range(count - len(runs)):
        yield random.choice(others), random.choice(names), random.choice(names)


def _in_turn(
    functions: Mapping[str, tuple[Callable[..., Case], Sequence[str]]],
    shapes: Sequence[str],
    count: int,
    random: Random,
    long: float,
) -> list[Case]:
    """About `count` cases, equally many of each function, the first of each before the second of any."""
    each = -(-count // max(1, len(functions)))
    kinds = {name: list(_kinds(names, shapes, each, random)) for name, (_, names) in functions.items()}
    turns = [(name, kinds[name][turn]) for turn in range(each) for name in functions]
    return [
        functions[name][0](*kind, longest=_LONGEST if at % _TO_THE_END == _TO_THE_END - 1 else long)
        for at, (name, kind) in enumerate(turns)
    ]


def text_cases(count: int, limit: int, seed: int, only: str = "") -> list[Case]:
    """About `count` cases of the functions that read text."""
    readers = {
        name: (partial(text_case, name, reader, limit=limit), list(CHARACTERS))
        for name, reader in READERS.items()
        if name.startswith(only)
    }
    return _in_turn(readers, list(SHAPES), count, Random(seed), _LONG)


def list_cases(count: int, limit: int, seed: int, only: str = "") -> list[Case]:
    """About `count` cases of the functions that read a list."""
    readers = {
        name: (partial(list_case, name, limit=limit), list(reader.items))
        for name, reader in LISTS.items()
        if name.startswith(only)
    }
    return _in_turn(readers, list(LIST_SHAPES), count, Random(seed), _LONG_LIST)


def run(cases: Sequence[Case], seconds: float) -> list[Timing]:
    """Times the cases in their order. After `seconds` no other one is begun."""
    found, until = list[Timing](), time.monotonic() + seconds
    _keep_memory()
    gc.disable()
    try:
        for case in cases:
            if not found or case.reader != found[-1].reader:
                case.read(case.made(_SMALLEST))
            found.append(timing(case))
            if len(found) % _TO_THE_END == 0:
                gc.collect()
                print(f"\r{len(found):,} of {len(cases):,} timings ", end="", file=sys.stderr, flush=True)
            if time.monotonic() > until:
                break
    finally:
        gc.enable()
    print(file=sys.stderr)
    return found


def _shown(found: Sequence[Timing]) -> None:
    """One line per function, the worst first."""
    worst: dict[str, Timing] = {}
    slowest: dict[str, Timing] = {}
    for one in found:
        worst[one.reader] = max(worst.get(one.reader, one), one, key=lambda timing: timing.ratio)
        slowest[one.reader] = max(slowest.get(one.reader, one), one, key=lambda timing: timing.longest / timing.size)
    print(f"{'function':<44} {'worst':>6} {'at n':>9} {'ns/one':>8}  for")
    for name, one in sorted(worst.items(), key=lambda pair: -pair[1].ratio):
        most = slowest[name]
        print(
            f"{name:<44} {one.ratio:6.2f} {one.n:9,} {1e9 * most.longest / most.size:8,.0f}  {one.what} (dearest: {most.what})"
        )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench linear", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=10_000, help="timings of texts in all")
    parser.add_argument("--limit", type=int, default=1_000_000, help="characters of the longest text")
    parser.add_argument("--lists", type=int, default=400, help="timings of lists in all")
    parser.add_argument("--items", type=int, default=16_384, help="items of the longest list")
    parser.add_argument("--minutes", type=float, default=10.0, help="no timing begins after so many")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="functions whose names begin so")
    options = parser.parse_args(arguments)
    print(describe())
    began, kinds = time.monotonic(), list[list[Case]]()
    if options.lists:
        kinds.append(list_cases(options.lists, options.items, options.seed, options.only))
    if options.count:
        kinds.append(text_cases(options.count, options.limit, options.seed, options.only))
    placed = [(at / len(each), case) for each in kinds for at, case in enumerate(each)]
    cases = [case for _, case in sorted(placed, key=lambda pair: pair[0])]
    found = run(cases, 60 * options.minutes)
    _shown(found)
    over = [one for one in found if one.ratio > _WORST]
    for one in sorted(over, key=lambda one: -one.ratio)[:20]:
        print(f"NOT LINEAR {one.reader}: {one.ratio:.1f} at {one.n:,}, {one.what}", file=sys.stderr)
    if missing := {case.reader for case in cases} - {one.reader for one in found}:
        print(f"NOT MEASURED in {options.minutes:g} minutes: {', '.join(sorted(missing))}", file=sys.stderr)
    largest, of = max((one.ratio for one in found), default=0.0), "" if len(found) == len(cases) else f" of {len(cases):,}"
    print(
        f"{len(over)} of {len(found):,}{of} timings above {_WORST:g}; largest {largest:.2f}; {time.monotonic() - began:.0f} s"
    )
    return 1 if over or missing else 0


if __name__ == "__main__":
    sys.exit(main())
