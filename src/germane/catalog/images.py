"""Images: the price of an image in tokens, by the model's own rule. An image of unknown size costs the rule's maximum.

A rule is its name followed by its figures; sizes are in pixels:

    fixed:N            every image costs N
    tiles:B:T[:M]      fit into 2048², shortest side to at most 768, then B + T per started tile of 512², at most M tiles (8);
                       with low detail B alone
    patches:F[:M]      F × the started patches of 32², at most M patches (1,536)
    area:P:M           one token for every P pixels of area, at most M
    grid:N             N when both sides are at most 384; else N for each tile of min(side)/1.5 (256 to 768), within 3072²
    unknown            4,784, the highest price of any rule in use

Sources: the providers' documentation of vision and token counting.
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
    """Returns the tokens that `image` costs under `rule`. Raises `InvalidInput` for an unknown rule or a figure that isn't a
    positive number."""
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
    base, tile, max_tiles = figures[0], figures[1], figures[2] if len(figures) > 2 else 8.0
    if low:
        return ceil(base)
    if width is None or height is None:
        return ceil(base + tile * max_tiles)
    shrink = min(1.0, 2048 / max(width, height))
    shrink *= min(1.0, 768 / (min(width, height) * shrink))
    return ceil(base + tile * min(max_tiles, _across(width * shrink, 512) * _across(height * shrink, 512)))


def _patches(figures: list[float], width: int | None, height: int | None, low: bool) -> int:
    factor, max_patches = figures[0], figures[1] if len(figures) > 1 else 1536.0
    if width is None or height is None:
        return ceil(factor * max_patches)
    return ceil(factor * min(max_patches, _across(width, 32) * _across(height, 32)))


def _area(figures: list[float], width: int | None, height: int | None, low: bool) -> int:
    pixels, max_tokens = figures[0], figures[1]
    return ceil(max_tokens if width is None or height is None else min(max_tokens, width * height / pixels))


def _grid(figures: list[float], width: int | None, height: int | None, low: bool) -> int:
    if width is None or height is None:
        return ceil(figures[0] * 24)  # the maximum: a narrow strip of 2 by 12 tiles
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
