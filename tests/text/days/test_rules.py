"""The rules that find days: what each needs, and what it must not do to a hostile text."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st

from germane.text.days import times
from germane.text.days.feasts import FEASTS
from germane.text.days.vocabulary import unaccented
from support.examples import examples
from support.fitting import fitting

RULES = [*times._AS_WRITTEN, *times._WITHOUT_ACCENTS, *FEASTS]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule[0].pattern[:40])
@examples(20, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(st.data())
def test_whatever_names_days_holds_what_its_rule_needs(rule: Any, data: st.DataObject) -> None:
    pattern, _, needs = rule
    text = data.draw(fitting(pattern))
    if rule not in times._AS_WRITTEN:
        text = unaccented(text)
        assume(pattern.search(text))
    words = times._words(text)
    assert not any(map(words.isdisjoint, needs))


@given(st.text(max_size=40))
@examples(200)
def test_a_bare_text_is_as_long_as_the_text(text: str) -> None:
    """Places in the one are places in the other."""
    assert len(unaccented(text)) == len(text)


@pytest.mark.parametrize("run", ["before ", "a", " ", "1", "前", "the day before the day before ", "segunda-", "昨日の", "12."])
def test_long_runs_are_read_in_linear_time(run: str) -> None:
    """A pattern that backtracks wouldn't end within the test's patience."""
    times.times(run * (40_000 // len(run)), date(2026, 6, 17))
