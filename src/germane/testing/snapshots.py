"""Snapshots: expected texts in files beside the tests, and a readable diff where the actual text differs.

Files are written only with `--update-pins`. A missing snapshot fails the test with the command that writes it; otherwise a test
on a build server could pass by accepting any text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from difflib import unified_diff
from pathlib import Path

__all__ = ["FOLDER", "SnapshotDifference", "Snapshots", "file_of"]

FOLDER = "__pins__"
_ODD = re.compile(r"[^\w.-]+")
_MAX_NAME = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotDifference:
    """How a text differs from its snapshot."""

    changes: tuple[str, ...] = ()
    """The lines of a unified diff, or of the whole text where there is no snapshot."""
    advice: tuple[str, ...]
    """What the developer can do, line by line."""


@dataclass(slots=True, kw_only=True)
class Snapshots:
    """The snapshots of one test run."""

    update: bool
    """Write differing snapshots instead of reporting them."""
    written: dict[Path, str] = field(default_factory=dict)
    """Written files, with the test that each belongs to."""
    checked: dict[Path, str] = field(default_factory=dict)
    """Files compared so far, with the test that each belongs to."""

    def differs(self, path: Path, text: str, *, test: str) -> SnapshotDifference | None:
        """Returns how `text` differs from the snapshot at `path`, or None where it doesn't. With `update` it writes `text` to
        `path` and returns None. Two tests can't share a snapshot: the second one gets a difference."""
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
    """The path of the snapshot `name` for a test in `folder`. Characters other than letters, digits, `_`, `.` and `-` become
    hyphens, and the name is cut at 100 characters."""
    plain = _ODD.sub("-", name).strip("-.")[:_MAX_NAME]
    return folder / FOLDER / f"{plain or 'context'}.txt"


def _near(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"
