"""Notes: what exchanges leave behind: outline lines, constraints, artifacts, a ledger of them, and a summary."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

ArtifactKind = Literal["file", "url", "id", "error", "decision", "task"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """What the user demanded or forbade, in the user's own words: "don't touch the tests". `text` is one sentence."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """A thing that later work refers to. `name` is its path, address, id, or first line; `change` says what became of it, the
    newest last: how a file changed (`read`, `created`, `edited`, `deleted`, `renamed to …`), what resolved an error (`resolved
    by …`), whether a task is `open` or `done`; `` where nothing is known."""

    kind: ArtifactKind
    name: str
    change: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorResolution:
    """What resolves errors of exchanges before, if there are any: `of` is the command that succeeded, or the type of error that
    is said to be fixed; `change` is what such an error's becomes."""

    of: str
    change: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeNotes:
    """`line` is the outline's line: who asked for what, what was done, and how it ended; one line, without a number."""

    line: str
    constraints: tuple[Constraint, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    resolutions: tuple[ErrorResolution, ...] = ()


# The ledger holds the artifacts and constraints of many exchanges, each once, with its newest state (HIST-5).


ARTIFACT_KINDS: tuple[ArtifactKind, ...] = ("file", "error", "decision", "task", "id", "url")
COLON_KINDS: frozenset[ArtifactKind] = frozenset({"file", "id", "url"})
"""Kinds whose name and change a colon tells apart; of the others it is a dash."""
_TIMES = re.compile(r" ×(\d{1,6})\Z")
_MAX_STEPS = 6
"""Changes of one file that are told apart; of more, the first and the newest."""
_TRIVIAL = ("read", "")
"""What isn't worth a word beside a real change."""
_COMMAND = re.compile(r" ?\(?`([^`]{1,200})`\)?\Z")
_TYPE = re.compile(r"(?:[\w.]{1,80}(?:Error|Exception|Warning|Timeout)|E[A-Z]{4,12})\b")
_RESOLVED = "resolved"


class Ledger:
    """Merges notes in the order of the conversation. Adding takes constant time for each artifact; what was added last stands
    last. Not safe for threads."""

    __slots__ = ("_constraints", "_failing", "_found", "_typed")

    def __init__(self, notes: Iterable[ExchangeNotes] = ()) -> None:
        self._constraints: dict[str, Constraint] = {}
        self._found: dict[tuple[ArtifactKind, str], Artifact] = {}
        self._failing: dict[str, list[str]] = {}
        """The keys of unresolved errors, by the command that failed."""
        self._typed: dict[str, list[str]] = {}
        """The keys of unresolved errors, by the type that they name."""
        for one in notes:
            self.add(one)

    def add(self, notes: ExchangeNotes) -> None:
        """Adds what one exchange left behind. A constraint that is repeated counts as said now."""
        for constraint in notes.constraints:
            key = _key(constraint.text)
            self._constraints.pop(key, None)
            self._constraints[key] = constraint
        for resolution in notes.resolutions:
            self.resolve(resolution)
        for artifact in notes.artifacts:
            self.note(artifact)

    def note(self, artifact: Artifact) -> None:
        """Adds one artifact, or what became of it now; one without a name is passed over."""
        name, change = canonical_name(artifact), " ".join(artifact.change.split())
        if not name:
            return
        key = (artifact.kind, name if artifact.kind == "file" else name.casefold())
        known = self._found.pop(key, None)
        if known is not None and artifact.kind == "file":
            change = folded_change(known.change, change)
        elif known is not None and not change and artifact.kind != "error":
            change = known.change
        if (name, change) != (artifact.name, artifact.change):
            artifact = replace(artifact, name=name, change=change)
        self._found[key] = artifact
        if artifact.kind == "error" and is_open(artifact):
            self._expect(key[1], artifact)

    def resolve(self, resolution: ErrorResolution) -> None:
        """Resolves the open errors of this command or type, if there are any."""
        waiting = [*self._failing.pop(resolution.of, ()), *self._typed.pop(resolution.of, ())]
        for key in dict.fromkeys(waiting):
            known = self._found.get(("error", key))
            if known is not None and is_open(known):
                del self._found["error", key]
                self._found["error", key] = replace(known, change=resolution.change)

    def of(self, kind: ArtifactKind) -> tuple[Artifact, ...]:
        """Returns the artifacts of one kind, the newest last."""
        return tuple(one for one in self._found.values() if one.kind == kind)

    @property
    def artifacts(self) -> tuple[Artifact, ...]:
        """All artifacts, the newest last."""
        return tuple(self._found.values())

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """The constraints, each once, the newest last."""
        return tuple(self._constraints.values())

    def _expect(self, key: str, error: Artifact) -> None:
        if command := _COMMAND.search(error.name):
            self._failing.setdefault(command[1], []).append(key)
        if named := _TYPE.search(error.name):
            self._typed.setdefault(named[0], []).append(key)


def canonical_name(artifact: Artifact) -> str:
    """Returns an artifact's name on one line, without the mark that tells it apart from its change in a summary."""
    name = " ".join(artifact.name.split())
    return name.replace(": ", ":") if artifact.kind in COLON_KINDS else name.replace("—", "–")


def is_open(artifact: Artifact) -> bool:
    """Whether something is left to do about it: an error that isn't resolved, a task that isn't done."""
    if artifact.kind == "error":
        return not artifact.change.startswith(_RESOLVED)
    return artifact.kind == "task" and artifact.change != "done"


def folded_change(before: str, after: str) -> str:
    """Returns the changes of a file as one text, the newest last: `created`, then `edited` twice, is `created, edited ×2`.
    What is created where it already is was edited. Both may be such texts."""
    steps = _steps(before)
    for word, times in _steps(after):
        _put(steps, word, times)
    if any(word not in _TRIVIAL for word, _ in steps):
        steps = [step for step in steps if step[0] not in _TRIVIAL]
    if len(steps) > _MAX_STEPS:
        steps = [steps[0], *steps[1 - _MAX_STEPS :]]
    return ", ".join(f"{word} ×{times}" if times > 1 and word not in _TRIVIAL else word for word, times in steps if word)


def _steps(change: str) -> list[tuple[str, int]]:
    found = list[tuple[str, int]]()
    for part in change.split(", ") if change else ():
        times = _TIMES.search(part)
        found.append((part[: times.start()], max(1, int(times[1]))) if times else (part, 1))
    return found


def _put(steps: list[tuple[str, int]], word: str, times: int) -> None:
    """Adds a change behind the others, or to the last one where it is the same."""
    there = next((known for known, _ in reversed(steps)), "deleted")
    if word == "created" and there != "deleted" and not there.startswith("renamed"):
        word = "edited"
    if word in _TRIVIAL and steps:
        return
    if steps and steps[-1][0] == word:
        steps[-1] = (word, steps[-1][1] + times)
    else:
        steps.append((word, times))


def _key(text: str) -> str:
    return " ".join(text.casefold().split())


# The summary is the text that stands in a prompt for a span of the conversation (HIST-2).


SummaryMethod = Literal["extractive", "llm"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanSummary:
    """`text` says what the messages before the index `covers` were about; it holds what an earlier summary held, so that
    summaries build on one another. `ids` are those of the messages covered, as far as they have any. `note` says why an LLM's
    text wasn't used."""

    text: str
    covers: int
    tokens: int
    method: SummaryMethod = "extractive"
    ids: tuple[str, ...] = ()
    note: str = ""
