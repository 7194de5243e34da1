"""Verdict: what the rules say about a call (allow, refuse, ask for consent), and what is owed before a turn ends."""

from __future__ import annotations

from dataclasses import dataclass

from germane.rules.tool_rule import ConsentOf, ToolRule

__all__ = ["Allow", "AskConsent", "Owed", "Refuse", "Verdict"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Allow:
    """The call may be made. `unpaid` is what the turn owes and can't be paid any more, where this call ends the turn."""

    unpaid: tuple[Owed, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Refuse:
    """The call may not be made. `reason` says why and what to do, in words for the model; `rule` is None where the turn has
    ended."""

    reason: str
    rule: ToolRule | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AskConsent:
    """The call may be made once `of` (`partner` or `human`) consents: `ToolRules.approve` tells the rules."""

    of: ConsentOf
    reason: str
    rule: ToolRule


@dataclass(frozen=True, slots=True, kw_only=True)
class Owed:
    """A tool that the rules demand before the turn ends. `obstacle` says why it can't be called any more in this turn; it is
    empty where it can, and only then the turn may not end."""

    tool: str
    reason: str
    rule: ToolRule
    obstacle: str = ""

    @property
    def possible(self) -> bool:
        return not self.obstacle


Verdict = Allow | Refuse | AskConsent
