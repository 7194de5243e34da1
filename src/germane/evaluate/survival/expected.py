"""Expected: what must still be said after a compaction: constraints by their key words, artifacts by name and last change."""

from __future__ import annotations

from dataclasses import dataclass

from germane.compaction.notes import ArtifactKind

__all__ = ["ExpectedArtifact", "ExpectedConstraint"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedConstraint:
    """`text` is the user's sentence, `words` its key words, which must stand in one line."""

    text: str
    words: tuple[str, ...]
    language: str = "english"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedArtifact:
    """`names` must all stand in one line. `changes` are spellings of what became of it last, one of which must stand near;
    empty where the name is enough. In their place one of `later` may stand in a line further down: the words of the
    conversation that show the change, where they are still there."""

    kind: ArtifactKind
    names: tuple[str, ...]
    changes: tuple[str, ...] = ()
    later: tuple[str, ...] = ()
