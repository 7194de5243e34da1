"""Query: turns a request into a query: the question, its search terms, its names and every other signal (SIG-0).

The terms of a long text are limited (SIG-3). A follow-up question borrows terms from earlier turns, and the goal of the
current task joins the query (TASK-2). Identifiers are terms that must match verbatim: paths, symbols, error codes, versions
and quoted phrases. Mentions are capitalised words and runs of such words, which may name a person or a thing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from germane.stages.read.asks import EVENT_TYPES, asked_day, asks_name, asks_overview, asks_when, intent, is_personal
from germane.text.days.times import named_days, today
from germane.text.language import STOP
from germane.text.normal import fold
from germane.text.specifics import is_question, word_count
from germane.text.terms import query_terms
from germane.types.message import Message
from germane.types.query import Intent, Query, Term
from germane.types.request import Request

_MAX_QUESTION = 2_400
"""Characters of a question that are looked at."""
_MAX_ASKED = 800
"""Characters of a question that are looked at to tell what kind of answer it wants."""
_MAX_WORD = 40
"""Characters within which a cut is moved to the next space."""


def read(request: Request, *, event_types: Mapping[Intent, Sequence[str]] = EVENT_TYPES) -> Query:
    """The query of a request: `request.query`, otherwise the last user message that has text. Accepts any text.

    A very short message borrows a few terms from the two turns before it. The query's `text` is the question itself, cut to its
    beginning and end where it is very long. `event_types` maps an intent to the event types that matter to it (SIG-2).
    """
    question, earlier = _question(request)
    text = excerpt(question)
    names = mentions(text)
    asked = excerpt(question, _MAX_ASKED)
    meaning = intent(asked)
    words = word_count(text)
    own = keywords(text)
    day = today(request.at, request.scope.zone)
    named = named_days(text, day)
    terms = follow_up(text, own, [excerpt(turn) for turn in earlier])
    return Query(
        text=text,
        at=request.at,
        dated=request.dated,
        terms=terms,
        borrowed=len(terms) - len(own),
        words=words,
        broad=asks_overview(asked, words),
        question=is_question(asked),
        personal=is_personal(asked),
        phrases=phrases(text),
        identifiers=identifiers(text),
        names=names,
        days=tuple(dict.fromkeys(one.days for one in named)),
        zone=request.scope.zone,
        asked_day=asked_day(text, named, day, words),
        intent=meaning,
        event_types=tuple(event_types.get(meaning, ())),
        asks_when=asks_when(asked),
        asks_name=asks_name(asked),
        filters=request.filters,
    )


def _question(request: Request) -> tuple[str, list[str]]:
    """The question, and the texts of at most one user turn and one assistant turn before it, the user's first."""
    if request.query is not None:
        return request.query, []
    for index in range(len(request.messages) - 1, -1, -1):
        message = request.messages[index]
        if message.role == "user" and message.text.strip():
            return message.text, _earlier(request.messages[:index])
    return "", []


def _earlier(messages: Sequence[Message]) -> list[str]:
    found: dict[str, str] = {}
    for message in messages[:-9:-1]:
        if message.role in ("user", "assistant") and message.role not in found and message.text.strip():
            found[message.role] = message.text
    return [found[role] for role in ("user", "assistant") if role in found]


def excerpt(text: str, limit: int = _MAX_QUESTION) -> str:
    """`text` itself up to `limit` characters, otherwise its beginning and end, cut between words (SIG-3): long requests ask at
    one end, the middle is pasted text. Lone surrogates become U+FFFD."""
    if len(text) > limit:
        tail = limit * 2 // 5
        text = f"{_head(text[: limit - tail])}\n{_tail(text[-tail:])}"
    text = text.strip()
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _head(text: str) -> str:
    cut = max(text.rfind(" ", len(text) - _MAX_WORD), text.rfind("\n", len(text) - _MAX_WORD))
    return text[:cut] if cut > 0 else text


def _tail(text: str) -> str:
    cut = min((index for index in (text.find(" ", 0, _MAX_WORD), text.find("\n", 0, _MAX_WORD)) if index >= 0), default=-1)
    return text[cut + 1 :]


# Search terms (SIG-3).


