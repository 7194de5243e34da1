"""Use: when a key was last used, to the hour: enough to find the ones that nobody needs, and hardly ever a write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from germane.access.operations import ChangeKey, KeyById
from germane.types.plan import Change, Decision, Plan, read

__all__ = ["COARSE", "due", "used"]

COARSE = timedelta(hours=1)


def due(last: datetime | None, at: datetime) -> bool:
    """Whether a use at `at` is worth writing down after one at `last`."""
    return last is None or at - last >= COARSE


def used(uses: Mapping[str, datetime]) -> Plan[int]:
    """The moments at which keys were used, by id. Another process may have been first within the hour: the outcome is how many
    were written."""
    changes: list[Change] = []
    for id, at in uses.items():
        key = yield from read(KeyById(id))
        if key is not None and due(key.last_used_at, at):
            changes.append(ChangeKey(replace(key, last_used_at=at)))
    return Decision(tuple(changes), len(changes))
