"""Directive: the operator's standing instructions, written into every prompt as they are."""

from __future__ import annotations

from germane.memories.checks import words
from germane.memories.operations import SetDirective
from germane.types.plan import Decision, Plan

__all__ = ["set_directive"]


def set_directive(text: str) -> Plan[str]:
    """Replaces what stood before; blank removes it. The outcome is what stands now. Raises `InvalidInput`."""
    yield from ()
    text = words("directive", text, empty=True)
    text = text if text.strip() else ""
    return Decision((SetDirective(text),), text)
