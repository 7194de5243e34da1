"""Profiles: the facts about a model that fit a context into it, and its prices, found by its name (BUD-1)."""

from __future__ import annotations

import logging
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import cache
from importlib.resources import files
from typing import Any

from germane.catalog.media_tokens import MEDIA, figures, image_tokens
from germane.errors import InvalidInput
from germane.types.checks import check_number, check_type
from germane.types.message import Image
from germane.types.model_names import ModelNames, spelling

_MINIMA = {"window": 1, "max_output": 0, "per_message": 0, "per_request": 0, "per_tool": 0, "per_tools": 0}
_PROVIDERS = ("openai", "openai-responses", "anthropic", "gemini")


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Sizes are in tokens. `tokenizer` is a name for `open_tokenizer`; `images` is a rule of `images.py`; `safety` is the
    fraction of the window that is left free.

    `known` is false for a model that the catalog doesn't list: it has a window of 8,192 and the widest safety fraction.
    Raises `InvalidInput` naming the field that can't be used.
    """

    name: str
    provider: str
    """The dialect of its API: openai, openai-responses, anthropic or gemini."""
    window: int = 8192
    max_output: int = 4096
    tokenizer: str = "unknown"
    per_message: int = 4
    """Overhead of each message: role and separators."""
    per_request: int = 3
    per_tool: int = 8
    """Overhead of each tool, beside its JSON."""
    per_tools: int = 16
    """Overhead of a request that has tools."""
    images: str = "unknown"
    media: str = "page:1200 pdf:2400 audio:2000 video:17000"
    """What files cost, by `figures.py`."""
    own_tools: str = "web_search:600 computer:1200 *:400"
    """What the provider adds to the prompt for its own tools, by the beginning of their type."""
    safety: float = 0.10
    mid_system: bool = False
    """Whether an API that has its system prompt apart takes system messages in the middle of the conversation too."""
    preserved_thinking: bool = False
    """Whether the API refuses a block of thinking where anything before it differs from what was sent when it was made."""
    known: bool = True

    def __post_init__(self) -> None:
        for field in fields(self):
            value, kind = getattr(self, field.name), field.type
            if kind == "float" and isinstance(value, int) and not isinstance(value, bool):
                object.__setattr__(self, field.name, float(value))
            elif type(value).__name__ != kind:
                self._refuse(field.name, f"must be of type {kind}, not {type(value).__name__}")
        for name, minimum in _MINIMA.items():
            if getattr(self, name) < minimum:
                self._refuse(name, f"must be {minimum} or more, not {getattr(self, name)}")
        if self.provider not in _PROVIDERS:
            self._refuse("provider", f"must be one of {', '.join(_PROVIDERS)}, not {self.provider!r}")
        if not 0 <= self.safety < 1:
            self._refuse("safety", f"must be a fraction from 0 to below 1, not {self.safety}")
        try:
            image_tokens(self.images, Image())
        except InvalidInput as error:
            self._refuse("images", f"is no image rule: {error}", error)
        for name in ("media", "own_tools"):
            try:
                named = figures(getattr(self, name))
            except InvalidInput as error:
                self._refuse(name, f"holds no figures: {error}", error)
            if name == "media" and not named.keys() >= {*MEDIA}:
                self._refuse(name, f"must name {', '.join(MEDIA)}")

    def binds_thinking(self, dialect: str) -> bool:
        """Whether thinking is refused where something before it has changed, in messages of this dialect. A model that the
        catalog doesn't list is taken to do so."""
        return dialect == "anthropic" and (self.preserved_thinking or not self.known)

    def _refuse(self, field: str, why: str, cause: Exception | None = None) -> None:
        raise InvalidInput(f"model {{}}: {field} {why}", self.name) from cause


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
        raise InvalidInput(f"must name a model of the catalog, not {{}}: {instead}", model, path="like")

    def _made(self, name: str, given: Mapping[str, Any]) -> Profile:
        if not isinstance(given, Mapping):
            raise InvalidInput("model {}", name, advice=f"give a table of {', '.join(_FIELDS)}, not {type(given).__name__}")
        if not spelling(name):
            raise InvalidInput("model {}: the name must hold a letter or a digit", name)
        like = given.get("like")
        if not isinstance(like, str | None):
            raise InvalidInput(f"model {{}}: like must be a model's name, not {type(like).__name__}", name)
        changes = {field: value for field, value in given.items() if field != "like"}
        for field in changes:
            if field not in _FIELDS:
                raise InvalidInput(f"model {{}}: unknown field {{}}; use {', '.join((*_FIELDS, 'like'))}", name, field)
        try:
            base = self.find(name, like=like)
        except InvalidInput as error:
            raise error.under("model {}", name) from error
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


# The warning about a model that the catalog doesn't list.


_LOG = logging.getLogger("germane.catalog")
_LOGGED: set[str] = set()
"""The models that this process has logged."""
_MAX_LOGGED = 64


