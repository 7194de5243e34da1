"""Catalog: finds a model's profile by its name, in any of the spellings in use (BUD-1).

Names come with dates, vendors, regions and tags: `openai/gpt-4o-2024-08-06`, `us.anthropic.claude-sonnet-4-5-20250929-v1:0`,
`models/gemini-2.5-pro`, `meta-llama/Llama-3.1-8B-Instruct:free`. A name is brought to one spelling, and the longest listed name
that it begins with, up to a separator, is the match. A listed name that holds a version doesn't match when a small number
follows: `claude-opus-4-9` isn't a dated `claude-opus-4` but an unlisted version, so it gets the cautious entry of its family
(`claude`), or is unknown where there is none.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import cache
from importlib.resources import files
from typing import Any

from germane.catalog.profile import Profile
from germane.errors import InvalidInput

__all__ = ["Catalog"]

_FIELDS = tuple(field.name for field in fields(Profile) if field.name not in ("name", "known"))
_VENDOR = re.compile(r"[a-z][a-z_-]*+[.:](?=.)")
_LETTERS = re.compile(r"[a-z]+")
_NUMBERED = re.compile(r"\d")
_LATER_VERSION = re.compile(r"\d{1,2}")
_CLOUD = re.compile(r"(?:^|[./])anthropic\.|@|(?:^|/)(?:bedrock|vertex_ai|vertex)/")
"""What tells a model's name on Bedrock or Google Cloud, whose APIs refuse system messages in the middle."""
_MAX_NAME_CHARS = 256
"""Characters of a model's name: a longer one is unknown."""


class Catalog:
    """Profiles by name. Immutable: `with_models` returns a new catalog."""

    __slots__ = ("_max_parts", "_profiles")

    def __init__(self, profiles: Mapping[str, Profile]) -> None:
        """`profiles` maps names and aliases, in any spelling."""
        self._profiles = {_spelling(name): profile for name, profile in profiles.items()}
        self._max_parts = max((name.count("-") + 1 for name in self._profiles), default=0)

    @classmethod
    def built_in(cls) -> Catalog:
        """Returns the catalog of `models.toml`."""
        return _built_in()

    def find(self, model: str) -> Profile:
        """Returns the profile of `model`, else of its family, else a cautious one with `known=False`."""
        found = ""
        if len(model) <= _MAX_NAME_CHARS:
            parts, starts = _parts(model)
            for start in starts:
                name = self._longest(parts, start)
                if len(name) > len(found):
                    found = name
        if found:
            profile = self._profiles[found]
            if profile.mid_system and profile.name != model and _CLOUD.search(model.lower()):
                return replace(profile, mid_system=False)
            return profile
        return Profile(name=model, provider="openai", known=False)

    def with_models(self, models: Mapping[str, Mapping[str, Any] | Profile]) -> Catalog:
        """Returns a catalog with `models` added or replaced. Omitted fields are copied from the model that `like` names, by
        default from the one that the name matches so far. Raises `InvalidInput` naming the model and the field."""
        added: dict[str, Profile] = dict(self._profiles)
        for name, given in models.items():
            added[_spelling(name)] = given if isinstance(given, Profile) else self._made(name, given)
        return Catalog(added)

    def _made(self, name: str, given: Mapping[str, Any]) -> Profile:
        if not isinstance(given, Mapping):
            raise InvalidInput(f"model {name!r}: give a table of {', '.join(_FIELDS)}, not {type(given).__name__}")
        if not _spelling(name):
            raise InvalidInput(f"model {name!r}: the name must hold a letter or a digit")
        like = given.get("like", name)
        if not isinstance(like, str):
            raise InvalidInput(f"model {name!r}: like must be a model's name, not {type(like).__name__}")
        changes = {field: value for field, value in given.items() if field != "like"}
        for field in changes:
            if field not in _FIELDS:
                raise InvalidInput(f"model {name!r}: unknown field {field!r}; use {', '.join((*_FIELDS, 'like'))}")
        return replace(self.find(like), name=name, known=True, **changes)

    def _longest(self, parts: Sequence[str], start: int) -> str:
        """Returns the longest listed name that begins with the part at index `start`; '' where there is none."""
        for end in range(min(len(parts), start + self._max_parts), start, -1):
            name = "-".join(parts[start:end])
            if name in self._profiles:
                later = end < len(parts) and _LATER_VERSION.fullmatch(parts[end]) is not None
                if not (later and _NUMBERED.search(name)):
                    return name
        return ""

    def __len__(self) -> int:
        return len(self._profiles)

    def __iter__(self) -> Iterator[Profile]:
        """Yields each profile once, sorted by name."""
        return iter(sorted(set(self._profiles.values()), key=lambda profile: profile.name))

    def __repr__(self) -> str:
        return f"<Catalog {len(self)} names>"


def _spelling(name: str) -> str:
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
    return _spelling(rest).split("-"), starts


@cache
def _built_in() -> Catalog:
    """Reads `models.toml`: a table for each family with the fields its models share, and in `models` those that differ."""
    profiles: dict[str, Profile] = {}
    tables = tomllib.loads(files("germane.catalog").joinpath("models.toml").read_text(encoding="utf-8"))
    for family in tables.values():
        shared = {key: value for key, value in family.items() if key != "models"}
        for name, own in family["models"].items():
            aliases = own.pop("aliases", ())
            profile = Profile(name=name, **(shared | own))
            profiles |= dict.fromkeys((name, *aliases), profile)
    return Catalog(profiles)
