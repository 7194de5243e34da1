"""Quotations: hides what a text quotes between marks, and its fenced blocks, each character in its place."""

from __future__ import annotations

import re

__all__ = ["BLOCK", "quotes_hidden", "without_fences"]

BLOCK = "\x01"
"""Stands, while a message is read, for each character of a hidden block, its line ends too."""
_IN_APOSTROPHES = r"(?<![\w’'].)(?=\w)(?:[^'’‘\n]|(?<=\w)['’](?=\w)){1,600}['’](?!\w)"
"""Behind an apostrophe that begins a quotation, as none inside a word does."""
_QUOTED = re.compile(
    r'"[^"\n]{1,600}"|“[^“”\n]{1,600}”|„[^„“”\n]{1,600}[“”]|«[^«»\n]{1,600}»|»[^»«\n]{1,600}«|`[^`\n]{1,600}`'
    r"|「[^「」\n]{1,600}」|『[^『』\n]{1,600}』|＂[^＂\n]{1,600}＂|〝[^〝〞〟\n]{1,600}[〞〟]|‹[^‹›\n]{1,600}›|‚[^‚‘’\n]{1,600}[‘’]"
    f"|'{_IN_APOSTROPHES}|‘{_IN_APOSTROPHES}"
)
"""No opening mark stands inside, so that a run of them isn't read again from each. Each alternative begins with a character of
its own, as those of `_OPEN_QUOTE` do, so that the search passes over all others."""
_OPEN_QUOTE = re.compile(r'"(?<!\w.)(?=\w)[^\n]*|[“„«「『＂〝‹][^\n]*')
_OVER_LINES = re.compile(
    r"“[^“”]{1,4000}”|„[^„“”]{1,4000}[“”]|«[^«»]{1,4000}»|「[^「」]{1,4000}」|『[^『』]{1,4000}』"
    r'|^[ \t]*"[^"\n]*\n[^"]{0,4000}"(?=[\s.,;:!?)]|\Z)',
    re.MULTILINE,
)
"""Quotations of more lines than one; a straight mark opens one at the beginning of a line alone."""
_MARK = re.compile("[\"“„«»`'‘「『＂〝‹‚]")
"""What a quotation begins with."""
_FENCES = ("```", "~~~")


def quotes_hidden(text: str) -> str:
    """Returns `text` with NULs in place of quotations, and of one that isn't closed up to the end of its line. Linear."""
    if _MARK.search(text) is None:
        return text
    if "\n" in text:
        text = _OVER_LINES.sub(lambda found: "\0" * len(found[0]), text)
    text = _QUOTED.sub(lambda found: "\0" * len(found[0]), text)
    return _OPEN_QUOTE.sub(lambda found: "\0" * len(found[0]), text)


def without_fences(text: str, hide: str = "\n") -> str:
    """Returns `text` with fenced blocks hidden; one that isn't closed reaches to the end. Linear."""
    for fence in _FENCES:
        pieces = text.split(fence)
        if len(pieces) == 1:
            continue
        hidden = [piece if number % 2 == 0 else hide * len(piece) for number, piece in enumerate(pieces)]
        text = (hide * len(fence)).join(hidden)
    return text