_MAX_TERMS = 32
_MAX_FOLLOW_UP_TERMS = 3
"""Terms that a follow-up question has at most."""
_MAX_BORROWED_TERMS = 5
_SENTENCE = re.compile(r"[^.!?。！？؟।\n]+[.!?。！？؟।]*")
_CAPITALISED = re.compile(r"(?<=[\w,;:] )[A-Z\u00c0-\u00de\u0391-\u03a9\u0410-\u042f]\w+")
_REFERS = re.compile(
    r"^(?:and|but|so|also|then|what about|how about|ok(?:ay)?|yes|no|why|really)\b"
    r"|\b(?:it|its|that|those|these|this|them|they|their|he|his|him|she|her|hers|there|one|ones|same|both|either|other|others)\b"
    r"|[它他她这那]|それ|その|그것|^(?:и|а|y|et|und)\b",
    re.IGNORECASE,
)


def keywords(text: str) -> tuple[Term, ...]:
    """At most 32 terms in the order of the text: all terms of a short question, the most informative terms of a long one."""
    terms = query_terms(text)
    return terms if len(terms) <= _MAX_TERMS else _telling(text, terms, _MAX_TERMS)


def follow_up(text: str, terms: tuple[Term, ...], earlier: Sequence[str]) -> tuple[Term, ...]:
    """`terms`, followed by up to five terms of the `earlier` texts if the question is a follow-up: it has at most three terms
    and refers to what was said before ("and the other one?"), or it has at most one term."""
    if len(terms) > _MAX_FOLLOW_UP_TERMS or not (len(terms) <= 1 or _REFERS.search(text)):
        return terms
    known = {term.word for term in terms}
    borrowed: list[Term] = []
    for turn in earlier:
        new = [term for term in query_terms(turn) if term.word not in known]
        room = _MAX_BORROWED_TERMS - len(borrowed)
        chosen = tuple(new) if len(new) <= room else _telling(turn, tuple(new), room)
        borrowed += chosen
        known.update(term.word for term in chosen)
    return (*terms, *borrowed)


def _telling(text: str, terms: tuple[Term, ...], limit: int) -> tuple[Term, ...]:
    """The `limit` terms that tell most about the subject of a text, in the order of the text.

    A term gets points for its length, for characters that aren't letters (identifiers), for a capital within a sentence, and
    for standing in a title, the first or last sentence, or a question.
    """
    sentences = [sentence for sentence in _SENTENCE.findall(text) if sentence.strip()] or [text]
    asking = [sentence for sentence in sentences[1:-1] if sentence.rstrip()[-1:] in "?？؟"][:8]
    framed = {term.word for sentence in (sentences[0], sentences[-1], *asking) for term in query_terms(sentence[:400])}
    capitalised = {fold(word) for word in _CAPITALISED.findall(text)}

    def points(term: Term) -> float:
        word = term.word
        return (
            min(len(word), 12) / 12
            + 0.5 * (not word.isalpha())
            + 0.6 * (word in capitalised)
            + 0.9 * (word in framed)
            - 0.8 * (word.isdecimal() and len(word) < 4)
        )

    best = sorted(range(len(terms)), key=lambda index: (-points(terms[index]), index))[:limit]
    return tuple(terms[index] for index in sorted(best))


# Terms that must match verbatim.


