"""What an image costs, by the model's own rule. Prices are tokens; sizes are pixels; an unknown size costs the rule's maximum.

A rule is written as its name and its figures:

    fixed:N            every image costs N
    tiles:B:T[:M]      fit into 2048², shortest side to at most 768, then B + T per started tile of 512², at most M tiles (8);
                       with low detail B alone
    patches:F[:M]      F × the started patches of 32², at most M patches (1,536)
    area:P:M           one token for every P pixels of area, at most M
    grid:N             N when both sides are at most 384; else N for each tile of min(side)/1.5 (256 to 768), within 3072²
    unknown            the dearest of the plausible: 4,784

Sources: the providers' own pages on vision and token counting.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from math import ceil, isfinite
from types import MappingProxyType

from germane.errors import InvalidInput
from germane.types.message import Image

__all__ = ["price"]

_UNKNOWN = 4784


def price(rule: str, image: Image) -> int:
    """Tokens of `image` under `rule`. Raises `InvalidInput` for a rule that isn't one."""
    width, height = image.width, image.height
    if width is None or height is None or width <= 0 or height <= 0:
        width = height = None
    return _price(rule, width, height, image.detail == "low")


@lru_cache(maxsize=4096)
def _price(rule: str, width: int | None, height: int | None, low: bool) -> int:
    if rule == "unknown":
        return _UNKNOWN
    name, *written = rule.split(":")
    try:
        figures = [float(figure) for figure in written]
        if not all(isfinite(figure) and figure > 0 for figure in figures):
            raise ValueError(rule)
        return _RULES[name](figures, width, height, low)
    except (KeyError, ValueError, IndexError) as error:
        raise InvalidInput(
            f"unknown image rule {rule!r}: write one such as 'tiles:85:170', 'area:750:1600' or 'fixed:258'"
        ) from error


def _fixed(figures: list[float], width: int | None, height: int | None, low: bool) -> int:
    return ceil(figures[0])


def _tiles(figures: list[float], width: int | None, height: int | None, low: bool) -> int:
    base, tile, most = figures[0], figures[1], figures[2] if len(figures) > 2 else 8.0
    if low:
        return ceil(base)
    if width is None or height is None:
        return ceil(base + tile * most)
    shrink = min(1.0, 2048 / max(width, height))
    shrink *= min(1.0, 768 / (min(width, height) * shrink))
    return ceil(base + tile * min(most, _across(width * shrink, 512) * _across(height * shrink, 512)))


def _patches(figures: list[float], width: int | None, height: int | None, low: bool) -> int:
    factor, most = figures[0], figures[1] if len(figures) > 1 else 1536.0
    if width is None or height is None:
        return ceil(factor * most)
    return ceil(factor * min(most, _across(width, 32) * _across(height, 32)))


def _area(figures: list[float], width: int | None, height: int | None, low: bool) -> int:
    pixels, most = figures[0], figures[1]
    return ceil(most if width is None or height is None else min(most, width * height / pixels))


def _grid(figures: list[float], width: int | None, height: int | None, low: bool) -> int:
    if width is None or height is None:
        return ceil(figures[0] * 24)  # the most: a narrow strip, 2 tiles by 12
    if max(width, height) <= 384:
        return ceil(figures[0])
    shrink = min(1.0, 3072 / max(width, height))
    side = min(768.0, max(256.0, min(width, height) * shrink / 1.5))
    return ceil(figures[0] * _across(width * shrink, side) * _across(height * shrink, side))


def _across(length: float, side: float) -> int:
    return max(1, ceil(length / side - 1e-9))


_RULES: Mapping[str, Callable[[list[float], int | None, int | None, bool], int]] = MappingProxyType(
    {"fixed": _fixed, "tiles": _tiles, "patches": _patches, "area": _area, "grid": _grid}
)
