"""Turns are found again by hashes of what was said, and only those that may have a record are hashed."""

from __future__ import annotations

import pytest

from germane.engine.turns import human_turns
from germane.kinds.injections import MAX_RECORDS
from germane.types.message import Message


@pytest.mark.requirement("INJECT-6")
def test_turns_that_are_too_old_for_a_record_are_not_hashed() -> None:
    """The last 512 of ten thousand; their hashes are those they had when they were new."""
    talk = [Message.of("user" if index % 2 == 0 else "assistant", f"said {index}") for index in range(10_001)]
    turns = human_turns(talk, b"key")
    assert len(turns) == MAX_RECORDS
    assert turns[-1].index == 10_000
    assert human_turns(talk[:9_999], b"key")[-1].key == turns[-2].key