_MAX_IDENTIFIERS = 24
_MAX_IDENTIFIER = 200
"""Characters of an identifier that are kept."""
_MAX_PHRASES = 8
_SHAPES = re.compile(
    r"""
      \b(?:https?|ftp|file|ssh|git)://[^\s<>"'`)\]}]{2,400}                 # urls
    | \bwww\.[^\s<>"'`)\]}]{3,400}
    | (?<![\w.+@-])[\w.+-]{1,64}+@[\w-]{1,64}(?:\.[\w-]{1,64}){1,6}                     # e-mail addresses
    | \b[A-Za-z]:\\[^\s<>"'|?*]{1,300}                                      # C:\paths
    | (?<![\w/.])(?:~|\.{1,2})?(?:/[\w.@+-]{1,100}){2,30}/?                 # /absolute/paths and ./relative/ones
    | (?<![\w/.])~/[\w.@+-]{1,100}
    | (?<![\w.@+/-])[\w.@+-]{1,100}+(?:/[\w.@+-]{1,100}){0,30}/[\w@+-]{1,100}\.[A-Za-z]\w{0,9}\b # src/some/file.py
    | (?<![\w.@+/-])[\w@+-]{1,100}+(?:/[\w@+-]{1,100}){2,30}\b                           # a/b/c
    | \b[A-Za-z_]\w{0,100}+(?:::\w{1,100}){1,10}                             # std::vector
    | \b[A-Za-z_]\w{0,100}+(?:\.[A-Za-z_]\w{0,100}){1,12}(?:\(\))?           # module.Class.method(), file.py, example.com
    | \b[A-Za-z_]\w{0,100}+\(\)
    | \b[^\W_]{0,60}+_\w{1,100}+                                                  # snake_case, ERR_TIMEOUT, __init__
    | \b0x[0-9A-Fa-f]{1,64}\b
    | \b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b                       # uuids
    | \b(?=[a-f]{0,40}[0-9])(?=[0-9]{0,40}[a-f])[0-9a-f]{7,40}\b            # commit hashes
    | \b[A-Za-z][A-Za-z0-9]{0,30}-[0-9][\w.-]{0,30}\b                       # CVE-2021-44228, gpt-4o, ABC-123
    | \bv[0-9]{1,4}(?:\.[0-9]{1,6}){0,4}\b | \b[0-9]{1,4}(?:\.[0-9]{1,6}){2,4}\b
    | \b[A-Z]{1,8}[0-9]{2,6}\b                                              # E1234, TS2345
    | (?<!\w)\#[0-9]{1,8}\b
    | (?<![\w-])--[a-z][\w-]{1,60}                                          # --flags
    | \b[a-z][a-z0-9]{0,60}+[A-Z][A-Za-z0-9]{0,100}+\b               # camelCase
    | \b(?:[A-Z][a-z0-9]{1,60}){2,12}[A-Z]?\b                               # CamelCase
    """,
    re.VERBOSE | re.ASCII,
)
_NUMERIC = re.compile(r"_+|[0-9]{1,4}(?:[/-][0-9]{1,4}){1,4}")
_MARKS = frozenset("_/\\@#")
_JOINED = re.compile(r"\.\S")
_HUMP = re.compile(r"[a-z0-9][A-Z]")
_MIXED = re.compile(r"[0-9][A-Za-z]|[A-Za-z][0-9]|-[0-9]")
_HEXADECIMAL = re.compile(r"[0-9a-f]{8}-")
_ABBREVIATIONS = frozenset({"e.g", "i.e", "a.m", "p.m", "a.k.a", "u.s", "u.k", "u.s.a", "ph.d"})

_QUOTED = re.compile(
    r'"([^"\n]{2,200})"|“([^“”\n]{2,200})”|„([^„“”\n]{2,200})[“”]|«([^«»\n]{2,200})»|»([^«»\n]{2,200})«'
    r"|「([^「」\n]{1,200})」|『([^『』\n]{1,200})』|《([^《》\n]{1,200})》|‘((?:[^‘’\n]|’(?=\w)){2,200})’"
    r"|`([^`\n]{2,200})`|(?<!\w)'(?=\S)((?:[^'\n]|'(?=\w)){2,200})(?<=\S)'(?!\w)"
)


def identifiers(text: str) -> tuple[str, ...]:
    """Distinct identifiers in the order of the text, at most 24 of at most 200 characters each."""
    found: dict[str, None] = {}
    if not _may_contain(text):
        return ()
    for match in _SHAPES.finditer(text):
        name = match[0].rstrip(".,;:!?-")[:_MAX_IDENTIFIER]
        if len(name) > 1 and not _NUMERIC.fullmatch(name) and name.lower() not in _ABBREVIATIONS:
            found.setdefault(name)
            if len(found) == _MAX_IDENTIFIERS:
                break
    return tuple(found)


def phrases(text: str) -> tuple[str, ...]:
    """Distinct phrases in quotes of any style, in the order of the text, at most eight of at most 200 characters each."""
    found: dict[str, None] = {}
    for match in _QUOTED.finditer(text):
        phrase = match[match.lastindex or 0].strip()
        if phrase and len(found) < _MAX_PHRASES:
            found.setdefault(phrase)
    return tuple(found)


def _may_contain(text: str) -> bool:
    """Whether the text has any character or pair that every identifier contains: ordinary prose has none, and isn't
    searched."""
    if not _MARKS.isdisjoint(text) or "::" in text or "()" in text or "--" in text:
        return True
    if ("." in text and _JOINED.search(text)) or _HUMP.search(text) or _MIXED.search(text):
        return True
    return "-" in text and _HEXADECIMAL.search(text) is not None


# Names of people and things.


