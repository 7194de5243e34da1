"""Catalog: finds a model's profile by its name, in any of the spellings in use (BUD-1)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from functools import cache
from importlib.resources import files
from typing import Any

from germane.catalog.profile import Profile
from germane.errors import InvalidInput
from germane.types.limits import shown
from germane.types.model_names import ModelNames, spelling

__all__ = ["Catalog"]

_FIELDS = tuple(field.name for field in fields(Profile) if field.name not in ("name", "known"))
_CLOUD = re.compile(r"(?:^|[./])anthropic\.|@|(?:^|/)(?:bedrock|vertex_ai|vertex)/")
"""What tells a model's name on Bedrock or Google Cloud, whose APIs refuse system messages in the middle."""


class Catalog:
    """Profiles by name. Immutable: `with_models` returns a new catalog."""

    __slots__ = ("_profiles",)

    def __init__(self, profiles: Mapping[str, Profile] | ModelNames[Profile]) -> None:
        """`profiles` maps names and aliases, in any spelling."""
        self._profiles = profiles if isinstance(profiles, ModelNames) else ModelNames(profiles)

    @classmethod
    def built_in(cls) -> Catalog:
        """Returns the catalog of `models.toml`."""
        return _built_in()

    def find(self, model: str, *, like: str | None = None, window: int | None = None) -> Profile:
        """Returns the profile of `model`, else of its family, else a cautious one with `known=False`.

        `like` names a listed model whose profile is used instead, `window` replaces the window (tokens). A model with either is
        known: its caller described it. Raises `InvalidInput` where the catalog doesn't list `like`.
        """
        profile = self._profiles.find(model) if like is None else self._like(like)
        if profile is None:
            profile = Profile(name=model, provider="openai", known=False)
        if profile.mid_system and profile.name != model and _CLOUD.search(model.lower()):
            profile = replace(profile, mid_system=False)
        return profile if window is None else replace(profile, window=window, known=True)

    def with_models(self, models: Mapping[str, Mapping[str, Any] | Profile]) -> Catalog:
        """Returns a catalog with `models` added or replaced. Omitted fields are copied from the model that `like` names (one of
        the catalog, or an earlier one of `models`), by default from the one that the name matches so far. Raises `InvalidInput`
        naming the model and the field."""
        added: dict[str, Profile] = {}
        for name, given in models.items():
            known = Catalog(self._profiles.adding(added))
            added[name] = given if isinstance(given, Profile) else known._made(name, given)
        return Catalog(self._profiles.adding(added))

    def _like(self, model: str) -> Profile:
        """Returns the profile of a listed model or family. Raises `InvalidInput` with the names that look like it."""
        if profile := self._profiles.find(model):
            return profile
        near = ", ".join(self._profiles.near(model))
        instead = f"did you mean {near}?" if near else "give one that docs/use/models.md lists, such as gpt-4o"
        raise InvalidInput(f"like must name a model of the catalog, not {shown(model)}: {instead}")

    def _made(self, name: str, given: Mapping[str, Any]) -> Profile:
        if not isinstance(given, Mapping):
            raise InvalidInput(f"model {name!r}: give a table of {', '.join(_FIELDS)}, not {type(given).__name__}")
        if not spelling(name):
            raise InvalidInput(f"model {name!r}: the name must hold a letter or a digit")
        like = given.get("like")
        if not isinstance(like, str | None):
            raise InvalidInput(f"model {name!r}: like must be a model's name, not {type(like).__name__}")
        changes = {field: value for field, value in given.items() if field != "like"}
        for field in changes:
            if field not in _FIELDS:
                raise InvalidInput(f"model {name!r}: unknown field {field!r}; use {', '.join((*_FIELDS, 'like'))}")
        try:
            base = self.find(name, like=like)
        except InvalidInput as error:
            raise InvalidInput(f"model {name!r}: {error}") from error
        return replace(base, name=name, known=True, **changes)

    def __len__(self) -> int:
        return len(self._profiles)

    def __iter__(self) -> Iterator[Profile]:
        """Yields each profile once, sorted by name."""
        return iter(sorted(set(self._profiles.values()), key=lambda profile: profile.name))

    def __repr__(self) -> str:
        return f"<Catalog {len(self)} names>"


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
