"""Paths: a path under `/memories` as the label of a block, and back.

Nothing is looked up in a file system, and still no path can mean something outside `/memories`: neither as it stands nor after
percent signs are decoded, backslashes turned, look-alikes of `/` and `.` folded, or an export has written it as a file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from germane.blocks.label import checked_label, folded_segment
from germane.errors import InvalidInput
from germane.types.limits import shown

__all__ = ["ROOT", "MemoryPath", "parse_path", "path_of"]

ROOT = "/memories"
_LONGEST = 1_024
"""Characters of a path; a label has at most 255 bytes."""
_ENCODED = re.compile(r"%[0-9A-Fa-f]{2}")
_SLASHES = frozenset("\\⁄∕╱⟋⧸∖⧵⧹╲᜵")
"""The backslash, and signs that look like a slash and that no normal form turns into one."""
_DOTS = frozenset(".․·•∙⋅⸱・。܁܂٠۰‥…")
"""Characters that look like a full stop."""


@dataclass(frozen=True, slots=True)
class MemoryPath:
    """A path: '' is the label of `/memories` itself. `folder` says that it ends with a slash, so that no file is meant."""

    label: str
    folder: bool = False

    def __str__(self) -> str:
        return f"{ROOT}/{self.label}" if self.label else ROOT

    @property
    def root(self) -> bool:
        return not self.label


def parse_path(path: object, argument: str = "path") -> MemoryPath:
    """Returns a path under `/memories`. Raises `InvalidInput`, which says what to write instead."""
    if not isinstance(path, str):
        raise InvalidInput(f"`{argument}` must be a string that starts with {ROOT}, not {type(path).__name__}")
    if len(path) > _LONGEST:
        raise InvalidInput(f"`{argument}` has {len(path):,} characters: choose a shorter name")
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise InvalidInput(f"Path must start with {ROOT}, got: {shown(path)}")
    rest = path[len(ROOT) + 1 :]
    label = rest.removesuffix("/")
    if not label and not rest:
        return MemoryPath("", folder=True)
    for segment in label.split("/"):
        _check_segment(segment, path)
    return MemoryPath(checked_label(label, f"`{argument}`"), folder=rest.endswith("/"))


def path_of(label: str) -> MemoryPath | None:
    """Returns the path of the block with this label; None where the label holds what a path can't, such as a backslash."""
    try:
        path = parse_path(f"{ROOT}/{label}")
    except InvalidInput:
        return None
    return path if path.label == label and not path.folder else None


def _check_segment(segment: str, path: str) -> None:
    folded = folded_segment(segment)
    if not segment:
        raise InvalidInput(f"Path {shown(path)} has an empty name in it: write one / between two names")
    if all(character in _DOTS for character in folded):
        raise InvalidInput(f"Path {shown(path)} would escape {ROOT} directory: write the whole path without . and ..")
    if "/" in folded or not _SLASHES.isdisjoint(folded):
        raise InvalidInput(f"Path {shown(path)} has a character that could be taken for a /: use another one in its name")
    if _ENCODED.search(folded):
        raise InvalidInput(f"Path {shown(path)} has an encoded character such as %2e: write the character itself")