def unknown_model_warning(model: str, window: int) -> str:
    """Returns the sentence for the trace and the metadata. `window` is the one that is assumed (tokens)."""
    return (
        f"the catalog has no model {model!r}: a window of {window} tokens is assumed; "
        f"pass like= or window=, or add it to the settings under [models]"
    )


def log_unknown_model(model: str, window: int) -> None:
    """Logs the warning to `germane.catalog`, once per process and model, for at most 64 models: names come from callers. Never
    raises, whatever the application's log handlers do."""
    if model not in _LOGGED and len(_LOGGED) < _MAX_LOGGED:
        _LOGGED.add(model)
        with suppress(Exception):
            _LOG.warning(
                "germane was asked for a model that it doesn't know (said once): %s", unknown_model_warning(model, window)
            )


# Prices: what input tokens cost, by model, in US dollars a million tokens. The figures of `prices.toml` are list prices
# of one day, without the tiers that some providers have for long inputs. Prices change: each entry says of which day it
# is, and the settings' `[prices]` replace any of them.


_MILLION = 1_000_000
_MAX_USD = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """US dollars a million input tokens. `cached` is for tokens read from the provider's prompt cache and `write` for tokens
    written to it; by default both cost as much as `input`. `dated` is the day of the figures (ISO 8601), '' where unknown.
    Raises `InvalidInput` naming the field that can't be used."""

    input: float
    cached: float | None = None
    write: float | None = None
    dated: str = ""

    def __post_init__(self) -> None:
        for name in ("input", "cached", "write"):
            value = getattr(self, name)
            if value is None and name != "input":
                continue
            check_number(name, value, 0, _MAX_USD, unit="dollars a million tokens")
        check_type("dated", self.dated, str, "a day such as '2026-11-22'")

    def cost(self, tokens: int, cached_tokens: int = 0, written_tokens: int = 0) -> float:
        """Returns the dollars that a request of `tokens` input tokens costs, of which `cached_tokens` were read from the
        provider's prompt cache and `written_tokens` were written to it. Raises `InvalidInput` unless both are parts of
        `tokens`."""
        plain = tokens - cached_tokens - written_tokens
        if min(plain, cached_tokens, written_tokens) < 0:
            raise InvalidInput(f"{cached_tokens} cached and {written_tokens} written tokens are no parts of {tokens}")
        cached = self.input if self.cached is None else self.cached
        write = self.input if self.write is None else self.write
        return (plain * self.input + cached_tokens * cached + written_tokens * write) / _MILLION


_PRICE_FIELDS = tuple(field.name for field in fields(Price))


class Prices:
    """Prices by model. Immutable: `with_prices` returns new ones."""

    __slots__ = ("_prices",)

    def __init__(self, prices: Mapping[str, Price] | ModelNames[Price]) -> None:
        """`prices` maps names of models, in any spelling."""
        self._prices = prices if isinstance(prices, ModelNames) else ModelNames(prices)

    @classmethod
    def built_in(cls) -> Prices:
        """Returns the prices of `prices.toml`."""
        return _built_in_prices()

    def find(self, model: str) -> Price | None:
        """Returns the price of the longest listed name that fits `model`, as the catalog finds profiles; None where no listed
        name fits."""
        return self._prices.find(model)

    def with_prices(self, prices: Mapping[str, Mapping[str, Any]]) -> Prices:
        """Returns prices with `prices` added or replaced; omitted fields are copied from the price that the name has so far.
        Raises `InvalidInput` naming the model and the field."""
        return Prices(self._prices.adding({name: self._made(name, given) for name, given in prices.items()}))

    def _made(self, name: str, given: Mapping[str, Any]) -> Price:
        if not isinstance(given, Mapping):
            raise InvalidInput(
                "price of {}", name, advice=f"give a table of {', '.join(_PRICE_FIELDS)}, not {type(given).__name__}"
            )
        if not spelling(name):
            raise InvalidInput("price of {}: the name must hold a letter or a digit", name)
        for field in given:
            if field not in _PRICE_FIELDS:
                raise InvalidInput(f"price of {{}}: unknown field {{}}; use {', '.join(_PRICE_FIELDS)}", name, field)
        known = self.find(name)
        if known is None and "input" not in given:
            raise InvalidInput("price of {}: input is missing", name, advice="give the dollars a million input tokens")
        try:
            return Price(**given) if known is None else replace(known, **{"dated": "", **given})
        except InvalidInput as error:
            raise error.under("price of {}", name) from error

    def __len__(self) -> int:
        return len(self._prices)

    def __iter__(self) -> Iterator[Price]:
        return self._prices.values()

    def __repr__(self) -> str:
        return f"<Prices of {len(self)} names>"


@cache
def _built_in_prices() -> Prices:
    """Reads `prices.toml`: a table for each vendor with the day of its prices, and in `models` the figures."""
    tables = tomllib.loads(files("germane.catalog").joinpath("prices.toml").read_text(encoding="utf-8"))
    vendors = ((vendor["dated"], vendor["models"]) for vendor in tables.values())
    return Prices({name: Price(dated=dated, **own) for dated, models in vendors for name, own in models.items()})
