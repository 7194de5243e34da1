"""Chunk: joins the pieces of a document to passages, and divides those that are too long.

A passage has some 300 tokens: in longer ones a single sentence counts for little in a search, in shorter ones its surroundings
are missing. It never is so long that the store would divide it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from germane.documents.lines import line_starts, numbers
from germane.documents.passage import DocumentPassage
from germane.documents.piece import Piece

__all__ = ["BYTES", "CHARACTERS", "chunks"]

CHARACTERS, BYTES = 1_250, 1_800
"""What the text of a passage has at most, without its title and path."""
_SMALL = 500
"""Characters up to which loose pieces with different paths are joined."""
_ENDS = (
    ("\n",),
    (". ", "! ", "? ", "。", "！", "？", "؟ ", "। ", "; "),
    (" ", "\t", "\u3000", "、", "，"),
)


def chunks(
    pieces: Iterable[Piece], text: str, *, glue: str, numbered: bool, breath: Callable[[], None] = lambda: None
) -> Iterator[DocumentPassage]:
    """Yields the passages in the order of the pieces, in time linear in their length. `text` is the document's; `glue` stands
    between two pieces of a passage; `numbered` says that numbers of lines tell a reader the place. `breath` is called after
    each."""
    starts, waiting = line_starts(text), list[Piece]()
    for piece in _fitting(pieces):
        if waiting and not _joins(waiting, piece, glue):
            yield _passage(waiting, starts, glue, numbered)
            waiting = []
            breath()
        waiting.append(piece)
    if waiting:
        yield _passage(waiting, starts, glue, numbered)


def _passage(pieces: list[Piece], starts: list[int], glue: str, numbered: bool) -> DocumentPassage:
    first, last = pieces[0], pieces[-1]
    page, (begin, end) = first.page, numbers(starts, first.start, last.stop)
    locator = ""
    if page:
        locator = f"page {page}"
    elif numbered:
        locator = f"line {begin}" if begin == end else f"lines {begin}-{end}"
    return DocumentPassage(
        text=glue.join(piece.text for piece in pieces).strip("\n"),
        path=_path(pieces),
        locator=locator,
        start=first.start,
        stop=last.stop,
    )


def _path(pieces: list[Piece]) -> tuple[str, ...]:
    """The common beginning of the paths, and then the names in which they differ, as one."""
    paths = list(dict.fromkeys(piece.path for piece in pieces))
    if len(paths) == 1:
        return paths[0]
    common = list[str]()
    for parts in zip(*paths, strict=False):
        if len(set(parts)) > 1:
            break
        common.append(parts[0])
    names = dict.fromkeys(path[len(common)] for path in paths if len(path) > len(common))
    return (*common, ", ".join(names)) if names else tuple(common)


def _joins(waiting: list[Piece], piece: Piece, glue: str) -> bool:
    first = waiting[0]
    if piece.page != first.page:
        return False
    apart = any(piece.path != other.path for other in waiting)
    if apart and not (piece.loose and all(other.loose for other in waiting)):
        return False
    size = sum(len(other.text) + len(glue) for other in waiting) + len(piece.text)
    if size > (_SMALL if apart else CHARACTERS):
        return False
    return sum(_bytes(other.text) for other in waiting) + _bytes(piece.text) + len(glue) * len(waiting) <= BYTES


def _fitting(pieces: Iterable[Piece]) -> Iterator[Piece]:
    for piece in pieces:
        if not piece.text or piece.text.isspace():
            continue
        if len(piece.text) <= CHARACTERS and _bytes(piece.text) <= BYTES:
            yield piece
        else:
            yield from _divided(piece)


def _divided(piece: Piece) -> Iterator[Piece]:
    """Parts of a piece, cut at the ends of lines, else of sentences, else of words. Further ones begin with the piece's lead,
    where that is short. Their places are exact where the piece's text is that of the document."""
    lead = f"{piece.lead}\n" if 0 < len(piece.lead) <= CHARACTERS // 4 else ""
    at, text = 0, piece.text
    while at < len(text):
        before = lead if at else ""
        stop = at + _length(text, at, CHARACTERS - len(before), BYTES - _bytes(before))
        shown = text[at:stop].strip("\n")
        if shown and not shown.isspace():
            last = piece.stop if stop >= len(text) else min(piece.start + stop, piece.stop)
            yield piece._replace(text=before + shown, start=min(piece.start + at, piece.stop), stop=last)
        at = stop


def _length(text: str, at: int, characters: int, size: int) -> int:
    """How many characters from `at` on make a part."""
    window = text[at : at + characters]
    while (taken := _bytes(window)) > size:
        window = window[: min(len(window) - 1, len(window) * size // taken + 1)]
    if at + len(window) >= len(text):
        return len(window)
    for ends in _ENDS:
        if (last := max(window.rfind(end, len(window) // 2) + len(end) for end in ends)) > len(window) // 2:
            return last
    return len(window)


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
