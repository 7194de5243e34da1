"""Markdown: the pieces of a Markdown text: paragraphs, lists, fenced code and tables under their headings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from germane.documents.lines import Line, lines
from germane.documents.piece import Piece

__all__ = ["markdown_pieces"]

_LEVELS = 6
_UNDERLINES = {"=": 1, "-": 2}


def markdown_pieces(text: str) -> Iterator[Piece]:
    """Yields the pieces in order, in time linear in the text. A fence and a table are one piece each; a heading is in the path
    of what stands under it, and a piece of its own only where nothing does."""
    headings: list[str] = []
    levels: list[int] = []
    alone: Line | None = None
    for block in _blocks(lines(text)):
        level, title = _heading(block)
        path = tuple(headings)
        if not level:
            yield _piece(block, path)
            alone = None
            continue
        if alone is not None and levels and level <= levels[-1]:
            yield Piece(headings[-1], alone.start, alone.stop, path)
        while levels and levels[-1] >= level:
            levels.pop()
            headings.pop()
        levels.append(level)
        headings.append(title)
        alone = block[0]
    if alone is not None:
        yield Piece(headings[-1], alone.start, alone.stop, tuple(headings))


def _piece(block: Sequence[Line], path: tuple[str, ...]) -> Piece:
    first, last = block[0], block[-1]
    lead = ""
    if first.text.lstrip().startswith("|") and len(block) > 2:
        lead = f"{first.text}\n{block[1].text}"
    elif _fence(first.text):
        lead = first.text
    return Piece("\n".join(line.text for line in block), first.start, last.stop, path, lead)


def _blocks(found: Sequence[Line]) -> Iterator[Sequence[Line]]:
    """Runs of lines: a fence with all that it holds, a heading, a table, or lines up to the next of these or a blank line."""
    begin, fence = 0, ""
    front = len(found) > 2 and found[0].text.rstrip() == "---"
    for index, line in enumerate(found):
        if front:
            front = not (index and line.text.rstrip() in ("---", "..."))
            if not front:
                yield found[: index + 1]
                begin = index + 1
            elif line.blank and index:
                front = False  # a rule, and no front matter
                yield found[:index]
                begin = index + 1
            continue
        opened = _fence(line.text)
        if fence:
            if opened.startswith(fence) and not line.text.strip().strip(fence[0]):
                yield found[begin : index + 1]
                begin, fence = index + 1, ""
            continue
        starts = opened or _atx(line.text)[0]
        tabled = line.text.lstrip().startswith("|")
        breaks = index > begin and (starts or tabled != found[begin].text.lstrip().startswith("|"))
        if line.blank or breaks:
            if index > begin:
                yield found[begin:index]
            begin = index + 1 if line.blank else index
        if opened:
            begin, fence = index, opened
        elif _atx(line.text)[0] or _underlined(found, begin, index):
            yield found[begin : index + 1]
            begin = index + 1
    if begin < len(found) and not all(line.blank for line in found[begin:]):
        yield found[begin:]


def _fence(line: str) -> str:
    """The backticks or tildes that open a fence here; empty for any other line."""
    bare = line.lstrip(" ")
    if len(line) - len(bare) > 3 or bare[:3] not in ("```", "~~~"):
        return ""
    run = len(bare) - len(bare.lstrip(bare[0]))
    return "" if bare[0] == "`" and "`" in bare[run:] else bare[0] * run


def _heading(block: Sequence[Line]) -> tuple[int, str]:
    """The level of a heading and its text; 0 for another block."""
    if len(block) == 2 and (level := _underline(block[1].text)) and not _fence(block[0].text):
        return level, _words(block[0].text)
    return _atx(block[0].text) if len(block) == 1 else (0, "")


def _atx(line: str) -> tuple[int, str]:
    bare = line.lstrip(" ")
    level = len(bare[: _LEVELS + 1]) - len(bare[: _LEVELS + 1].lstrip("#"))
    if not 0 < level <= _LEVELS or len(line) - len(bare) > 3 or bare[level : level + 1] not in (" ", "\t", ""):
        return 0, ""
    title = _words(bare[level:].rstrip().rstrip("#"))
    return (level, title) if title else (0, "")


def _underlined(found: Sequence[Line], begin: int, index: int) -> bool:
    return index == begin + 1 and bool(_underline(found[index].text)) and not found[begin].text.lstrip().startswith(("|", ">"))


def _underline(line: str) -> int:
    mark = line.strip()
    return _UNDERLINES.get(mark[:1], 0) if len(mark) >= 3 and not mark.strip(mark[0]) else 0


def _words(title: str) -> str:
    """A heading's text without marks of emphasis and code."""
    return " ".join(title[:400].replace("`", "").replace("*", "").split())
