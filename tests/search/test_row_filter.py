"""The filters of a query restrict the rows that a search sees."""

from __future__ import annotations

from datetime import timedelta
from math import inf
from typing import Any

import pytest

from germane.search.find import find
from germane.search.partition import Partition, allowed_rows
from germane.search.unit import KIND_CODES, SENSITIVITY_CODES, Unit
from germane.types.query import Filters
from germane_testing.builders import MOMENT
from support.plain_units import Text, asking, unit

NOW = MOMENT.timestamp()


def a_unit(key: int, **fields: Any) -> Unit:
    return unit(Text(key=key, session=key, at=NOW, words=("ash",)), **fields)


def seen(units: list[Unit], allowed: set[int] | None = None, **filters: Any) -> set[int]:
    """Returns the keys that a search for a word of all units finds, after checking that it agrees with the filter itself."""
    partition = Partition(0)
    partition.extend(units)
    query = asking("ash", filters=Filters(**filters))
    may = allowed_rows(partition, len(units), query, NOW, allowed)
    found = find(
        [partition],
        query,
        100,
        keywords=True,
        vector=query.vector,
        speakers={},
        at=NOW,
        stop=lambda: False,
        allowed=allowed,
    )
    keys = {hit.key for hit in found.found}
    assert keys == {int(key) for key in partition.columns["key"][: len(units)][may]}
    return keys


LEVELS = [a_unit(code, sensitivity=code) for code in SENSITIVITY_CODES.values()]


@pytest.mark.requirement("GATHER-5")
@pytest.mark.parametrize(
    ("allowed", "keys"),
    [(("public", "private"), {0, 1}), (("sensitive",), {2}), (("public", "private", "sensitive"), {0, 1, 2}), ((), set())],
)
def test_only_allowed_sensitivities_are_seen(allowed: tuple[str, ...], keys: set[int]) -> None:
    """An empty list allows nothing."""
    assert seen(LEVELS, sensitivities=allowed) == keys


@pytest.mark.requirement("GATHER-5")
def test_public_and_private_are_seen_unless_said_otherwise() -> None:
    assert seen(LEVELS) == {0, 1}


@pytest.mark.requirement("GATHER-6")
def test_what_does_not_hold_at_the_time_asked_about_is_not_seen() -> None:
    """From its beginning, up to but not including its end; with what has ended, all of it."""
    units = [
        a_unit(1, valid_from=NOW, valid_to=inf),
        a_unit(2, valid_from=NOW + 1),
        a_unit(3, valid_to=NOW),
        a_unit(4, valid_to=NOW + 1),
    ]
    assert seen(units) == {1, 4}
    assert seen(units, with_ended=True) == {1, 2, 3, 4}


@pytest.mark.requirement("GATHER-6")
def test_what_was_dropped_is_not_seen_even_with_what_has_ended() -> None:
    partition = Partition(0)
    partition.extend([a_unit(1), a_unit(2)])
    partition.drop([1])
    query = asking("ash", filters=Filters(with_ended=True))
    assert allowed_rows(partition, 2, query, NOW, None).tolist() == [False, True]


@pytest.mark.requirement("GATHER-4")
def test_since_and_until_are_inclusive() -> None:
    units = [a_unit(key, created_at=NOW + key) for key in range(4)]
    since, until = MOMENT + timedelta(seconds=1), MOMENT + timedelta(seconds=2)
    assert seen(units, since=since) == {1, 2, 3}
    assert seen(units, until=until) == {0, 1, 2}
    assert seen(units, since=since, until=until) == {1, 2}


@pytest.mark.requirement("GATHER-4")
def test_kinds_narrow_to_memories_of_these_kinds() -> None:
    """An empty list of kinds and an unknown kind let nothing through."""
    units = [a_unit(0), a_unit(1, kind=KIND_CODES["fact"]), a_unit(2, kind=KIND_CODES["note"])]
    assert seen(units, kinds=("fact",)) == {1}
    assert seen(units, kinds=("fact", "note")) == {1, 2}
    assert seen(units, kinds=("rumour",)) == set()
    assert seen(units, kinds=()) == set()


@pytest.mark.requirement("GATHER-4")
def test_a_set_of_keys_narrows_to_them() -> None:
    """How a store narrows by tag, session or type."""
    units = [a_unit(key) for key in (1, 2, 3)]
    assert seen(units, allowed={2, 9}) == {2}
    assert seen(units, allowed=set()) == set()
