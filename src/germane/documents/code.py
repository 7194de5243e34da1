"""Code: the pieces of source text: functions and classes, found by their first lines, whatever the language.

The rule looks at indentation, blank lines and the first words of a line, and parses nothing: a parser is needed for each
language, fails for half a file, and can be brought down by a deeply nested text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from germane.documents.chunk import CHARACTERS
from germane.documents.lines import Line, lines
from germane.documents.piece import Piece

__all__ = ["code_pieces"]

_MODIFIER_WORDS = """export default pub public private protected internal static final abstract async override virtual inline
unsafe extern sealed data open partial declare suspend readonly template"""
_KEYWORD_WORDS = """def class fn func fun function struct enum interface trait impl type module namespace object record sub proc
contract macro_rules! protocol extension union package resource table"""
_STATEMENT_WORDS = """return raise if for while await else assert yield with switch case new throw del import from elif try
except not"""
_MODIFIERS = frozenset(_MODIFIER_WORDS.split())
_KEYWORDS = frozenset(_KEYWORD_WORDS.split())
_STATEMENTS = frozenset(_STATEMENT_WORDS.split())
_COMMENTS = ("#", "//", "/*", "*", "--", "@", "[[", '"""', "'''", ";")
"""How lines begin that belong to the definition below them: comments, decorators, attributes."""
_CLOSERS = ("}", ")", "]", "end", "else", "elif", "except", "finally", "{", "then", "fi", "done", "esac", "|")
_NAME_ENDS = "(<{:;=[,"
_MAX_LINE = 200
"""Characters at the beginning of a line that are looked at."""
_DEPTH = 3
_TRIPLE = re.compile(r"\"\"\"|'''")


def code_pieces(text: str) -> Iterator[Piece]:
    """Yields the pieces in order, in time linear in the text: top-level blocks, of long ones the blocks inside them. Each
    stands under the names of what it is in."""
    yield from _pieces(lines(text), (), 0)


def _pieces(found: Sequence[Line], path: tuple[str, ...], depth: int) -> Iterator[Piece]:
    for block in _blocks(found):
        name, first = _named(block)
        under = (*path, name) if name else path
        size = block[-1].stop - block[0].start
        inner = block[first + 1 :] if name and size > CHARACTERS and depth < _DEPTH else ()
        margin = _indent(inner)
        head = next((index for index, line in enumerate(inner) if _starts(line, margin)), None)
        if head is None:
            text = "\n".join(line.text for line in block)
            yield Piece(text, block[0].start, block[-1].stop, under, lead=block[first].text[:_MAX_LINE], loose=True)
            continue
        while head and inner[head - 1].text.lstrip().startswith(_COMMENTS):
            head -= 1
        opening = block[: first + 1 + head]
        text = "\n".join(line.text for line in opening).rstrip()
        yield Piece(text, opening[0].start, opening[0].start + len(text), under, loose=True)
        yield from _pieces(inner[head:], under, depth + 1)


def _blocks(found: Sequence[Line]) -> Iterator[Sequence[Line]]:
    """Runs of lines that begin at the least indentation: behind a blank line, or with a definition."""
    margin = _indent(found)
    begin: int | None = None
    leading = True
    """Whether the block has nothing but comments and decorators so far."""
    blank, quoted = True, ""
    for index, line in enumerate(found):
        if line.blank:
            blank = True
            continue
        inside, quoted = quoted, _quote(line.text, quoted)
        bare = line.text[margin : margin + _MAX_LINE]
        outermost = bare[:1] not in (" ", "\t", "") and not inside
        if begin is None:
            begin = index
        elif outermost and not bare.startswith(_CLOSERS) and (blank or (not leading and _definition(bare))):
            yield _trimmed(found[begin:index])
            begin, leading = index, True
        leading = leading and outermost and bare.startswith(_COMMENTS)
        blank = False
    if begin is not None:
        yield _trimmed(found[begin:])


def _trimmed(block: Sequence[Line]) -> Sequence[Line]:
    stop = len(block)
    while block[stop - 1].blank:
        stop -= 1
    return block[:stop]


def _indent(found: Sequence[Line]) -> int:
    """The least indentation of the lines, in characters. Lone closing brackets don't count."""
    return min(
        (_width(line.text) for line in found if not line.blank and not line.text.lstrip()[:_MAX_LINE].startswith(_CLOSERS)),
        default=0,
    )


def _width(line: str) -> int:
    return len(line) - len(line.lstrip())


def _starts(line: Line, margin: int) -> bool:
    return not line.blank and _width(line.text) == margin and bool(_definition(line.text[margin : margin + _MAX_LINE]))


def _named(block: Sequence[Line]) -> tuple[str, int]:
    """The name of what the block defines, and the index of the line that says so; '' and the first line's for none."""
    margin = _width(block[0].text)
    for index, line in enumerate(block[:50]):
        if line.blank or _width(line.text) != margin or line.text.lstrip().startswith(_COMMENTS):
            continue
        return _definition(line.text[margin : margin + _MAX_LINE]), index
    return "", 0


def _definition(line: str) -> str:
    """The name that a line defines; '' for any other line."""
    words = line.split()
    while words and (words[0] in _MODIFIERS or words[0].startswith("pub(")):
        del words[0]
    if len(words) > 1 and words[0] in _KEYWORDS:
        rest = " ".join(words[1:])
        if words[0] == "func" and rest.startswith("("):  # Go: the receiver comes first
            rest = rest.partition(")")[2].strip()
        if words[0] == "impl":
            return rest.rstrip("{ ").strip()[:60]
        return _cut(rest)
    before, bracket, _ = line.partition("(")  # C and its kin: a type, a name, parentheses
    said = before.split()
    plain = bracket and len(said) > 1 and said[0] not in _STATEMENTS and said[0][0].isalpha() and "=" not in before
    return said[-1].lstrip("*&")[:60] if plain and line.rstrip().endswith(("{", ")")) else ""


def _cut(rest: str) -> str:
    stop = min((place for mark in _NAME_ENDS if (place := rest.find(mark)) > 0), default=len(rest))
    words = rest[:stop].split()
    return words[0][:60] if words else ""


def _quote(line: str, inside: str) -> str:
    """The triple quote that is open behind this line, given the one that was open before it."""
    for found in _TRIPLE.finditer(line):
        if not inside:
            inside = found[0]
        elif inside == found[0]:
            inside = ""
    return inside
