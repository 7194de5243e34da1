"""Fault: one reason for which a provider's API would refuse a request, under a rule's name that stays the same."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Fault"]


@dataclass(frozen=True, slots=True)
class Fault:
    """`rule` is a name such as `result-without-call`. `index` is that of the message (turn, item); None where the fault is the
    whole request's. `text` is a sentence for a person; it names the message."""

    rule: str
    index: int | None
    text: str
