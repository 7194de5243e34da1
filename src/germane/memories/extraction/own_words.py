"""Own words: hides what a message quotes, pastes or hands over, so that no rule reads it.

What is hidden keeps its place: blocks and lines become line ends, a quotation inside a sentence becomes NULs, which a rule's
words can't match and a statement may run over.
"""

from __future__ import annotations

import re

from germane.memories.extraction.language import ReadingRules

__all__ = ["own_words", "quotes_hidden", "without_elements", "without_fences"]

_MAX_OWN = 1_500
"""Characters: what stands after so many is taken for a paste."""
_IN_APOSTROPHES = r"(?<![\w’'].)(?=\w)(?:[^'’‘\n]|(?<=\w)['’](?=\w)){1,600}['’](?!\w)"
"""Behind an apostrophe that begins a quotation, as none inside a word does."""
_QUOTED = re.compile(
    r'"[^"\n]{1,600}"|“[^“”\n]{1,600}”|„[^„“”\n]{1,600}[“”]|«[^«»\n]{1,600}»|»[^»«\n]{1,600}«|`[^`\n]{1,600}`'
    f"|'{_IN_APOSTROPHES}|‘{_IN_APOSTROPHES}"
)
"""No opening mark stands inside, so that a run of them isn't read again from each. Each alternative begins with a character of
its own, as those of `_OPEN_QUOTE` do, so that the search passes over all others."""
_OPEN_QUOTE = re.compile(r'"(?<!\w.)(?=\w)[^\n]*|“[^\n]*|„[^\n]*|«[^\n]*')
_MARK = re.compile("[\"“„«»`'‘]")
"""What a quotation begins with."""
_FOREIGN_LINE = re.compile(r"\s*(?:>|\||</?\w|[{}\[\]]|\t|#!|\d+[.)]\s|[-*•+]\s)|    ")
_FENCES = ("```", "~~~")
_TAG = re.compile(r"<([A-Za-z][\w-]{0,40})[^<>\n]{0,400}>")


def own_words(text: str, rules: ReadingRules) -> str:
    """Returns `text`, of the same length, with what isn't the writer's own hidden. Linear."""
    text = without_fences(text.replace("\0", " "))
    if "<" in text:
        text = without_elements(text)
    kept, size = list[str](), 0
    for line in text.split("\n"):
        if size > _MAX_OWN or rules.pasted.match(line):
            break
        if _FOREIGN_LINE.match(line):
            kept.append("\n" * len(line))
            continue
        handed = _handed(line, rules)
        kept.append(line[:handed])
        if handed is not None or line.rstrip().endswith(":"):
            break
        size += len(line)
    return quotes_hidden("\n".join(kept).ljust(len(text), "\n"))


def _handed(line: str, rules: ReadingRules) -> int | None:
    """Returns where the words begin that hand the rest of the line over; None where there are none. They stand in the sentence
    before a colon."""
    colon = line.find(":")
    if colon < 0:
        return None
    sentence = max(line.rfind(end, 0, colon) for end in ".!?") + 1
    handed = rules.handed.search(line, sentence)
    return None if handed is None else handed.start()


def quotes_hidden(text: str) -> str:
    """Returns `text` with NULs in place of quotations, and of one that isn't closed up to the end of its line. Linear."""
    if _MARK.search(text) is None:
        return text
    text = _QUOTED.sub(lambda found: "\0" * len(found[0]), text)
    return _OPEN_QUOTE.sub(lambda found: "\0" * len(found[0]), text)


def without_fences(text: str) -> str:
    """Returns `text` with fenced blocks hidden; one that isn't closed reaches to the end. Linear."""
    for fence in _FENCES:
        pieces = text.split(fence)
        if len(pieces) == 1:
            continue
        hidden = [piece if number % 2 == 0 else "\n" * len(piece) for number, piece in enumerate(pieces)]
        text = ("\n" * len(fence)).join(hidden)
    return text


def without_elements(text: str) -> str:
    """Returns `text` with all from the first element's opening tag to the last closing tag of that name hidden, the tags too.
    Linear."""
    opening = _TAG.search(text)
    if opening is None:
        return text
    closing = text.rfind(f"</{opening[1]}")
    end = len(text) if closing < opening.end() else text.find(">", closing) + 1 or len(text)
    return text[: opening.start()] + "\n" * (end - opening.start()) + text[end:]
