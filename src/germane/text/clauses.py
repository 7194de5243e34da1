"""Clauses: cuts a text into sentences and clauses, and tells which kinds of words a clause has."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from importlib.resources import files
from itertools import chain
from typing import NamedTuple

Span = tuple[int, int]
"""The place of a clause in its text, in characters: start and end."""
_MAX_CLAUSE, _MIN_CLAUSE = 140, 25
"""Characters of a clause that is cut from a longer sentence."""
_MIN_STOPPED = 8
_MAX_WIDE_CLAUSE, _MIN_WIDE_CLAUSE = 44, 8
"""The same in scripts whose characters are words or syllables."""
WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""A character that is a word or a syllable: kana, Han, Hangul."""
_WIDE_SHARE = 0.3
_JOINING = (
    "and|but|so|because|cause|since|though|und|aber|weil|denn|sondern|y|pero|porque|xq|aunque|et|mais|car|parce|donc|e|ma|perché"
    "|mas|pois|en|maar|want|omdat|och|men|eftersom|i|ale|bo|więc|и|но|а|потому|ve|ama|çünkü"
)
_STOP = re.compile(r"(?<=[^\W\d_][^\W\d_][^\W\d_])[.!?…]{1,8}+(?= )|(?<=\d)[.!?…]{1,8}+(?= [^\W\d_])|(?<![!?])[!?]{1,8}+(?= )")
"""A full stop before a space. People who write without capitals end sentences so; an abbreviation of three letters may too."""
_CUT = re.compile(rf"[,;:](?= )|[，、；：]| (?=[-–—] )| (?=(?:{_JOINING}) )|(?<=[\u3040-\u30ff\u3400-\u9fff]) ")
"""Ends where a clause may end."""


def clauses(text: str) -> list[Span]:
    """Returns the clauses of a text in order, without the space around them; none overlap, and what holds no
    letter or digit isn't one. Linear."""
    found = list[Span]()
    for start, end in chain.from_iterable(_stopped(text, *sentence) for sentence in sentences(text)):
        for first, last in _pieces(text, start, end):
            piece = text[first:last]
            first += len(piece) - len(piece.lstrip())
            last -= len(piece) - len(piece.rstrip())
            if not any(map(str.isalnum, text[first:last])):
                continue
            if found and _belongs(text, *found[-1], first, last):
                first = found.pop()[0]
            found.append((first, last))
    return found


def _belongs(text: str, start: int, end: int, first: int, last: int) -> bool:
    """Whether the clause before is one word of the same line, as in "Felixstowe. That's my Mondays now"."""
    before, between = text[start:end], text[end:first]
    return " " not in before and between == " " and last - start <= _MAX_CLAUSE and WIDE.search(before) is None


def _stopped(text: str, start: int, end: int) -> Iterator[Span]:
    """The sentence cut at full stops that no capital follows."""
    for stop in _STOP.finditer(text, start, end):
        if stop.end() - start >= _MIN_STOPPED and end - stop.end() >= _MIN_STOPPED:
            yield start, stop.end()
            start = stop.end()
    yield start, end


def _pieces(text: str, start: int, end: int) -> Iterator[Span]:
    """The sentence whole, or in pieces that are short enough: each ends at the last place where one may, else at a space."""
    most, least = _limits(text, start, end)
    if end - start <= most:
        yield start, end
        return
    cuts = [found.end() for found in _CUT.finditer(text, start, end)]
    while end - start > most:
        index = bisect_right(cuts, min(start + most, end - least)) - 1
        stop = cuts[index] if index >= 0 and cuts[index] >= start + least else 0
        if not stop:
            space = text.rfind(" ", start + least, start + most)
            stop = space + 1 if space >= 0 else start + most
        yield start, stop
        start = stop
    yield start, end


def _limits(text: str, start: int, end: int) -> tuple[int, int]:
    if text.isascii():
        return _MAX_CLAUSE, _MIN_CLAUSE
    wide = sum(1 for _ in WIDE.finditer(text, start, end))
    return (_MAX_WIDE_CLAUSE, _MIN_WIDE_CLAUSE) if wide > _WIDE_SHARE * (end - start) else (_MAX_CLAUSE, _MIN_CLAUSE)


# Cues are the kinds of words of a clause: of the speaker, of demands, of what lasts. The words are in `cues.toml`.


KINDS = (
    *("i", "mine", "you", "always", "never", "please", "answering", "shape", "limit", "case", "change", "taste", "body"),
    *("people", "life", "repeating", "asking", "empty"),
)
"""The tables of `cues.toml`, in the order of `Cues.counts`."""
_WORD = re.compile(r"[^\W\d_]++(?:['-][^\W\d_]++){0,8}+|\d[\d.,:]*+")
_APOSTROPHES = str.maketrans("’‘ʼ＇", "''''")
_MAX_CUE_WORD = 40


