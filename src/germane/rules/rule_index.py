"""Rule index: a set of tool rules arranged by tool, for look-ups, after exact repetitions are dropped."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import get_args

from germane.errors import InvalidInput
from germane.rules.tool_rule import (
    AllowedOperations,
    ContinuesTurn,
    EndsTurn,
    ExclusiveGroup,
    FollowedBy,
    MaxCalls,
    Periodic,
    RequiredBeforeExit,
    RequiresConsent,
    RequiresPrior,
    StartWith,
    ToolCooldown,
    ToolRule,
)
from germane.types.limits import Limit, within

__all__ = ["RuleIndex"]

_RULES = Limit(maximum=500, unit="rules", of="the rules of one agent", why="the prompt lists each, and each call is checked")


@dataclass(slots=True)
class RuleIndex:
    """The rules by the tool that they restrict. Where a tool may have one rule of a kind, the first is kept;
    `contradictions.py` refuses a second that differs."""

    rules: tuple[ToolRule, ...]
    start: StartWith | None = None
    ends: dict[str, EndsTurn] = field(default_factory=dict)
    continues: dict[str, ContinuesTurn] = field(default_factory=dict)
    max_calls: dict[str, MaxCalls] = field(default_factory=dict)
    priors: dict[str, list[RequiresPrior]] = field(default_factory=dict)
    followed: list[FollowedBy] = field(default_factory=list)
    required: dict[str, RequiredBeforeExit] = field(default_factory=dict)
    cooldowns: dict[str, list[ToolCooldown]] = field(default_factory=dict)
    groups: list[ExclusiveGroup] = field(default_factory=list)
    periodic: dict[str, Periodic] = field(default_factory=dict)
    consent: dict[str, RequiresConsent] = field(default_factory=dict)
    operations: dict[str, list[AllowedOperations]] = field(default_factory=dict)
    tools: tuple[str, ...] = ()
    """Every tool that a rule names, sorted."""
    named: frozenset[str] = frozenset()

    @classmethod
    def of(cls, rules: Iterable[ToolRule]) -> RuleIndex:
        """Arranges the rules. Raises `InvalidInput` for anything but a bounded list of rules."""
        found = tuple(dict.fromkeys(_checked(rules)))
        named = frozenset(tool for rule in found for tool in rule.tools_named)
        index = cls(found, tools=tuple(sorted(named)), named=named)
        for rule in found:
            index._add(rule)
        return index

    def _add(self, rule: ToolRule) -> None:
        match rule:
            case StartWith():
                self.start = self.start or rule
            case EndsTurn(tool=tool):
                self.ends[tool] = rule
            case ContinuesTurn(tool=tool):
                self.continues[tool] = rule
            case MaxCalls(tool=tool):
                self.max_calls.setdefault(tool, rule)
            case RequiresPrior(tool=tool):
                self.priors.setdefault(tool, []).append(rule)
            case FollowedBy():
                self.followed.append(rule)
            case RequiredBeforeExit(tool=tool):
                self.required[tool] = rule
            case ToolCooldown(tool=tool):
                self.cooldowns.setdefault(tool, []).append(rule)
            case ExclusiveGroup():
                self.groups.append(rule)
            case Periodic(tool=tool):
                self.periodic.setdefault(tool, rule)
            case RequiresConsent(tool=tool):
                self.consent.setdefault(tool, rule)
            case AllowedOperations(tool=tool):
                self.operations.setdefault(tool, []).append(rule)


def _checked(rules: object) -> list[ToolRule]:
    if isinstance(rules, str | bytes) or not isinstance(rules, Iterable):
        raise InvalidInput(f"rules must be a list of tool rules, not {type(rules).__name__}")
    found = list(islice(rules, _RULES.maximum + 1))
    within("rules", len(found), _RULES, at_least=True)
    for place, rule in enumerate(found):
        if not isinstance(rule, get_args(ToolRule)):
            raise InvalidInput(
                f"rules[{place}] must be a tool rule such as StartWith(tool='search'), not {type(rule).__name__}"
            )
    return found
