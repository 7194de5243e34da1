"""Directive: the plan that sets the standing instructions, which are written into every prompt unchanged."""

from __future__ import annotations

from germane.memories.checks import words
from germane.memories.operations import SetDirective
from germane.types.plan import Decision, Plan

__all__ = ["set_directive"]


def set_directive(text: str) -> Plan[str]:
    """Replaces the directive; a blank `text` removes it. The outcome is the new directive, '' for none. Raises
    `InvalidInput`."""
    yield from ()
    text = words("directive", text, empty=True)
    text = text if text.strip() else ""
    return Decision((SetDirective(text),), text)
