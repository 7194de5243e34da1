"""Seconds until an answer is due, as a value or as a text."""

from __future__ import annotations

import re

import pytest

from germane.errors import InvalidInput
from germane.types.checks import check_answer_time, parse_answer_time

pytestmark = pytest.mark.requirement("ENGINE-10")


@pytest.mark.parametrize(("written", "seconds"), [("0.25", 0.25), ("2", 2), ("48.0", 48.0), (" 1e-2 ", 0.01)])
def test_a_text_is_read_as_seconds(written: str, seconds: float) -> None:
    """With a point also those that would look like milliseconds."""
    assert parse_answer_time("--deadline", written) == seconds


@pytest.mark.parametrize("written", ["", "48", "-1", "0", "nan", "inf", "250ms", "3600"])
def test_what_is_no_time_is_refused(written: str) -> None:
    with pytest.raises(InvalidInput, match=r"^--deadline "):
        parse_answer_time("--deadline", written)


@pytest.mark.parametrize(("forever", "said"), [("waits", "or None, which waits, not 0"), ("", "at most 60, not 0")])
def test_none_is_named_only_where_it_may_be_given(forever: str, said: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(said)):
        check_answer_time("limit", 0, forever=forever)
