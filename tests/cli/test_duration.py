"""Durations: 30m, 24h, 90d and their combinations are parsed; other texts are rejected."""

from __future__ import annotations

from datetime import timedelta

import pytest

from germane.cli.options import duration
from germane.errors import InvalidInput


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("45s", timedelta(seconds=45)),
        ("30m", timedelta(minutes=30)),
        ("24h", timedelta(hours=24)),
        ("90d", timedelta(days=90)),
        ("2w", timedelta(weeks=2)),
        ("1d12h", timedelta(days=1, hours=12)),
        (" 90D ", timedelta(days=90)),
        ("0h", timedelta(0)),
    ],
)
def test_a_number_with_a_unit_is_a_duration(text: str, meant: timedelta) -> None:
    """Several units add up; case and blanks around don't matter."""
    assert duration(text, "--expires") == meant


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("90", "a number needs a unit"),
        ("", "units are"),
        ("h", "units are"),
        ("-1h", "units are"),
        ("1.5h", "units are"),
        ("1h 30m", "units are"),
        ("1h1h", "units are"),
        ("3 months", "units are"),
        ("99999999999d", "units are"),
        ("999999999w", "too long"),
    ],
)
def test_anything_else_is_refused_with_an_example(text: str, said: str) -> None:
    """The error names the option, the text and the units."""
    with pytest.raises(InvalidInput, match=said) as told:
        duration(text, "--overlap")
    assert "--overlap" in str(told.value)
    assert "90d" in str(told.value)
