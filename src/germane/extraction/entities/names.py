"""Names: decides whether a run of capitalised words is a person, an organisation, a place or a tool, by words and cues."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from functools import cache

from germane.extraction.entities.runs import ABBREVIATIONS, NameRun
from germane.extraction.entities.tokens import Tokens, Written, cue, folded, is_tool, kin, nicknames, stemmed, without_ending
from germane.kinds.graph.value import FoundEntity
from germane.text.language import STOP, detect
from germane.text.normal import fold

Judged = tuple[str, float]
"""A type and a confidence; `("", 0)` where nothing tells."""
_NOTHING: Judged = ("", 0.0)
_ARTICLES = frozenset(
    [
        "the",
        "der",
        "die",
        "das",
        "dem",
        "den",
        "la",
        "le",
        "el",
        "il",
        "lo",
        "o",
        "a",
        "os",
        "as",
        "het",
        "de",
        "my",
        "our",
        "his",
        "her",
        "their",
        "un",
        "une",
    ]
)
_SURE = 0.84
_NOUNS = frozenset({"thought", "likes", "plays", "calls", "feels", "looks", "comments"})
"""Verbs that are nouns too."""
_MAX_WORDS_BEFORE = 4
"""Words before a name in which a verb is looked for."""


def named(tokens: Tokens, found: Sequence[NameRun], known: Mapping[str, str], written: Written) -> Iterator[FoundEntity]:
    """Yields the runs whose type is told by a list, by a cue around them, by `known` (types by folded name), or by a
    neighbour in a list of names. Linear."""
    german: bool | None = None
    judged = list[Judged]()
    for run in found:
        one = _by_words(tokens, run)
        if one[1] < _SURE and written.as_title(run.start):
            judged.append(_NOTHING)
            continue
        if not one[0] and run.whole in known:
            one = known[run.whole], 0.7
        if not one[0]:
            if german is None:
                german = detect(tokens.text) == "german"
            one = _by_cues(tokens, run, german)
        judged.append(one)
    for number, run in enumerate(found):
        kind, confidence = judged[number]
        if not kind and not german:
            kind, confidence = _by_neighbour(tokens, found, judged, number)
        if kind:
            name = tokens.text[run.start : run.end]
            yield FoundEntity(kind, name, run.start, run.end, confidence)


@cache
def _first_names() -> Set[str]:
    short = frozenset(name for name in nicknames() if len(name) > 2)
    return (folded("people", "first_names") | short) - folded("people", "first_names", "weak") - cue("opening") - cue("never")


@cache
def _places() -> Set[str]:
    lists = ("countries", "countries_in_other_languages", "cities")
    return folded("places", "places", *lists)


@cache
def _weak_places() -> Set[str]:
    return folded("places", "place_words", "weak")


def _by_words(tokens: Tokens, run: NameRun) -> Judged:
    """What the words of the name tell by themselves."""
    # The order is that of certainty: what only looks like a person is asked last, as most lists of names hold words too.
    words, count, whole = run.folded, len(run.folded), run.whole
    if run.title:
        return "person", 0.95
    if count > 1 and words[-1] in folded("organisations", "organisations", "legal"):
        return "organisation", 0.9
    if count > 1 and (words[-1] in folded("organisations", "organisations", "last") or _heads(words)):
        return "organisation", 0.8
    if _is_software(tokens, run):
        return "tool", 0.85
    if whole in folded("organisations", "organisations", "known") and not _is_word(run):
        return "organisation", 0.85
    if whole in _places() and whole not in _weak_places() and not run.relative:
        return "place", 0.9
    if count > 1 and words[-1] in folded("places", "place_words", "last"):
        return "place", 0.75
    if not words[0].isascii() and count < 4:
        cyrillic = _cyrillic(words)
        if cyrillic[0]:
            return cyrillic
    if run.relative:
        return "person", 0.9
    if run.words[0].isupper() and len(run.words[0]) > 1:
        return _NOTHING  # an abbreviation such as ARIA or DOM, not a name
    if words[0] in _first_names() or words[0].partition("-")[0] in _first_names():
        return "person", 0.85
    if words[0] in folded("people", "first_names", "weak") and whole not in _places():
        # Names that are words too (`Will`, `Rose`, `Mark`): at the beginning of a sentence their capital says nothing.
        sure = words[0] not in STOP["english"] and (not run.opens or count > 1) and not _titled_work(tokens, run)
        return ("person", 0.7) if sure else _NOTHING
    if count > 1 and words[0] in folded("places", "place_words", "first") and words[1] in _first_names() | _places():
        return "place", 0.7
    return _NOTHING


def _heads(words: Sequence[str]) -> bool:
    # `Museum` and `Society` open an organisation's name only with `of`, and are words on their own.
    return words[0] in folded("organisations", "organisations", "first") and words[0] not in ("museum", "society")


def _is_software(tokens: Tokens, run: NameRun) -> bool:
    name = " ".join(run.words)
    return is_tool(name) and not (run.opens and name in ("Word", "Teams", "Zoom", "Spring", "Express", "Node", "Chef", "Slack"))


def _is_word(run: NameRun) -> bool:
    """Whether the name of an organisation is also a word that opens a sentence."""
    return run.opens and run.whole in ("apple", "orange", "shell", "target", "seat", "who", "vale", "uber", "visa", "oracle")


def _cyrillic(words: Sequence[str]) -> Judged:
    stems = [without_ending(word) for word in words]
    if stems[0] in stemmed("organisations", "organisations", "cyrillic"):
        return "organisation", 0.85
    if stems[0] in stemmed("people", "cyrillic_names", "words"):
        return "person", 0.85
    if len(stems) == 1 and stems[0] in stemmed("places", "places", "cyrillic"):
        return "place", 0.85
    return _NOTHING


def _by_cues(tokens: Tokens, run: NameRun, german: bool) -> Judged:
    """What stands around the name tells."""
    before = _before(tokens, run)
    one = _person(tokens, run, before, german)
    return one if one[0] else _somewhere(tokens, run, before, german)


def _before(tokens: Tokens, run: NameRun) -> list[str]:
    """The folded words before the name in its sentence, the nearest first."""
    words = list[str]()
    number = 0 if run.opens else run.first
    while number > 0 and len(words) < _MAX_WORDS_BEFORE + 1:
        gap = tokens.gap(number)
        number -= 1
        word = tokens.folded(number)
        if any(mark in gap for mark in "\n.!?;:\0") and word not in ABBREVIATIONS:
            break
        words.append(word)
        if "," in gap and len(words) > 1:
            break
    return words + [""] * (2 - len(words))


def _person(tokens: Tokens, run: NameRun, before: Sequence[str], german: bool) -> Judged:
    first, second = before[0], before[1]
    following, count = tokens.folded(run.stop), len(run.words)
    gap, behind = tokens.gap(run.first), tokens.gap(run.stop)
    relatives = kin()
    if first in relatives or (second in relatives and first in ("named", "called", "is", "ist", "heisst", ",")):
        return "person", 0.85
    if first in folded("people", "titles", "before") and len(first) > 2:
        return "person", 0.9
    # From here on the words around it are only a hint, so what can't be a person's name is left out first.
    if run.words[0][:2].isupper() or _titled_work(tokens, run) or run.folded[-1] in relatives:
        return _NOTHING
    if (run.greeting or first in cue("greeting")) and count < 4 and "." not in gap and behind.strip(" ")[:1] in (*",!.?", "\n"):
        return "person", 0.75
    if first in cue("named") and (count > 1 or first not in ("i'm", "hire", "hired", "im")) and second not in _things():
        return "person", 0.7
    if first in ("him", "her", "it") and second in ("named", "called"):
        return "person", 0.6
    if first in cue("of_words") and second in cue("celebration"):
        return "person", 0.75
    if run.owns and (following in relatives or following in cue("celebration")):
        return "person", 0.8
    # German writes all nouns with a capital, so `mit Kaffee` looks like `with Anna`: only two words are a name.
    if german:
        return ("person", 0.6) if count == 2 and first in ("mit", "von") and following in cue("said") else _NOTHING
    if first in cue("with_person") and not run.owns and count < 4:
        return "person", 0.6
    if first in cue("to_person") and count < 4:
        return "person", 0.65
    if first in cue("toward_person") and second in cue("before_to_person") and count < 4:
        return "person", 0.7
    # A capital at the beginning of a sentence: `Going said`, `Markets said` aren't people.
    if run.opens and count == 1 and (run.folded[0].endswith(("ing", "ed", "ly", "s")) or following in _NOUNS):
        return _NOTHING
    if following in cue("said") and behind == " " and count < 4 and first not in _ARTICLES and not run.owns:
        return "person", 0.7
    if following in ("and", "y", "et", "e") and tokens.folded(run.stop + 1) in ("i", "yo", "moi", "io", "eu") and count < 3:
        return "person", 0.75
    return _NOTHING


def _titled_work(tokens: Tokens, run: NameRun) -> bool:
    """Whether the name stands in quotation marks, as titles do, or a number follows, as in `Game 7`."""
    text = tokens.text
    return text[run.start - 1 : run.start] in ('"', "“", "«", "„", "‘") or text[run.end : run.end + 2].strip()[:1].isdigit()


@cache
def _too_general() -> Set[str]:
    return folded("organisations", "organisations", "generic", "last") | folded("places", "place_words", "last")


def _things() -> Set[str]:
    return cue("after_organisation_noun") | cue("city_of")


def _somewhere(tokens: Tokens, run: NameRun, before: Sequence[str], german: bool) -> Judged:
    """An organisation that somebody works for, or a place where something is, as the words before the name tell."""
    near = set(before)
    if _titled_work(tokens, run) or all(word in _too_general() for word in run.folded):
        return _NOTHING
    works = not near.isdisjoint(cue("work"))
    lives = not near.isdisjoint(cue("live"))
    place = next((word for word in before if word not in _ARTICLES), "")
    if before[0] == "a" and (lives or not near.isdisjoint(cue("motion"))):
        place = "a"  # à Nantes, a Torino: else an article
    skipped = before[0] in _ARTICLES and place != "a"
    whole = run.whole
    # `skipped` (an article before the name) makes a single word a thing, `at the Office`, and no name.
    if before[0] in cue("after_organisation_noun") or (before[0] == "called" and before[1] in cue("after_organisation_noun")):
        return "organisation", 0.8
    if place in cue("at_organisation") and (works or (not german and not skipped)):
        return "organisation", 0.75
    if place in cue("joined") and place not in ("leaves", "leaving", "left", "quit", "runs") and not german:
        return "organisation", 0.65
    located = place in cue("place") or place in cue("at_organisation")
    if located and not run.words[0].isupper():
        if whole in _places():
            return "place", 0.85
        if works and not lives:
            return "organisation", 0.7
        if lives or (not german and not (skipped and len(run.words) == 1)):
            return "place", 0.85 if lives else 0.6
    # "at" alone is a place as often as an employer: a verb of working in the same sentence decides.
    if works and place in ("at", "for", "with", "na", "no", "from", "to", "der", "bij") and not german:
        return "organisation", 0.75
    if tokens.folded(run.stop) in cue("hires") and not german:
        return "organisation", 0.6
    if place == "at" and not skipped:
        return "organisation", 0.55
    if skipped and len(run.words) == 1 and not lives:
        return _NOTHING
    moving = place in cue("moved") or place in cue("at_organisation")
    if (
        moving
        and not run.words[0].isupper()
        and not near.isdisjoint(cue("from_motion" if place in ("from", "iz", "из") else "motion"))
    ):
        return "place", 0.75 if not german or place == "nach" else 0.0
    if whole in _weak_places() and (moving or located or place in ("from", "aus", "de", "von", "near", "visit")):
        return "place", 0.8
    if place in cue("city_of") or (place == "of" and before[1] in cue("city_of")):
        return "place", 0.75
    return _NOTHING


def _by_neighbour(tokens: Tokens, found: Sequence[NameRun], judged: Sequence[Judged], number: int) -> Judged:
    """The type of the name beside it in a list: `Kenya, Uganda and Wakanda`."""
    run = found[number]
    if len(run.words) > 3 or run.words[0].isupper():
        return _NOTHING
    if number + 1 < len(found) and judged[number + 1][0] == "organisation" and len(run.words) in (2, 3):
        behind = tokens.text[run.end : found[number + 1].start]
        if behind in (", ", " (", " from ", " of "):
            return "person", 0.6
    for other in (number - 1, number + 1):
        if not run.opens and 0 <= other < len(found) and judged[other][0] in ("person", "place"):
            first, last = sorted((run, found[other]), key=lambda one: one.start)
            between = fold(tokens.text[first.end : last.start]).strip(" ")
            # Lists name things of one kind. After a comma alone only places do: `Anna, Berlin` is a person and a city.
            if between in cue("and_words") and between != "of":
                return judged[other][0], 0.6
            if between == "," and judged[other][0] == "place":
                return "place", 0.55
    return _NOTHING
