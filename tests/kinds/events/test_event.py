"""Event: a value that programs hash, copy, pickle and write as JSON."""

from __future__ import annotations

import copy
import json
import pickle

from germane.kinds.events.value import Event
from support.small_talk import BEGAN


def test_an_event_is_a_value() -> None:
    """With a caller's dict and without; events of different ids are different keys."""
    plain = Event(id="e1", type="note", user=None, session="s", position=0, text="x", created_at=BEGAN, recorded_at=BEGAN)
    given = plain._replace(id="e2", raw={"role": "user", "content": ["x"]})
    assert len({plain, given, plain._replace(text="y", id="e1")}) == 3  # equal ids, and not equal
    for event in (plain, given):
        assert copy.deepcopy(event) == pickle.loads(pickle.dumps(event)) == event
        assert hash(copy.deepcopy(event)) == hash(event)
        assert json.loads(json.dumps(event.raw)) == event.raw
