"""Projects: which project a folder belongs to, read from git's files: all worktrees of a repository are one project.

Each project is an agent of its own, so that what is remembered of one isn't shown in another.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import blake2b
from os.path import realpath
from pathlib import Path

PERSON = "me"
"""The user of a person's own machine."""
_MAX_FOLDERS = 64
"""Folders above the given one that are looked at."""
_MAX_FILE = 4096
_UNNAMED = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A repository, or a folder outside of any. `agent` names its memory."""

    root: Path
    agent: str

    @property
    def name(self) -> str:
        return self.root.name or "root"


def project_of(folder: str) -> Project:
    """Returns the project of a folder, which needn't be there any more. Reads a few small files; runs nothing."""
    start = Path(realpath(folder))
    for place in (start, *list(start.parents)[:_MAX_FOLDERS]):
        mark = place / ".git"
        if mark.is_dir():
            return _project(place)
        if mark.is_file():
            return _project(_repository_of(place, mark) or place)
    return _project(start)


def _project(root: Path) -> Project:
    """The agent's name begins with the folder's, for people; the rest tells apart projects of the same name."""
    digest = blake2b(str(root).encode("utf-8", "surrogateescape"), digest_size=5).hexdigest()
    name = _UNNAMED.sub("-", root.name).strip("-.")[:60] or "project"
    return Project(root=root, agent=f"{name}-{digest}")


def _repository_of(worktree: Path, mark: Path) -> Path | None:
    """The repository that a worktree belongs to; None for a submodule, which is a project of its own. The repository's own file
    must name the worktree: a folder from elsewhere can't claim to belong to it."""
    target = _line(mark).removeprefix("gitdir:").strip()
    if not target:
        return None
    own = Path(realpath(worktree / target))
    shared = _line(own / "commondir")
    if not shared or realpath(_line(own / "gitdir")) != realpath(mark):
        return None
    common = Path(realpath(own / shared))
    if own.parent != common / "worktrees":
        return None
    return common.parent if common.name == ".git" else common


def _line(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="surrogateescape") as file:
            return file.read(_MAX_FILE).split("\n", 1)[0].strip()
    except (OSError, ValueError):
        return ""
