"""Formats: which format a document has, and its passages by that format's rule: text, logs, Markdown, code."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Literal

from germane.errors import InvalidInput
from germane.kinds.documents.value import MAX_CHARACTERS, DocumentPassage, Line, Piece, blank_separated, join_pieces, lines
from germane.types.checks import check_text
from germane.types.limits import NAME

RULES_VERSION = 1
"""Rises with every change of the rules, so that documents that were divided by older ones are divided anew."""
_NUMBERED_FORMATS = ("code", "log", "rows", "plain")
_GLUE = {"log": "\n", "rows": "\n"}


def divide(pages: Sequence[str], format: MediaFormat, breath: Callable[[], None] = lambda: None) -> tuple[DocumentPassage, ...]:
    """Returns the passages in order, in time linear in the text. Only a PDF has several `pages`; places count in all of them,
    one after the other. HTML is given as Markdown (`read_html`)."""
    text = "\n".join(pages)
    glue, numbered = _GLUE.get(format, "\n\n"), format in _NUMBERED_FORMATS
    return tuple(join_pieces(_pieces_of_format(pages, text, format), text, glue=glue, numbered=numbered, breath=breath))


def _pieces_of_format(pages: Sequence[str], text: str, format: MediaFormat) -> Iterator[Piece]:
    match format:
        case "markdown" | "html":
            yield from markdown_pieces(text)
        case "code":
            yield from code_pieces(text)
        case "log":
            yield from log_pieces(text)
        case "rows":
            yield from row_pieces(text)
        case "plain":
            yield from plain_pieces(text)
        case "pdf":
            start = 0
            for number, page in enumerate(pages, start=1):
                yield from plain_pieces(page, start=start, page=number)
                start += len(page) + 1


# The format of a file.


MediaFormat = Literal["markdown", "html", "code", "log", "rows", "plain", "pdf"]
MEDIA_TYPES: Mapping[MediaFormat, str] = MappingProxyType(
    {
        "markdown": "text/markdown",
        "html": "text/html",
        "code": "text/x-code",
        "log": "text/x-log",
        "rows": "text/csv",
        "plain": "text/plain",
        "pdf": "application/pdf",
    }
)
"""The media type of each format."""

_NAMES: Mapping[str, MediaFormat] = MappingProxyType(
    {media_type: name for name, media_type in MEDIA_TYPES.items()}
    | {name: name for name in MEDIA_TYPES}
    | {"application/xhtml+xml": "html", "text": "plain", "md": "markdown", "text/tab-separated-values": "rows"}
)
_SUFFIX_WORDS: Mapping[MediaFormat, str] = MappingProxyType(
    {
        "markdown": "md markdown mdown mkd mdx qmd",
        "html": "html htm xhtml",
        "rows": "csv tsv",
        "plain": "txt text rst adoc org tex",
        "pdf": "pdf",
        "log": "log",
        "code": "py pyi js mjs cjs ts tsx jsx java kt kts scala go rs c h cc cpp cxx hpp cs rb php swift m mm lua pl pm r jl sh"
        " bash zsh fish ps1 sql proto graphql css scss less vue svelte dart ex exs erl hs ml mli clj fs vb zig nim sol tf hcl"
        " gradle cmake json jsonl json5 yaml yml toml ini cfg conf xml",
    }
)
_SUFFIXES: Mapping[str, MediaFormat] = MappingProxyType(
    {suffix: name for name, suffixes in _SUFFIX_WORDS.items() for suffix in suffixes.split()}
)
_FILES: Mapping[str, MediaFormat] = MappingProxyType(
    dict.fromkeys(("dockerfile", "makefile", "jenkinsfile", "rakefile", "gemfile"), "code")
)
_PDF_MARK = b"%PDF-"
_MAX_HEADER = 1_024
"""Bytes at the beginning of a file within which a PDF says so."""


def format_of(media_type: object) -> MediaFormat:
    """Returns the format of a media type, or of a format's own name. Raises `InvalidInput`."""
    given = check_text("media_type", media_type, NAME).partition(";")[0].strip().lower()
    if given not in _NAMES:
        raise InvalidInput(f"{{}} is none of {', '.join(MEDIA_TYPES.values())}", media_type, path="media_type")
    return _NAMES[given]


def guess_format(name: str, data: bytes) -> MediaFormat:
    """Returns the format of a file by its name, else by its first bytes."""
    base = name.replace("\\", "/").rpartition("/")[2].lower()
    if _PDF_MARK in data[:_MAX_HEADER]:
        return "pdf"
    if base in _FILES:
        return _FILES[base]
    known = _SUFFIXES.get(base.rpartition(".")[2]) if "." in base else None
    if known is not None and known != "pdf":
        return known
    beginning = data[:_MAX_HEADER].lstrip().lower()
    if beginning.startswith((b"<!doctype html", b"<html")):
        return "html"
    text = data[:65_536].decode("utf-8", "replace")
    if is_log(text):
        return "log"
    return "markdown" if text.startswith(("# ", "## ")) or "\n## " in text or "\n```" in text else "plain"


# Plain text: its paragraphs; and rows of values, whose first row is their head.


