"""Prices: what input tokens cost, by model, in US dollars a million tokens.

The figures of `prices.toml` are list prices of one day, without the tiers that some providers have for long inputs. Prices
change: each entry says of which day it is, and the settings' `[prices]` replace any of them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from importlib.resources import files
from typing import Any

from germane.errors import InvalidInput
from germane.types.limits import shown
from germane.types.model_names import ModelNames, spelling

__all__ = ["Price", "Prices"]

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
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _MAX_USD:
                raise InvalidInput(f"{name} must be 0 or more dollars a million tokens, not {shown(value)}")
        if not isinstance(self.dated, str):
            raise InvalidInput(f"dated must be a day such as '2026-11-22', not {shown(self.dated)}")

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


_FIELDS = tuple(field.name for field in fields(Price))


class Prices:
    """Prices by model. Immutable: `with_prices` returns new ones."""

    __slots__ = ("_prices",)

    def __init__(self, prices: Mapping[str, Price] | ModelNames[Price]) -> None:
        """`prices` maps names of models, in any spelling."""
        self._prices = prices if isinstance(prices, ModelNames) else ModelNames(prices)

    @classmethod
    def built_in(cls) -> Prices:
        """Returns the prices of `prices.toml`."""
        return _built_in()

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
            raise InvalidInput(f"price of {name!r}: give a table of {', '.join(_FIELDS)}, not {type(given).__name__}")
        if not spelling(name):
            raise InvalidInput(f"price of {name!r}: the name must hold a letter or a digit")
        for field in given:
            if field not in _FIELDS:
                raise InvalidInput(f"price of {name!r}: unknown field {field!r}; use {', '.join(_FIELDS)}")
        known = self.find(name)
        if known is None and "input" not in given:
            raise InvalidInput(f"price of {name!r}: input is missing: give the dollars a million input tokens")
        try:
            return Price(**given) if known is None else replace(known, **{"dated": "", **given})
        except InvalidInput as error:
            raise InvalidInput(f"price of {name!r}: {error}") from error

    def __len__(self) -> int:
        return len(self._prices)

    def __iter__(self) -> Iterator[Price]:
        return self._prices.values()

    def __repr__(self) -> str:
        return f"<Prices of {len(self)} names>"


@cache
def _built_in() -> Prices:
    """Reads `prices.toml`: a table for each vendor with the day of its prices, and in `models` the figures."""
    tables = tomllib.loads(files("germane.catalog").joinpath("prices.toml").read_text(encoding="utf-8"))
    vendors = ((vendor["dated"], vendor["models"]) for vendor in tables.values())
    return Prices({name: Price(dated=dated, **own) for dated, models in vendors for name, own in models.items()})
