"""Documents as values: a stored document, what an ingestion did, the session that holds its passages, and a passage."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, NamedTuple

from germane.errors import InvalidInput
from germane.kinds.events.value import DOCUMENT
from germane.types.checks import check_text
from germane.types.limits import DOCUMENT_SOURCE
from germane.types.scope import Scope

_PREFIX = f"{DOCUMENT}:"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptDocument:
    """A document of one user (None: agent-wide). `source` is what it was ingested as, by which it is found and replaced;
    `session` is the name of the session that holds its passages; `size` counts the bytes of what was ingested, 0 where that
    isn't known. `complete` is False where an ingestion was interrupted: ingesting the document again completes it."""

    source: str
    session: str
    user: str | None
    title: str
    media_type: str
    passages: int
    size: int
    ingested_at: datetime
    updated_at: datetime
    complete: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentPage:
    """One page of a listing of documents. `cursor` continues the listing; None on the last page."""

    documents: tuple[KeptDocument, ...]
    cursor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingested:
    """What an ingestion did: how many passages were `added`, `kept` as they were, and `removed` because the document doesn't
    hold them any more. `secrets` counts the secrets that were found, by kind. After a dry run nothing of it has happened."""

    source: str
    session: str
    title: str
    media_type: str
    outcome: Literal["added", "changed", "unchanged"]
    added: int = 0
    kept: int = 0
    removed: int = 0
    size: int = 0
    secrets: Mapping[str, int] = field(default_factory=dict, hash=False)
    dry_run: bool = False


def document_session(source: object) -> str:
    """Returns the name of a document's session. Raises `InvalidInput` for a source that can't be used."""
    given = check_text("source", source, DOCUMENT_SOURCE)
    if not given.strip():
        raise InvalidInput("is blank", path="source", advice="give the document's path, address or name")
    return Scope(session=f"{_PREFIX}{given}").session or ""


def is_document_session(session: str) -> bool:
    """Whether a session's name is reserved for documents."""
    return session.startswith(_PREFIX)


def source_of(session: str) -> str:
    """Returns the source of the document that is kept in a session with this name."""
    return session.removeprefix(_PREFIX)


# A passage is stored, searched and shown as one. Its title and path stand in the first line of what is stored.


_SEPARATOR = " › "
_MAX_LABEL = 64
"""Characters of a label, as many as are shown of any name."""
_MAX_TITLE, _MAX_HEADING = 120, 80
"""Characters of a title and of one heading in a passage's first line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentPassage:
    """`text` is what stands in the document, `path` the headings or names that it stands under, `locator` its page or lines in
    words (empty where the path tells enough), `start` and `stop` its characters in the document's text."""

    text: str
    path: tuple[str, ...] = ()
    locator: str = ""
    start: int = 0
    stop: int = 0

    def metadata(self, title: str, media_type: str) -> dict[str, Any]:
        """What is stored of the passage's place, in the metadata of its provenance."""
        return {
            "title": title,
            "media_type": media_type,
            "path": [heading[:_MAX_HEADING] for heading in self.path],
            "locator": self.locator,
            "start": self.start,
            "stop": self.stop,
        }


def with_heading(passage: DocumentPassage, title: str) -> str:
    """Returns the passage as it is stored: title and path in a first line, which is searched with it, and the text."""
    parts = (title[-_MAX_TITLE:], *(heading[:_MAX_HEADING] for heading in passage.path[:6]))
    return f"{' '.join(_SEPARATOR.join(parts).split())}\n{passage.text}"


def without_heading(text: str) -> str:
    """Returns a stored passage without its first line."""
    return text.partition("\n")[2]


def place_label(metadata: Mapping[str, Any]) -> str:
    """Returns title, path and place in one line of at most 64 characters: headings in the middle go first, then the beginning
    of the title."""
    path, locator = metadata.get("path"), metadata.get("locator")
    given = metadata.get("title")
    title = _word(given[-_MAX_TITLE:] if isinstance(given, str) else given) or "document"
    headings = [_word(heading) for heading in path[:6]] if isinstance(path, list) else []
    ends = [_word(locator)] if locator else []
    while len(headings) > 1 and len(_SEPARATOR.join((title, *headings, *ends))) > _MAX_LABEL:
        del headings[0]
    rest = _SEPARATOR.join(("", *headings, *ends))
    if len(title) + len(rest) > _MAX_LABEL:
        title = f"…{title[-max(15, _MAX_LABEL - len(rest) - 1) :]}" if len(title) > 16 else title
    return title + rest


