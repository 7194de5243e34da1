"""Directive: the standing instructions of an agent and of one of its users, and the plan that sets them."""

from __future__ import annotations

from typing import NamedTuple

from germane.memories.checks import words
from germane.memories.operations import SetDirective
from germane.types.plan import Decision, Plan

__all__ = ["Directive", "set_directive"]


class Directive(NamedTuple):
    """What a scope's directive is made of; '' where there is none. A user's own one replaces the agent's."""

    agent: str = ""
    """The agent-wide text, which holds for every user without an own one."""
    own: str = ""
    """The text of the scope's user."""

    @property
    def text(self) -> str:
        """The text that is written into the prompt."""
        return self.own or self.agent


def set_directive(text: str) -> Plan[str]:
    """Replaces the directive; a blank `text` removes it. The outcome is the new directive, '' for none. Raises
    `InvalidInput`."""
    yield from ()
    text = words("directive", text, empty=True)
    text = text if text.strip() else ""
    return Decision((SetDirective(text),), text)
