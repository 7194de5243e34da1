"""Notes: what one exchange leaves behind when its messages are taken away: an outline line, constraints, and artifacts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Artifact", "ArtifactKind", "Constraint", "ErrorResolution", "ExchangeNotes"]

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