def _word(value: object) -> str:
    return " ".join(value[:_MAX_TITLE].split()) if isinstance(value, str) else ""


# Passages: joins the pieces of a document to passages, and divides those that are too long. A passage has some 300
# tokens: in longer ones a single sentence counts for little in a search, in shorter ones its surroundings are missing.
# It never is so long that the store would divide it again.


MAX_CHARACTERS, MAX_BYTES = 1_250, 1_800
"""What the text of a passage has at most, without its title and path."""
_MAX_LOOSE = 500
"""Characters up to which loose pieces with different paths are joined."""
_ENDS = (
    ("\n",),
    (". ", "! ", "? ", "。", "！", "？", "؟ ", "। ", "; "),
    (" ", "\t", "\u3000", "、", "，"),
)


def join_pieces(
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
    page, (begin, end) = first.page, line_numbers(starts, first.start, last.stop)
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
    if size > (_MAX_LOOSE if apart else MAX_CHARACTERS):
        return False
    return sum(_bytes(other.text) for other in waiting) + _bytes(piece.text) + len(glue) * len(waiting) <= MAX_BYTES


def _fitting(pieces: Iterable[Piece]) -> Iterator[Piece]:
    for piece in pieces:
        if not piece.text or piece.text.isspace():
            continue
        if len(piece.text) <= MAX_CHARACTERS and _bytes(piece.text) <= MAX_BYTES:
            yield piece
        else:
            yield from _divided(piece)


def _divided(piece: Piece) -> Iterator[Piece]:
    """Parts of a piece, cut at the ends of lines, else of sentences, else of words. Further ones begin with the piece's lead,
    where that is short. Their places are exact where the piece's text is that of the document."""
    lead = f"{piece.lead}\n" if 0 < len(piece.lead) <= MAX_CHARACTERS // 4 else ""
    at, text = 0, piece.text
    while at < len(text):
        before = lead if at else ""
        stop = at + _length(text, at, MAX_CHARACTERS - len(before), MAX_BYTES - _bytes(before))
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


# A piece is a stretch of a document that belongs together, such as a paragraph, a table or a function.


class Piece(NamedTuple):
    """Characters `start` to `stop` of the document's text. `text` is what they say; it differs where repetition was counted.
    `path` is what the piece stands under (headings, classes), `lead` is a line that is repeated where the piece has to be
    divided (the head of a table), `page` counts from 1 where the document has pages. `loose` says that pieces with other paths
    may stand beside this one in a passage."""

    text: str
    start: int
    stop: int
    path: tuple[str, ...] = ()
    lead: str = ""
    page: int = 0
    loose: bool = False


# The lines of a text with their places, and the numbers of lines at places.


class Line(NamedTuple):
    """A line without its end, and the character at which it starts."""

    text: str
    start: int

    @property
    def stop(self) -> int:
        return self.start + len(self.text)

    @property
    def blank(self) -> bool:
        return not self.text or self.text.isspace()


def lines(text: str, start: int = 0) -> list[Line]:
    """Returns the lines of `text`, which ends its lines with a line feed only; `start` is the place of its first character."""
    found = list[Line]()
    for line in text.split("\n"):
        found.append(Line(line, start))
        start += len(line) + 1
    return found


def blank_separated(among: Sequence[Line]) -> list[Sequence[Line]]:
    """Returns the runs of lines without a blank line between them."""
    runs, begin = list[Sequence[Line]](), None
    for index, line in enumerate(among):
        if line.blank:
            if begin is not None:
                runs.append(among[begin:index])
            begin = None
        elif begin is None:
            begin = index
    if begin is not None:
        runs.append(among[begin:])
    return runs


def line_starts(text: str) -> list[int]:
    """Returns the place of each line's first character."""
    starts, at = [0], text.find("\n")
    while at >= 0:
        starts.append(at + 1)
        at = text.find("\n", at + 1)
    return starts


def line_numbers(starts: Sequence[int], start: int, stop: int) -> tuple[int, int]:
    """Returns the numbers, from 1, of the first and the last line of characters `start` to `stop`."""
    return bisect_right(starts, start), bisect_right(starts, max(start, stop - 1))
