"""Survival: whether constraints and artifacts survive compaction: generated conversations, and scores that read text alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from germane.dialects.registry import parse
from germane.types.message import Message
from germane_eval.survival.conversations import (
    ExpectedArtifact,
    ExpectedConstraint,
    SurvivalConversation,
    survival_conversations,
)

__all__ = [
    "ExpectedArtifact",
    "ExpectedConstraint",
    "SurvivalConversation",
    "artifact_survival",
    "constraint_survival",
    "lost_artifacts",
    "lost_constraints",
    "survival_conversations",
]


Output = str | Sequence[Mapping[str, Any] | Message]

_MAX_DISTANCE = 200
"""Characters between a name and the spelling of its change."""
_MAX_PLACES = 40
"""Places of a name in one line that are looked at."""


def constraint_survival(output: Output, expected: Sequence[ExpectedConstraint]) -> float:
    """Returns the share of the expected constraints that the output still says, in [0, 1]; 1 where none is expected."""
    return 1 - len(lost_constraints(output, expected)) / len(expected) if expected else 1.0


def artifact_survival(output: Output, expected: Sequence[ExpectedArtifact]) -> float:
    """Returns the share of the expected artifacts that the output still says, in [0, 1]; 1 where none is expected."""
    return 1 - len(lost_artifacts(output, expected)) / len(expected) if expected else 1.0


def lost_constraints(output: Output, expected: Sequence[ExpectedConstraint]) -> tuple[ExpectedConstraint, ...]:
    """Returns the constraints that didn't survive. Takes time in proportion to the output's length times their number."""
    lines = _lines(output)
    return tuple(one for one in expected if not any(_says(line, one.words) for line in lines))


def lost_artifacts(output: Output, expected: Sequence[ExpectedArtifact]) -> tuple[ExpectedArtifact, ...]:
    """Returns the artifacts that didn't survive, as `lost_constraints`."""
    lines = _lines(output)
    return tuple(one for one in expected if not _survived(lines, one))


def _lines(output: Output) -> list[str]:
    texts = [output] if isinstance(output, str) else map(_text, output)
    return [plain for text in texts for line in text.split("\n") if (plain := " ".join(line.casefold().split()))]


def _text(message: Mapping[str, Any] | Message) -> str:
    return parse(message).content


def _says(line: str, words: Iterable[str]) -> bool:
    return all(_plain(word) in line for word in words)


def _survived(lines: Sequence[str], expected: ExpectedArtifact) -> bool:
    names, spellings, later = ([_plain(text) for text in texts] for texts in (expected.names, expected.changes, expected.later))
    named = False
    for line in lines:
        if named and any(words in line for words in later):
            return True
        if not all(name in line for name in names) or any(next(_whole(line, name), -1) < 0 for name in names):
            continue
        if not spellings or _is_near(line, names[0], spellings):
            return True
        named = True
    return False


def _is_near(line: str, name: str, spellings: Sequence[str]) -> bool:
    """Whether one of the spellings stands near the name."""
    for place in _whole(line, name):
        around = line[max(0, place - _MAX_DISTANCE) : place + len(name) + _MAX_DISTANCE]
        if any(spelling in around for spelling in spellings):
            return True
    return False


def _whole(line: str, name: str) -> Iterator[int]:
    """Yields the places where the name stands as a whole: no letter, digit, or `-` with one, goes on at its ends."""
    place, looked = line.find(name), 0
    while place >= 0 and looked < _MAX_PLACES:
        end = place + len(name)
        if not _goes_on(line[max(0, place - 2) : place][::-1]) and not _goes_on(line[end : end + 2]):
            yield place
        looked += 1
        place = line.find(name, place + 1)


def _goes_on(beside: str) -> bool:
    """Whether a name goes on with these characters, the nearest first."""
    return beside[:1].isalnum() or beside[:1] == "_" or (beside[:1] in "-/." and beside[1:2].isalnum())


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
