"""Model names: finds what is listed under a model's name, in any of the spellings in use (BUD-1).

Names come with dates, vendors, regions and tags: `openai/gpt-4o-2024-08-06`, `us.anthropic.claude-sonnet-4-5-20250929-v1:0`,
`models/gemini-2.5-pro`, `meta-llama/Llama-3.1-8B-Instruct:free`. A name is brought to one spelling, and the longest listed name
that it begins with, up to a separator, is the match. A listed name that holds a version doesn't match when a small number
follows: `claude-opus-4-9` isn't a dated `claude-opus-4` but an unlisted version, so it gets the entry of its family (`claude`),
or nothing where there is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Generic, TypeVar

T = TypeVar("T")

_VENDOR = re.compile(r"[a-z][a-z_-]*+[.:](?=.)")
_LETTERS = re.compile(r"[a-z]+")
_NUMBERED = re.compile(r"\d")
_LATER_VERSION = re.compile(r"\d{1,2}")
_MAX_NAME_CHARS = 256
"""Characters of a model's name: a longer one is unknown."""
_MAX_COMPARED_CHARS = 40


class ModelNames(Generic[T]):
    """What is listed under each name. Immutable."""

    __slots__ = ("_listed", "_max_parts")

    def __init__(self, listed: Mapping[str, T]) -> None:
        """`listed` maps names and aliases, in any spelling."""
        self._list({spelling(name): entry for name, entry in listed.items()})

    def find(self, model: str) -> T | None:
        """Returns what is listed under the longest name that fits `model`; None where no name does."""
        found = ""
        if len(model) <= _MAX_NAME_CHARS:
            parts, starts = _parts(model)
            for start in starts:
                name = self._longest(parts, start)
                if len(name) > len(found):
                    found = name
        return self._listed[found] if found else None

    def near(self, model: str) -> tuple[str, ...]:
        """Returns at most three listed names that look like `model`, in the one spelling, the most alike first. Comparing takes
        more than linear time, so only the beginning of a long name is compared."""
        return tuple(get_close_matches(spelling(model.rpartition("/")[2][:_MAX_COMPARED_CHARS]), self._listed, n=3, cutoff=0.5))

    def adding(self, more: Mapping[str, T]) -> ModelNames[T]:
        """Returns these names with `more` added or replaced."""
        names = ModelNames(more)
        names._list({**self._listed, **names._listed})
        return names

    def values(self) -> Iterator[T]:
        return iter(self._listed.values())

    def __len__(self) -> int:
        return len(self._listed)

    def _list(self, listed: dict[str, T]) -> None:
        self._listed = listed
        self._max_parts = max((name.count("-") + 1 for name in listed), default=0)

    def _longest(self, parts: Sequence[str], start: int) -> str:
        """Returns the longest listed name that begins with the part at index `start`; '' where there is none."""
        for end in range(min(len(parts), start + self._max_parts), start, -1):
            name = "-".join(parts[start:end])
            if name in self._listed:
                later = end < len(parts) and _LATER_VERSION.fullmatch(parts[end]) is not None
                if not (later and _NUMBERED.search(name)):
                    return name
        return ""


def spelling(name: str) -> str:
    """Returns the name in lower case with `-` as its only separator, also between a letter and a digit: `llama3.1` and
    `llama-3-1` become `llama-3-1`."""
    return re.sub(r"(?<=[a-z])(?=\d)", "-", re.sub(r"[^a-z0-9]+", "-", name.lower())).strip("-")


def _parts(model: str) -> tuple[list[str], list[int]]:
    """Splits the last segment of a path into its parts. Returns them, and the indexes at which the name may begin: at the
    vendors and regions in front of it, and after each of them."""
    rest = model.lower().strip().rstrip("/").rpartition("/")[2]
    starts, end = [0], 0
    while vendor := _VENDOR.match(rest, end):
        end = vendor.end()
        starts.append(starts[-1] + len(_LETTERS.findall(vendor[0])))
    return spelling(rest).split("-"), starts
