"""Snapshots: texts kept beside the tests that expect them, one file each, and a diff a person can read when they differ.

Nothing is written unless it is asked for: a snapshot that isn't there is a failure that says how to make it, so that a build
server can't pass a test by writing down whatever it sees.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from difflib import unified_diff
from pathlib import Path

__all__ = ["FOLDER", "SnapshotDifference", "Snapshots", "file_of"]

FOLDER = "__pins__"
_ODD = re.compile(r"[^\w.-]+")
_LONGEST = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotDifference:
    """What is not as it was, and what to do about it, line by line."""

    changes: tuple[str, ...] = ()
    advice: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class Snapshots:
    """The snapshots of one test run. `written` and `checked` are files' paths, by the test that they belong to."""

    update: bool
    written: dict[Path, str] = field(default_factory=dict)
    checked: dict[Path, str] = field(default_factory=dict)

    def differs(self, path: Path, text: str, *, test: str) -> SnapshotDifference | None:
        """How `text` differs from the snapshot at `path`. Writes it instead where snapshots are updated."""
        owner = self.checked.setdefault(path, test)
        if owner != test:
            return SnapshotDifference(
                advice=(f"{path.name} is already the snapshot of {owner}: give this one a name of its own",)
            )
        pinned = path.read_text("utf-8") if path.is_file() else None
        if pinned == text:
            return None
        if self.update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8", newline="\n")
            self.written[path] = test
            return None
        command = f'    pytest --update-pins "{test}"'
        if pinned is None:
            missing = f"there is no snapshot {_near(path)} yet; this is what it would hold. Write it with"
            return SnapshotDifference(changes=tuple(text.splitlines()), advice=(missing, "", command))
        changes = unified_diff(pinned.splitlines(), text.splitlines(), f"{_near(path)} (pinned)", "now", lineterm="")
        return SnapshotDifference(changes=tuple(changes), advice=("if it is meant to be so:", "", command))


def file_of(folder: Path, name: str) -> Path:
    """Where the snapshot called `name` of a test in `folder` is kept; odd characters become hyphens."""
    plain = _ODD.sub("-", name).strip("-.")[:_LONGEST]
    return folder / FOLDER / f"{plain or 'context'}.txt"


def _near(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"
