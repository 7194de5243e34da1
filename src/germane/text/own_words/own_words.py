"""Own words: whose words a user's message has: hides what it quotes, pastes, shows or hands over.

Whatever reads a message for what its writer states, demands or is reads it through this: a pasted line that passed for the
writer's own would become a lasting order. What is hidden keeps its place: blocks and lines become line ends, a quotation
inside a sentence becomes NULs, which a rule's words can't match and a statement may run over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from germane.text.clauses import sentences
from germane.text.language import STOP
from germane.text.normal import in_lower_case
from germane.text.own_words.forms import forms
from germane.text.own_words.introductions import marked_lines_hidden
from germane.text.own_words.pastes import pastes_hidden
from germane.text.own_words.quotations import BLOCK, quotes_hidden, regions, without_elements, without_fences

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
    said = level_text(hidden)
    for start, end in sentences(said):
        bullet = _SENTENCE_MARK.match(text, start, end) if hidden[start] not in "\0\n" else None
        start = bullet.end() if bullet else start
        own = said[start:end].strip()
        if own.strip("\0 "):
            start = said.index(own, start, end)
            yield " ".join(text[start : start + len(own)].split()), own


# A text as rules read it, each character in its place: straight apostrophes, plain spaces, no bullets or emoji in
# front, capitals as small letters, the marks that were dictated, and a line end where one statement runs into the next.


_LEVEL = str.maketrans({"’": "'", "ʼ": "'", "＇": "'", "‛": "'", "´": "'", "\xa0": " ", "\u202f": " ", "\u2009": " "})
_ODD_MARKS = re.compile("[’ʼ＇‛´\xa0\u202f\u2009]")
_APOSTROPHE = re.compile(r"(?<=\w)[’ʼ＇‛´](?=\w)|[\xa0\u202f\u2009](?=[:;!?»%€])")
"""An apostrophe inside a word, and a space that is printed before some marks."""
_BULLET = re.compile(r"^[ \t]*(?:[-*•+–—·▪◦‣●○➤→✓✔]|\d{1,3}[.)]|[a-z]\))(?=[ \t])[ \t]+(?:\[[ xX]\][ \t]+)?", re.MULTILINE)
_EMOJI = re.compile(
    "(?:(?<=[.!?\n])|^)[ \t]*+(?:[\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001f643\U0001f645-\U0001faff][\ufe0f\u200d \t]*+)++"
)
"""Emoji at the beginning of a sentence, but for rolling eyes, which say that a statement isn't meant."""
_ANY_EMOJI = re.compile("[\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff]")
_MAX_SMALL_SHARE = 0.1
"""Share of small letters up to which a line is in capitals."""
_LETTERS, _GLANCE = 12, 24
_LINE = re.compile(r"[^\n]{12,}")
_WORD = re.compile(r"[^\W\d_]++(?:'[^\W\d_]++)*+")
_FUNCTION = frozenset(word for words in STOP.values() for word in words)
_DICTATED = re.compile(
    r"(?<=\w) ?\b(?:(?P<stop>full stop|period(?=\s+[A-Z])|punkt und neue zeile|punto y seguido|punto y aparte|point à la ligne)"
    r"|(?P<comma>comma(?= \w))|(?P<line>new line|new paragraph|neue zeile|neuer absatz|nouvelle ligne|nueva línea))\b",
    re.IGNORECASE,
)
_DICTATES = ("full stop", " comma", "new line", "new paragraph", "period", "zeile", "absatz", "punto y", "ligne", "línea")
_RUN_ON = re.compile(
    r" (?=(?:I(?:'m|'ve|'d|'ll)?|my (?:\w{1,30} ){1,2}(?:is|are|was)"
    r"|ich (?:bin|habe|hab|wohne|arbeite|heiße|mag|esse|trinke|komme|lebe)"
    r"|j'(?:habite|ai|aime|adore)|je (?:suis|travaille|vis|m'appelle|préfère|mange|bois)"
    r"|ik (?:ben|heb|woon|werk|hou|eet|drink))(?: |$))"
)
_BEFORE = re.compile(r"(?<![\w'’-])([\w'’-]++) ?\Z")
_MAIN = re.compile(
    r"(?:[^.!?\n,;:]*\b(?:and|but|so|und|aber|et|mais|en|maar) )?"
    r"(?:i|my|we|our|ich|mein\w*|wir|je|j|mon|ma|nous|ik|mijn|wij)\b",
    re.IGNORECASE,
)
"""How a statement begins that another may follow."""
_RELATIVE = re.compile(
    r"\b(?:the|an?|all|every|any|some|no|only|that|those|these|this|what|everything|anything|things?)\b", re.IGNORECASE
)
"""What stands before a noun that a clause may describe: "the food I cook"."""
_MAX_SEGMENT = 160


def level_text(text: str) -> str:
    """Returns `text`, of the same length, in the form that rules are written for. Linear."""
    if not text.isascii() and _ODD_MARKS.search(text):
        text = _APOSTROPHE.sub(lambda found: found[0].translate(_LEVEL), text)
    if not text.isascii() and _ANY_EMOJI.search(text):
        text = _EMOJI.sub(_blanks, text)
    text = _BULLET.sub(_blanks, text)
    low = text.lower()
    if any(word in low for word in _DICTATES):
        text = _DICTATED.sub(_mark, text)
    text = _LINE.sub(_calmed, text)
    return _divide_run_ons(text)


def _blanks(found: re.Match[str]) -> str:
    return "".join("\n" if char == "\n" else " " for char in found[0])


def _mark(found: re.Match[str]) -> str:
    mark = "." if found["stop"] else "," if found["comma"] else "\n"
    return mark + " " * (len(found[0]) - 1)


def _calmed(found: re.Match[str]) -> str:
    return _in_small_letters(found[0]) if _shouts(found[0]) else found[0]


def _shouts(line: str) -> bool:
    if sum(map(str.islower, line[:_GLANCE])) > _GLANCE / 4:
        return False
    letters = sum(map(str.isalpha, line))
    return (
        letters >= _LETTERS
        and sum(map(str.islower, line)) <= _MAX_SMALL_SHARE * letters
        and sum(map(str.isupper, line)) > letters / 2
    )


def _in_small_letters(line: str) -> str:
    """The line in small letters, words that may be names with a capital, as is the pronoun."""
    small = in_lower_case(line)
    return _WORD.sub(
        lambda word: word[0] if word[0] in _FUNCTION and word[0] != "i" else word[0][0].upper() + word[0][1:], small
    )


def _divide_run_ons(text: str) -> str:
    """The text with a line end before a statement of the speaker's that follows another without a stop."""
    places, start = list[int](), 0
    for found in _RUN_ON.finditer(text):
        place = found.start()
        start = max(start, place - _MAX_SEGMENT, *(text.rfind(mark, start, place) + 1 for mark in ".!?\n;,:"))
        before = _BEFORE.search(text, max(start, place - 40), place)
        if before is None or before[1].lower() in forms().joints or before[1].lower() in _FUNCTION:
            continue
        segment = text[start:place].lstrip()
        if not _MAIN.match(segment) or len(segment.split()) < 3:
            continue
        if before[1][0].islower() and _RELATIVE.search(" ".join(segment.split()[-3:])):
            continue
        places.append(place)
        start = place + 1
    if not places:
        return text
    chars = list(text)
    for place in places:
        chars[place] = "\n"
    return "".join(chars)
