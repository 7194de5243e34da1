"""Own words: whose words a user's message has: hides what it quotes, pastes, shows or hands over.

Whatever reads a message for what its writer states, demands or is reads it through this: a pasted line that passed for the
writer's own would become a lasting order. What is hidden keeps its place: blocks and lines become line ends, a quotation inside
a sentence becomes NULs, which a rule's words can't match and a statement may run over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from germane.text.own.elements import regions, without_elements
from germane.text.own.handing import marked_lines_hidden
from germane.text.own.levelled import levelled
from germane.text.own.pastes import pastes_hidden
from germane.text.own.quotations import BLOCK, quotes_hidden, without_fences
from germane.text.sentences import sentences

__all__ = ["MAX_READ", "OwnSentence", "own_sentences", "own_words", "unquoted_sentences"]

MAX_READ = 20_000
"""Characters of a message that are read."""
_IN_TICKS = re.compile(r"`([^`\s]{1,100})`")
"""One word in backticks, which is a name and no quotation."""
_SENTENCE_MARK = re.compile(r"\s*(?:[-*•+]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")

OwnSentence = tuple[str, str]
"""A sentence as it was said, and the same as rules read it: levelled, with quotations hidden by NULs."""


def own_words(text: str, *, for_task: bool = False) -> str:
    """Returns `text`, of the same length, with what isn't the writer's own hidden; all behind 20,000 characters is. With
    `for_task` what binds a task counts too: rules of the project that the client handed over, a role, the headings of a
    specification. Needs no language. Linear."""
    read = _read(text)
    kept = ["\n"] * len(text)
    for region in regions(without_fences(read, BLOCK), for_task=for_task):
        own = quotes_hidden(_without_ticks(region.text))
        own = marked_lines_hidden(own) if region.rules else pastes_hidden(own, for_task=for_task)
        kept[region.start : region.start + len(own)] = own
    return "".join(kept).replace(BLOCK, "\n")


def own_sentences(text: str, *, for_task: bool = False) -> list[OwnSentence]:
    """Returns the writer's own sentences, in order, without the marks of lists. Reads 20,000 characters. Linear."""
    text = text[:MAX_READ]
    return list(_sentences(text.replace("\0", " "), own_words(text, for_task=for_task)))


def unquoted_sentences(text: str) -> list[OwnSentence]:
    """As `own_sentences` of a text whose writer pastes nothing, such as an assistant's: without code, quotations and what a
    colon hands over. Linear."""
    text = text[:MAX_READ]
    hidden = marked_lines_hidden(without_elements(without_fences(_read(text))))
    return list(_sentences(text.replace("\0", " "), quotes_hidden(_without_ticks(hidden))))


def _read(text: str) -> str:
    return text[:MAX_READ].replace("\0", " ").replace(BLOCK, " ")


def _without_ticks(text: str) -> str:
    return _IN_TICKS.sub(r" \1 ", text) if "`" in text else text


def _sentences(text: str, hidden: str) -> Iterator[OwnSentence]:
    said = levelled(hidden)
    for start, end in sentences(said):
        bullet = _SENTENCE_MARK.match(text, start, end) if hidden[start] not in "\0\n" else None
        start = bullet.end() if bullet else start
        own = said[start:end].strip()
        if own.strip("\0 "):
            start = said.index(own, start, end)
            yield " ".join(text[start : start + len(own)].split()), own
