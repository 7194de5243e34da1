"""Catalog: models by name, however the name is written (BUD-1).

Names come with dates, vendors, regions and tags: `openai/gpt-4o-2024-08-06`, `us.anthropic.claude-sonnet-4-5-20250929-v1:0`,
`models/gemini-2.5-pro`, `meta-llama/Llama-3.1-8B-Instruct:free`. They are brought to one spelling, and the longest catalogued
name that ends at a separator is taken. A name that holds a version isn't taken when a small bare number follows:
`claude-opus-4-9` is not a dated `claude-opus-4` but a version nobody listed, so it gets its family's cautious entry (`claude`),
or is unknown where there is none.
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
_LONGEST = 256
"""Characters of a model's name: no longer one is known."""


class Catalog:
    """Immutable: `with_models` answers another one."""

    __slots__ = ("_most", "_profiles")

    def __init__(self, profiles: Mapping[str, Profile]) -> None:
        """`profiles` by name or alias, in any spelling."""
        self._profiles = {_spelling(name): profile for name, profile in profiles.items()}
        self._most = max((name.count("-") + 1 for name in self._profiles), default=0)

    @classmethod
    def built_in(cls) -> Catalog:
        """The models germane knows by itself."""
        return _built_in()

    def find(self, model: str) -> Profile:
        """The profile of `model` or its family; one with `known=False` for a model of which nothing is known."""
        found = ""
        if len(model) <= _LONGEST:
            parts, starts = _parts(model)
            for start in starts:
                name = self._longest(parts, start)
                if len(name) > len(found):
                    found = name
        if found:
            return self._profiles[found]
        return Profile(name=model, provider="openai", known=False)

    def with_models(self, models: Mapping[str, Mapping[str, Any] | Profile]) -> Catalog:
        """A catalog with `models` added. Fields that are left out are those of the model the name resolves to so far, or of
        the one named by `like`. Raises `InvalidInput` naming the model and the field."""
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
        """The longest catalogued name that begins with the part at `start`; empty where there is none."""
        for end in range(min(len(parts), start + self._most), start, -1):
            name = "-".join(parts[start:end])
            if name in self._profiles:
                later = end < len(parts) and _LATER_VERSION.fullmatch(parts[end]) is not None
                if not (later and _NUMBERED.search(name)):
                    return name
        return ""

    def __len__(self) -> int:
        return len(self._profiles)

    def __iter__(self) -> Iterator[Profile]:
        """Each profile once, by name."""
        return iter(sorted(set(self._profiles.values()), key=lambda profile: profile.name))

    def __repr__(self) -> str:
        return f"<Catalog {len(self)} names>"


def _spelling(name: str) -> str:
    """Lower case, one kind of separator, one also where a letter is followed by a digit (`llama3.1`, `llama-3-1`)."""
    return re.sub(r"(?<=[a-z])(?=\d)", "-", re.sub(r"[^a-z0-9]+", "-", name.lower())).strip("-")


def _parts(model: str) -> tuple[list[str], list[int]]:
    """The last part of a path, spelled and taken apart, and where in it the name may begin: with the vendors and regions in
    front of it, and behind each of them."""
    rest = model.lower().strip().rstrip("/").rpartition("/")[2]
    starts, at = [0], 0
    while vendor := _VENDOR.match(rest, at):
        at = vendor.end()
        starts.append(starts[-1] + len(_LETTERS.findall(vendor[0])))
    return _spelling(rest).split("-"), starts


@cache
def _built_in() -> Catalog:
    """`models.toml`: a table a family with what its models share, and its models in `models`, each with what differs."""
    profiles: dict[str, Profile] = {}
    tables = tomllib.loads(files("germane.catalog").joinpath("models.toml").read_text(encoding="utf-8"))
    for family in tables.values():
        shared = {key: value for key, value in family.items() if key != "models"}
        for name, own in family["models"].items():
            aliases = own.pop("aliases", ())
            profile = Profile(name=name, **(shared | own))
            profiles |= dict.fromkeys((name, *aliases), profile)
    return Catalog(profiles)
