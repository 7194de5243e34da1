"""The price of images by each rule."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.catalog.media_tokens import image_tokens
from germane.errors import InvalidInput
from germane.types.message import Image
from support.examples import examples

RULES = ("fixed:258", "tiles:85:170", "patches:1.62", "area:750:1600", "grid:258", "unknown")


@pytest.mark.requirement("BUD-4")
@pytest.mark.parametrize(
    ("rule", "width", "height", "tokens"),
    [
        ("tiles:85:170", 1024, 1024, 765),
        ("tiles:85:170", 2048, 4096, 1105),
        ("tiles:85:170", 512, 512, 255),
        ("tiles:85:170", 1, 1, 255),
        ("tiles:2833:5667", 1024, 1024, 25501),
        ("patches:1", 1024, 1024, 1024),
        ("patches:1", 1800, 2400, 1536),
        ("area:750:1600", 200, 200, 54),
        ("area:750:1600", 1092, 1092, 1590),
        ("area:750:1600", 8000, 8000, 1600),
        ("grid:258", 384, 384, 258),
        ("grid:258", 960, 540, 1548),
        ("fixed:1120", 10, 10, 1120),
    ],
)
def test_published_examples(rule: str, width: int, height: int, tokens: int) -> None:
    """The rules give the figures of the providers' own pages."""
    assert image_tokens(rule, Image(width=width, height=height)) == tokens


@pytest.mark.requirement("BUD-4")
def test_low_detail_costs_the_base_alone() -> None:
    """Where the model has tiles, whatever the size."""
    assert image_tokens("tiles:85:170", Image(width=4000, height=4000, detail="low")) == 85
    assert image_tokens("tiles:85:170", Image(detail="low")) == 85


@pytest.mark.requirement("BUD-4")
@pytest.mark.parametrize("rule", RULES)
def test_an_unknown_size_costs_the_most(rule: str) -> None:
    """No known size is dearer than an unknown one, and each costs something."""

    @examples(100)
    @given(st.integers(1, 20_000), st.integers(1, 20_000), st.sampled_from(("auto", "low", "high")))
    def dearest(width: int, height: int, detail: str) -> None:
        assert 0 < image_tokens(rule, Image(width=width, height=height, detail=detail)) <= image_tokens(rule, Image())

    dearest()


@pytest.mark.parametrize("size", [(0, 5), (-1, 5), (None, 5), (5, None)])
def test_a_size_that_is_none_is_unknown(size: tuple[int | None, int | None]) -> None:
    """Zero and negative pixels are no size."""
    assert image_tokens("area:750:1600", Image(width=size[0], height=size[1])) == 1600


@pytest.mark.parametrize(
    "rule", ["", "tiles", "tiles:x:y", "squares:4", "tiles:85", "grid:nan", "area:0:9", "fixed:-4", "patches:inf"]
)
def test_a_wrong_rule_is_refused(rule: str) -> None:
    """The message names it and shows right ones."""
    with pytest.raises(InvalidInput, match="image rule"):
        image_tokens(rule, Image(width=9, height=9))
