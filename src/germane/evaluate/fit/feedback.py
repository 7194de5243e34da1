"""Feedback: which of the items that were shown helped, and which did harm, with the evidence they were shown for.

One assembly's trace and a few marks make one `Marked`; a file of them is JSON Lines. It holds ids, marks and numbers, no text.
What wasn't shown has no mark: such a file can tell the better from the worse of what the model already finds, and nothing of
what it misses.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, Literal

from germane.errors import InvalidInput
from germane.types.candidate import Chosen
from germane.types.evidence import FEATURES, Evidence
from germane.types.trace import Trace

__all__ = ["Mark", "Marked", "Shown", "label", "line", "marked_lines"]

Mark = Literal["helpful", "harmful", ""]

_REASONS = ("structured", "history", "recent")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    id: str
    evidence: Evidence
    mark: Mark = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Marked:
    """What one assembly showed because it was likely, in the order it was written, and how it was marked."""

    shown: tuple[Shown, ...]

    @property
    def marks(self) -> int:
        return sum(1 for one in self.shown if one.mark)


def label(trace: Trace, *, helpful: Iterable[str] = (), harmful: Iterable[str] = ()) -> Marked:
    """By id, or by what the text calls an item (`a3`). What was shown for another reason than its likeness to the query
    (pinned, of the running session, recent) is left out: feedback on it says nothing of likeness. Raises `InvalidInput` for
    an item that wasn't shown, or was marked both ways."""
    good, bad = set(helpful), set(harmful)
    if both := sorted(good & bad):
        raise InvalidInput(f"{both[0]!r} is marked as helpful and as harmful: choose one")
    known = {name for item in trace.chosen for name in (item.id, item.handle)} - {""}
    if strangers := sorted((good | bad) - known):
        raise InvalidInput(f"{strangers[0]!r} wasn't shown: give an id or a handle of what was ({len(trace.chosen)} items)")
    return Marked(shown=tuple(_shown(item, good, bad) for item in trace.chosen if not _for_another_reason(item)))


def line(marked: Marked) -> str:
    """One line of a file, without its end. Evidence that is zero, or a cosine that is missing, is not written."""
    rows = [
        {"id": one.id, **({"mark": one.mark} if one.mark else {}), "evidence": _numbers(one.evidence)} for one in marked.shown
    ]
    return json.dumps({"type": "germane-feedback", "shown": rows}, ensure_ascii=False)


def marked_lines(text: str, where: str = "feedback") -> list[Marked]:
    """The lines of a file that aren't blank. Raises `InvalidInput` naming the line that isn't one of ours, or that has
    evidence this germane doesn't know: it was kept by another version."""
    found = []
    for number, written in enumerate(text.splitlines(), start=1):
        if written.strip():
            try:
                found.append(_read(json.loads(written)))
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                said = error if isinstance(error, InvalidInput) else "not what germane eval label writes"
                raise InvalidInput(f"{where}, line {number}: {said}") from error
    return found


def _shown(item: Chosen, good: set[str], bad: set[str]) -> Shown:
    names = {item.id, item.handle}
    mark: Mark = "helpful" if names & good else "harmful" if names & bad else ""
    return Shown(id=item.id, evidence=item.scored.candidate.evidence, mark=mark)


def _for_another_reason(item: Chosen) -> bool:
    evidence = item.scored.candidate.evidence
    return item.scored.candidate.required or any(getattr(evidence, name) > 0 for name in _REASONS)


def _numbers(evidence: Evidence) -> dict[str, float]:
    values = ((name, getattr(evidence, name)) for name in FEATURES)
    return {name: round(float(value), 6) for name, value in values if value is not None and (value or name.startswith("cos_"))}


def _read(found: Mapping[str, Any]) -> Marked:
    if found["type"] != "germane-feedback":
        raise KeyError("type")
    shown = []
    for row in found["shown"]:
        numbers, mark = row["evidence"], row.get("mark", "")
        if strangers := sorted(set(numbers) - set(FEATURES)):
            raise InvalidInput(f"unknown evidence {strangers[0][:40]!r}: kept by another version of germane, mark it anew")
        if mark not in ("helpful", "harmful", "") or not all(isfinite(value) for value in numbers.values()):
            raise KeyError("mark")
        shown.append(Shown(id=str(row["id"]), evidence=Evidence(**{key: float(numbers[key]) for key in numbers}), mark=mark))
    return Marked(shown=tuple(shown))