class Cues(NamedTuple):
    """How often each kind occurs, the kinds of the first word, and the number of words: in scripts without spaces two
    characters count as one."""

    counts: tuple[int, ...]
    first: frozenset[int]
    words: int


class _Lexicon(NamedTuple):
    exact: Mapping[str, frozenset[int]]
    beginnings: Mapping[str, frozenset[int]]
    lengths: tuple[int, ...]
    """Lengths of the beginnings."""
    runs: Mapping[str, tuple[tuple[tuple[str, ...], int], ...]]
    """By first word: the words that follow in a run of words, and the run's kind."""
    unspaced: re.Pattern[str]
    unspaced_kinds: Mapping[str, frozenset[int]]
    always: frozenset[str]
    """The words of the kind `always`, and those of which its runs are made."""


def read_cues(text: str) -> Cues:
    """Reads the cues of a clause. Linear."""
    lexicon, counts = _lexicon(), [0] * len(KINDS)
    low = _lower(text)
    words = _WORD.findall(low)
    first = frozenset[int]()
    for place, word in enumerate(words):
        kinds = _kinds(word[:_MAX_CUE_WORD])
        for kind in kinds:
            counts[kind] += 1
        for rest, kind in lexicon.runs.get(word, ()):
            if tuple(words[place + 1 : place + 1 + len(rest)]) == rest:
                counts[kind] += 1
                kinds |= {kind}
        if not place:
            first = kinds
    size = len(words)
    if not text.isascii() and (wide := len(WIDE.findall(low))):
        for found in lexicon.unspaced.finditer(low):
            for kind in lexicon.unspaced_kinds[found[0]]:
                counts[kind] += 1
        size = max(1, wide // 2 + sum(WIDE.search(word) is None for word in words))
    return Cues(tuple(counts), first, size)


def lower_words(text: str) -> list[str]:
    """Returns the words and numbers of the text in lower case, with straight apostrophes, each cut to 40 characters. Linear."""
    return [word[:_MAX_CUE_WORD] for word in _WORD.findall(_lower(text))]


def only_always(text: str) -> bool:
    """Returns whether the text says nothing but that something always holds: "every single time"."""
    words, lexicon = lower_words(text), _lexicon()
    if WIDE.search(text):
        always = KINDS.index("always")
        rest = lexicon.unspaced.sub(lambda found: "" if always in lexicon.unspaced_kinds[found[0]] else found[0], text)
        return WIDE.search(rest) is None and not words[1:]
    return bool(words) and lexicon.always.issuperset(words)


def _lower(text: str) -> str:
    return text.translate(_APOSTROPHES).lower()


@lru_cache(maxsize=1 << 14)
def _kinds(word: str) -> frozenset[int]:
    lexicon = _lexicon()
    found = lexicon.exact.get(word, frozenset())
    for length in lexicon.lengths:
        if length > len(word):
            break
        found |= lexicon.beginnings.get(word[:length], frozenset())
    return found


@cache
def _lexicon() -> _Lexicon:
    tables = tomllib.loads(files("germane.text").joinpath("cues.toml").read_text("utf-8"))
    exact, beginnings, unspaced = dict[str, frozenset[int]](), dict[str, frozenset[int]](), dict[str, frozenset[int]]()
    runs: dict[str, tuple[tuple[tuple[str, ...], int], ...]] = {}
    for kind, name in enumerate(KINDS):
        for language, listed in tables[name].items():
            for word in listed.split():
                if language == "unspaced":
                    _add(unspaced, word, kind)
                elif "_" in word:
                    begin, *rest = word.rstrip("*").split("_")
                    runs[begin] = (*runs.get(begin, ()), (tuple(rest), kind))
                elif word.endswith("*"):
                    _add(beginnings, word[:-1], kind)
                else:
                    _add(exact, word, kind)
    longest_first = sorted(unspaced, key=lambda word: (-len(word), word))
    lengths = tuple(sorted({len(word) for word in beginnings}))
    listed_always = " ".join(tables["always"].values()).replace("_", " ").split()
    always = frozenset(word.rstrip("*") for word in listed_always)
    return _Lexicon(exact, beginnings, lengths, runs, re.compile("|".join(map(re.escape, longest_first))), unspaced, always)


def _add(table: dict[str, frozenset[int]], word: str, kind: int) -> None:
    table[word] = table.get(word, frozenset()) | {kind}


# Sentences: splits a text of any script into sentences, lines, and pieces of what is too long for either. A full stop
# ends a sentence where white space follows, no small letter comes next, and no abbreviation stands before it. The full
# stops of scripts that need no space after them, and the end of a line, always end one; but a line of wrapped prose
# goes on in the next line.


MAX_SENTENCE = 400
"""Characters of a sentence; a longer one is cut at a clause, else at a space, else between characters."""
_PIECE = re.compile(
    r"[^.!?…。！？｡।॥؟۔\n]++[.!?…。！？｡।॥؟۔\n]*+[\"'”’»)\]」』）]*+\s*+|[.!?…。！？｡।॥؟۔\n]++[\"'”’»)\]」』）]*+\s*+"
)
"""Matches every character of a text: what stands before a mark, the marks, what closes them, and the space behind."""
_CLOSING = "\"'”’»)]」』）"
_SPACED = ".!?…"
"""Marks that end a sentence only before white space."""
_CLAUSES = ("; ", ", ", ": ", " – ", " — ", "，", "、", "；", "：", "، ", "؛ ")
_CLAUSE = re.compile(r"[,;:()–—，；：、]|\b(?:and|but|und|aber|et|mais|y|pero)\b")
_ABBREVIATIONS = frozenset(
    (
        *("dr", "mr", "mrs", "ms", "prof", "sr", "jr", "st", "vs", "etc", "e.g", "i.e", "cf", "no", "nr", "vol", "fig"),
        *("inc", "ltd", "bzw", "usw", "z.b", "d.h", "ca", "bspw", "sra", "av", "approx", "dept"),
    )
)
_MIN_WRAPPED = 40
"""Characters of a line from which on it may be prose that was wrapped."""
_MAX_CLUSTER = 64
_JOINERS = "\u200c\u200d"


def sentences(text: str) -> list[tuple[int, int]]:
    """Returns the start and the end of each sentence, in order and without gaps: every character belongs to one. Linear in the
    text's length; accepts any string."""
    found, start, end = list[tuple[int, int]](), 0, 0
    for piece in _PIECE.finditer(text):
        end = piece.end()
        if end < len(text) and not _ends(text, piece.start(), end):
            continue
        if end - start <= MAX_SENTENCE:
            found.append((start, end))
        else:
            found.extend(_cut(text, start, end))
        start = end
    return found


def sentence_texts(text: str) -> list[str]:
    """Returns the sentences of a text, in order. Linear."""
    return [text[start:end] for start, end in sentences(text)]


def clause_texts(text: str) -> list[str]:
    """Returns the clauses of a text, in order, without the words and marks that join them. Linear."""
    return [clause for sentence in sentence_texts(text) for clause in _CLAUSE.split(sentence) if clause.strip()]


def _ends(text: str, start: int, end: int) -> bool:
    """Whether a sentence ends with the piece from `start` to `end`, behind which the text goes on."""
    bare = start + len(text[start:end].rstrip())
    space, following = text[bare:end], text[end]
    if "\n" in space:
        line = text.rfind("\n", max(0, bare - _MIN_WRAPPED), bare)
        wrapped = space.count("\n") == 1 and following.islower() and line < 0 and bare >= _MIN_WRAPPED
        return not (wrapped and (text[bare - 1].isalnum() or text[bare - 1] == ","))
    while bare > start and text[bare - 1] in _CLOSING:
        bare -= 1
    if bare == start or text[bare - 1] not in _SPACED:
        return bare > start
    if not space or following.islower():
        return False
    return text[bare - 1] != "." or not _abbreviated(text, start, bare - 1)


def _abbreviated(text: str, start: int, stop: int) -> bool:
    """Whether the full stop at `stop` belongs to an initial or an abbreviation; digits before it may number a list's item."""
    word = text[max(start, stop - 12) : stop].rpartition(" ")[2].lstrip("(\"'“")
    return (len(word) == 1 and word.isalpha()) or word.lower() in _ABBREVIATIONS


def _cut(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The sentence in pieces of at most `LONGEST` characters."""
    while end - start > MAX_SENTENCE:
        stop = _place(text, start, start + MAX_SENTENCE)
        yield start, stop
        start = stop
    yield start, end


def _place(text: str, start: int, stop: int) -> int:
    """The best place to cut between the middle of these characters and their end."""
    middle = (start + stop) // 2
    clause = max(text.rfind(mark, middle, stop) + len(mark) if text.find(mark, middle, stop) >= 0 else 0 for mark in _CLAUSES)
    if clause > middle:
        return clause
    for index in range(stop - 1, middle, -1):
        if text[index].isspace():
            return index + 1
    for index in range(stop, stop - _MAX_CLUSTER, -1):
        if not _holds(text[index - 1], text[index]):
            return index
    return stop


def _holds(before: str, after: str) -> bool:
    """Whether these characters belong together, as far as that shows without their surroundings."""
    if after.isascii():
        return before == "\r" and after == "\n"
    if after in _JOINERS or before in _JOINERS or unicodedata.category(after)[0] == "M":
        return True
    if "\U0001f3fb" <= after <= "\U0001f3ff":
        return True
    flags = "\U0001f1e6" <= after <= "\U0001f1ff" and "\U0001f1e6" <= before <= "\U0001f1ff"
    return flags or "\U000e0020" <= after <= "\U000e007f" or "\u1160" <= after <= "\u11ff"
