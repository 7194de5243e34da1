"""Examples: the number of cases that a property is tried with, a part of them in `make test` and all in `make soak`."""

from __future__ import annotations

from typing import Any

from hypothesis import settings

__all__ = ["SOAK", "SUITE", "examples", "register", "whole"]

SUITE, SOAK = "suite", "soak"
"""The profiles of hypothesis. `pytest --hypothesis-profile soak` chooses the second; the first is the default."""

_PART = 4
_AT_LEAST = 10


def register() -> None:
    """Registers both profiles and loads `suite`. No example has a deadline: how long it takes depends on the machine."""
    settings.register_profile(SOAK, deadline=None)
    settings.register_profile(SUITE, deadline=None, max_examples=settings.get_profile(SOAK).max_examples // _PART)
    settings.load_profile(SUITE)


def whole() -> bool:
    """Returns whether this is the soak, which tries everything. A test that asks has the mark `soak`."""
    return settings.get_current_profile_name() == SOAK


def examples(number: int, **others: Any) -> settings:
    """Returns the settings of a property that has `number` examples in the soak, and a quarter of them in the suite: at least
    10, if there are so many. `others` are further settings of hypothesis."""
    part = max(number // _PART, min(number, _AT_LEAST))
    return settings(max_examples=number if whole() else part, **others)