_MAX_NAMES = 16
_NAME_WORD = re.compile(r"[^\W_]++(?:['’\-.][^\W_]++)*+")
_POSSESSIVE = re.compile(r"['’](?:s|S)?$")
_CONTRACTION = re.compile(r"['’](?:m|re|ve|ll|d|t|clock)$", re.IGNORECASE)
_BREAK = re.compile(r"[^ \t]")
_SENTENCE_END = re.compile(r"[.!?。！？؟:\n\"“«(\[]")
_LINKS = frozenset({"of", "the", "de", "la", "le", "von", "van", "der", "den", "da", "di", "del", "al", "el", "bin", "ibn"})
_OPENING_WORDS = """
    tell please remind show give find list describe explain summarize summarise remember recall hey hi hello thanks thank
    yes yeah no ok okay sure also then well maybe let lets can could would should will do does did is are was were have has
    had help write create make add fix run update delete remove build explain compare check see look imagine suppose given
    based according think say said ask name last next first today yesterday tomorrow any anything everything something
    someone anyone oh wow great good nice sorry actually anyway besides however meanwhile still even both such another
"""
_CALENDAR_WORDS = """
    january february march april may june july august september october november december monday tuesday wednesday thursday
    friday saturday sunday jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat sun
    mondays tuesdays wednesdays thursdays fridays saturdays sundays christmas easter
"""
_NEVER = STOP["english"] | frozenset(_CALENDAR_WORDS.split())
_NEVER_FIRST = _NEVER | frozenset(_OPENING_WORDS.split()) | frozenset(word for words in STOP.values() for word in words)


def mentions(text: str) -> tuple[str, ...]:
    """Distinct names in the order of the text, at most 16; a name of several words is followed by its words.

    The first word of a sentence counts unless it is a usual opening word. Possessive endings are removed (`Caroline's` →
    Caroline). Returns nothing for a text in capitals.
    """
    letters = [char for char in text[:400] if char.isalpha()]
    if len(letters) > 20 and sum(char.isupper() for char in letters) > 0.6 * len(letters):
        return ()
    found: dict[str, None] = {}
    for run in _runs(text):
        found.setdefault(" ".join(run))
        for word in run:
            if word not in _LINKS:
                found.setdefault(word)
        if len(found) >= _MAX_NAMES:
            break
    return tuple(found)[:_MAX_NAMES]


def _runs(text: str) -> list[list[str]]:
    """Runs of adjacent capitalised words, with the small words between them (`Lord of the Rings`)."""
    runs: list[list[str]] = []
    run: list[str] = []
    links: list[str] = []
    end = 0
    for match in _NAME_WORD.finditer(text):
        between = text[end : match.start()]
        end = match.end()
        first = match.start() == 0 or _SENTENCE_END.search(between) is not None
        if run and (first or _BREAK.search(between)):
            run, links = _close(run, runs), []
        word, closed = _named(match[0], first)
        if word:
            run += [*links, word]
            links = []
            if closed:
                run = _close(run, runs)
        elif run and match[0] in _LINKS and len(links) < 2:
            links.append(match[0])
        else:
            run, links = _close(run, runs), []
    _close(run, runs)
    return runs


def _close(run: list[str], runs: list[list[str]]) -> list[str]:
    """Adds the run to `runs`; returns a new, empty run."""
    if run:
        runs.append(run)
    return []


def _named(word: str, first: bool) -> tuple[str, bool]:
    """The word as a name, empty if it can't be one, and whether a possessive ending closes the run. `first`: it opens a
    sentence."""
    bare = _POSSESSIVE.sub("", word)
    if not bare[:1].isupper() or len(bare) < 2 or _CONTRACTION.search(word):
        return "", False
    if fold(bare) in (_NEVER_FIRST if first else _NEVER):
        return "", False
    return bare, bare != word


# The goal of the current task (TASK-2).


_MAX_GOAL_TERMS = 8
"""Terms of the goal that join the query's own."""
_MAX_VAGUE_WORDS = 12
"""Words up to which a question says so little of what it is about that the goal joins its text."""
_MAX_GOAL = 600
"""Characters of the goal that are looked at."""


def with_goal(query: Query, goal: str, messages: Sequence[Message]) -> Query:
    """The query with the goal's terms, as borrowed ones, and its identifiers. The goal also joins the text, from which the
    vector is made, where the question is short, and while tools run, as the question is an old one then."""
    goal = goal[:_MAX_GOAL].encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    known = {term.word for term in query.terms}
    new = [term for term in keywords(goal) if term.word not in known][:_MAX_GOAL_TERMS]
    named = tuple(dict.fromkeys((*query.identifiers, *identifiers(goal))))
    working = bool(messages) and messages[-1].role != "user"
    text = f"{query.text}\n{goal}".strip() if working or query.words <= _MAX_VAGUE_WORDS else query.text
    return replace(query, text=text, terms=(*query.terms, *new), borrowed=query.borrowed + len(new), identifiers=named)