def plain_pieces(text: str, *, start: int = 0, page: int = 0) -> Iterator[Piece]:
    """Yields the paragraphs. `start` is the place of the text's first character, `page` the page that it stands on."""
    for run in blank_separated(lines(text, start)):
        yield Piece("\n".join(line.text for line in run), run[0].start, run[-1].stop, page=page)


def row_pieces(text: str) -> Iterator[Piece]:
    """Yields all rows as one piece, whose parts repeat the first row."""
    if bare := text.strip("\n"):
        start = text.index(bare)
        yield Piece(bare, start, start + len(bare), lead=bare.partition("\n")[0])


# Logs: records, with repetitions counted instead of repeated.


_STAMP = re.compile(
    r"[\[(]?(?:\d{4}[-/.]\d\d[-/.]\d\d|\d\d[-/.]\d\d[-/.]\d{2,4}|[A-Z][a-z]{2} [ \d]\d|\d\d/[A-Z][a-z]{2}/\d{4})"
    r"[T ,:]{0,2}(?:\d\d:\d\d(?::\d\d)?(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?[\])]?[ \t:,|-]{0,4}"
    r"|[\[(]?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?[\])]?[ \t:,|-]{0,4}"
    r"|\d{9,13}(?:\.\d{1,9})?[ \t:,|-]{1,4}"
)
_LEVEL = re.compile(
    r"[\[<(]?(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|ERR|CRITICAL|FATAL|ALERT|EMERG|SEVERE)\b", re.IGNORECASE
)
_MAX_HEAD = 80
_MAX_LOG_LINES = 200
_MIN_RECORD_SHARE = 0.6
"""The share of the first lines that begin like records, from which on a text is a log."""


def is_log(text: str) -> bool:
    """Whether a text looks like a log, by the lines at its beginning."""
    found = [line for line in text[: _MAX_LOG_LINES * 400].split("\n")[:_MAX_LOG_LINES] if line and not line.isspace()]
    return len(found) >= 5 and sum(map(_begins, found)) >= _MIN_RECORD_SHARE * len(found)


def log_pieces(text: str) -> Iterator[Piece]:
    """Yields the records in order, in time linear in the text. A record that says the same as the one before it, but for its
    time, is counted with that one. Numbers make a difference: one error among many successes may be nothing but a number."""
    repeated, first, last, said = 0, list[Line](), list[Line](), ""
    for record in _records(lines(text)):
        says = _says(record)
        if first and says == said:
            repeated, last = repeated + 1, list(record)
            continue
        if first:
            yield _record_piece(first, last, repeated)
        first, last, repeated, said = list(record), list(record), 0, says
    if first:
        yield _record_piece(first, last, repeated)


def _record_piece(first: Sequence[Line], last: Sequence[Line], repeated: int) -> Piece:
    text = "\n".join(line.text.rstrip() for line in first)
    if repeated:
        until = _STAMP.match(last[0].text[:_MAX_HEAD])
        when = f", the last at {until[0].strip(' [](),:|-')}" if until else ""
        text = f"{text}\n(and {repeated:,} more like it{when})"
    return Piece(text, first[0].start, last[-1].stop)


def _records(found: Sequence[Line]) -> Iterator[Sequence[Line]]:
    """A record is a line that begins with a time or a level, with the lines behind it up to the next one; in a log without
    either, each line."""
    stamped = is_log("\n".join(line.text for line in found[:_MAX_LOG_LINES]))
    begin: int | None = None
    for index, line in enumerate(found):
        if begin is None:
            begin = None if line.blank else index
        elif not stamped or _begins(line.text):
            yield _trimmed_record(found[begin:index])
            begin = None if line.blank else index
    if begin is not None:
        yield _trimmed_record(found[begin:])


def _trimmed_record(record: Sequence[Line]) -> Sequence[Line]:
    stop = len(record)
    while record[stop - 1].blank:
        stop -= 1
    return record[:stop]


def _begins(line: str) -> bool:
    head = line[:_MAX_HEAD]
    return bool(_STAMP.match(head) or _LEVEL.match(head.lstrip()))


def _says(record: Sequence[Line]) -> str:
    """What a record says, without its time."""
    text = "\n".join(line.text for line in record)
    stamp = _STAMP.match(text[:_MAX_HEAD])
    return text[stamp.end() :] if stamp else text


# Markdown: the pieces of a Markdown text: paragraphs, lists, fenced code and tables under their headings.


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


# Code: the pieces of source text: functions and classes, found by their first lines, whatever the language. The rule
# looks at indentation, blank lines and the first words of a line, and parses nothing: a parser is needed for each
# language, fails for half a file, and can be brought down by a deeply nested text.


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
    yield from _block_pieces(lines(text), (), 0)


def _block_pieces(found: Sequence[Line], path: tuple[str, ...], depth: int) -> Iterator[Piece]:
    for block in _indented_blocks(found):
        name, first = _named(block)
        under = (*path, name) if name else path
        size = block[-1].stop - block[0].start
        inner = block[first + 1 :] if name and size > MAX_CHARACTERS and depth < _DEPTH else ()
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
        yield from _block_pieces(inner[head:], under, depth + 1)


def _indented_blocks(found: Sequence[Line]) -> Iterator[Sequence[Line]]:
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
