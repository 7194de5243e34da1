"""Telling: the clauses of a message that may stand in the person's profile, each with how much it tells (PERSON-1).

A clause tells something where it demands something lasting (`rule`), or says what matters about the person (`matters`). It
takes the clauses beside it along where they go on with it: the rest of its sentence, and what tells something itself.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from germane.profile.worth import ClauseWorth, judge_clauses
from germane.text.clauses import Span, clauses
from germane.text.cues import only_always
from germane.text.own.own_words import own_words
from germane.text.sentences import sentences

__all__ = ["MIN_TELLING", "VERSION", "TellingClause", "lines_of", "telling_clauses"]

VERSION = 1
"""Rises whenever the same text would tell something else: stored clauses of another version are made anew."""
MIN_TELLING = 0.12
"""The least probability of a clause that is kept."""
_MAX_READ = 20_000
"""Characters of a message that are read."""
_MAX_LINES = 12
"""Lines of one message."""
_MAX_LINE = 260
"""Characters of a line that was grown from one clause."""
_MAX_QUOTED = 48
"""Characters of somebody else's words in a clause."""
_BESIDE, _SAME_SENTENCE = 0.12, 0.018
"""The least probability of a clause beside a telling one that goes with it, and of one of the same sentence."""


class TellingClause(NamedTuple):
    """A line of a person's own words: its place in the message's text in characters, and the probabilities that it is a
    standing instruction, and that it says what matters for requests that don't ask for it."""

    start: int
    end: int
    rule: float
    matters: float


def telling_clauses(text: str) -> tuple[TellingClause, ...]:
    """Returns the telling clauses of a message that a person wrote, in order: of the person's own words, so that nothing which
    was pasted, quoted or forwarded tells anything. Pure and linear."""
    hidden = own_words(text[:_MAX_READ])
    spans = [span for span in clauses(hidden) if _own(hidden[slice(*span)])]
    return lines_of(hidden, spans, judge_clauses(hidden, spans))


def _own(clause: str) -> bool:
    """Whether a clause is the writer's, but for a few words that it quotes ("never write “dear all”")."""
    quoted = clause.count("\0")
    return quoted <= _MAX_QUOTED and 2 * quoted <= len(clause)


def lines_of(text: str, spans: Sequence[Span], worths: Sequence[ClauseWorth]) -> tuple[TellingClause, ...]:
    """Returns the lines made of these clauses, in order; no two overlap."""
    telling = [max(worth.rule, worth.matters) for worth in worths]
    order = sorted(range(len(spans)), key=lambda place: (-telling[place], place))
    starts = [start for start, _ in sentences(text)]
    taken, lines = set[int](), list[TellingClause]()
    for place in order:
        if telling[place] < MIN_TELLING or len(lines) == _MAX_LINES:
            break
        if place in taken:
            continue
        first, last = _grown(place, spans, worths, starts, taken)
        while only_always(text[spans[first][0] : spans[last][1]]) and first > 0 and first - 1 not in taken:
            first -= 1  # "every time" belongs to what was said before
        if only_always(text[spans[first][0] : spans[last][1]]):
            continue
        taken.update(range(first, last + 1))
        inside = worths[first : last + 1]
        line = TellingClause(
            spans[first][0], spans[last][1], max(one.rule for one in inside), max(one.matters for one in inside)
        )
        lines.append(line)
    return tuple(sorted(lines))


def _grown(
    place: int, spans: Sequence[Span], worths: Sequence[ClauseWorth], starts: Sequence[int], taken: set[int]
) -> tuple[int, int]:
    """The first and the last clause of the line that grows from this one."""
    rules = worths[place].rule >= worths[place].matters
    sentence = bisect_right(starts, spans[place][0])
    first = last = place

    def goes_on(beside: int) -> bool:
        if not 0 <= beside < len(spans) or beside in taken:
            return False
        size = max(spans[last][1], spans[beside][1]) - min(spans[first][0], spans[beside][0])
        worth = worths[beside]
        likely, other = (worth.rule, worth.matters) if rules else (worth.matters, worth.rule)
        if bisect_right(starts, spans[beside][0]) == sentence:
            return size <= _MAX_LINE and likely >= _SAME_SENTENCE
        return size <= _MAX_LINE and likely >= max(_BESIDE, other)

    while True:
        if goes_on(last + 1):
            last += 1
        elif goes_on(first - 1):
            first -= 1
        else:
            return first, last
