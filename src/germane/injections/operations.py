"""Injection operations: the change and the plan that keep what was injected, which every store must support."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from germane.injections.injection import Injection
from germane.types.plan import Change, Decision, Plan, TextOf

__all__ = ["MAX_AGE_DAYS", "MAX_BOUND_RECORDS", "MAX_CHARACTERS", "MAX_RECORDS", "PutInjection", "keep_injections"]

MAX_RECORDS = 512
"""Records of one session; the oldest go first."""
MAX_BOUND_RECORDS = 2048
"""Likewise for a model that binds its thinking (INJECT-10), as there each text that goes is a refused request."""
MAX_CHARACTERS = 524_288
"""Bytes of all texts of one session, likewise."""
MAX_AGE_DAYS = 30
"""Days after which a record is removed, when its scope's next record is written."""


@dataclass(frozen=True, slots=True)
class PutInjection(Change):
    """Keeps the record for this session of the scope's own user. Nothing is written where one of its items was forgotten
    meanwhile, or changed where the record has no `prefix`. Of two records with the same key the first stays, unless it was
    withdrawn or the new one `replaces` it. Doesn't raise the content's revision."""

    text_of: ClassVar[TextOf] = "its_owner"
    session: str
    injection: Injection
    replaces: bool = False


def keep_injections(changes: Sequence[PutInjection]) -> Plan[int]:
    """Keeps these records; the outcome is their number."""
    yield from ()
    return Decision(tuple(changes), len(changes))
