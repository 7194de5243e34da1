"""The search row of one stored thing."""

from __future__ import annotations

from typing import get_args

from germane.kinds.memories.value import KINDS
from germane.search.unit import KIND_CODES, SENSITIVITY_CODES
from germane.types.candidate import Sensitivity


def test_every_kind_and_every_sensitivity_has_a_stored_code() -> None:
    """Search knows no memories: a kind that is added there gets its code here, and those in files keep theirs."""
    assert KIND_CODES.keys() == KINDS.keys() | {"entry", "archival", "hidden", "block"}
    assert sorted(KIND_CODES.values()) == list(range(1, len(KIND_CODES) + 1))
    assert tuple(SENSITIVITY_CODES) == get_args(Sensitivity)
