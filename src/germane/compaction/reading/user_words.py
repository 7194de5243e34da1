"""User words: the sentences of a user's message that are the user's own: not quoted, pasted, logged or handed over."""

from __future__ import annotations

import re

from germane.compaction.reading.phrase_rules import PhraseRules, in_lower_case
from germane.memories.extraction.own_words import quotes_hidden, without_elements, without_fences
from germane.text.sentences import sentences

__all__ = ["MAX_READ", "OwnSentence", "own_sentences"]

MAX_READ = 20_000
"""Characters of a message that are read."""
_FOREIGN = re.compile(
    r"\s*(?:>|\||</?\w|[{}\[\]] ?(?:$|[\"'{\[\w])|\t|#!|\$ |%|at [\w.$<>]+\(|Traceback |File \"|\d{4}-\d\d-\d\d[T ]\d\d:"
    r"|\d\d:\d\d:\d\d|\[?(?:ERROR|WARN|WARNING|INFO|DEBUG|FATAL)\b|[\w.]{1,80}(?:Error|Exception): "
    r"|[+-]{3} [ab]/|@@ )|    \S|\t"
)
"""Lines of code, logs, quotations, tables, patches."""
_PASTED = re.compile(
    r"(?:subject|from|sent|betreff|von|gesendet|objet|de|asunto|oggetto|da|assunto|тема|от|кому)\s?: |-----|(?:dear|hi|hello"
    r"|sehr geehrte|liebe|lieber|cher|chère|estimad[oa]|gentile|prezad[oa]|уважаем\w{1,4}) [^\n,]{2,40},\s*$",
    re.IGNORECASE,
)
"""Lines with which a letter begins."""
_IN_TICKS = re.compile(r"`([^`\s]{1,100})`")
"""One word in backticks, which is a name and no quotation."""
_COLON = re.compile(r":(?=\s|\Z)")
_BULLET = re.compile(r"\s*(?:[-*•+]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")

OwnSentence = tuple[str, str]
"""A sentence as it was said, and the same with quotations hidden by NULs."""


def own_sentences(text: str, rules: PhraseRules) -> list[OwnSentence]:
    """Returns the user's own sentences, in order, without the marks of lists. Reads 20,000 characters. Linear."""
    text = text[:MAX_READ].replace("\0", " ")
    hidden = without_fences(text)
    if "<" in hidden:
        hidden = without_elements(hidden)
    hidden = _lines_hidden(hidden, rules)
    if "`" in hidden:
        hidden = _IN_TICKS.sub(r" \1 ", hidden)
    hidden = quotes_hidden(hidden)
    found, plain = list[OwnSentence](), hidden == text
    for start, end in sentences(hidden):
        bullet = _BULLET.match(hidden, start, end)
        start = bullet.end() if bullet else start
        said = hidden[start:end].strip()
        if plain and said:
            found.append((" ".join(said.split()), said))
        elif said.strip("\0 "):
            start = hidden.index(said, start, end)
            found.append((" ".join(text[start : start + len(said)].split()), said))
    return found


def _lines_hidden(text: str, rules: PhraseRules) -> str:
    """The text with lines that aren't the user's own as line ends; behind a line that hands a text over, all of them."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if not line or _FOREIGN.match(line):
            lines[number] = "\n" * len(line)
            continue
        begins = number > 0 and _PASTED.match(line) is not None
        handed = _handed(line, rules) if ":" in line else None
        if begins or handed is not None:
            kept = handed or 0
            lines[number] = line[:kept] + "\n" * (len(line) - kept)
            lines[number + 1 :] = ["\n" * len(later) for later in lines[number + 1 :]]
            break
    return "\n".join(lines)


def _handed(line: str, rules: PhraseRules) -> int | None:
    """Where the words begin that hand over what stands behind their colon, in one clause with it; None where none do."""
    if rules.handed is None:
        return None
    line, start = in_lower_case(line), 0
    for colon in _COLON.finditer(line):
        end = colon.start()
        clause = max(start, *(line.rfind(mark, start, end) + 1 for mark in ".!?:"))
        found = rules.handed.search(line, clause, end + 2)
        if found is not None:
            return found.start()
        start = end + 1
    return None
