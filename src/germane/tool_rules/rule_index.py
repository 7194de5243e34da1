"""Rule index: a set of tool rules arranged by tool, and whether a tool can still be called in this turn.

Exact repetitions of a rule are dropped. If a tool can't be called, `obstacle` names what stands in its way.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from math import ceil
from typing import get_args

from germane.errors import InvalidInput
from germane.tool_rules.turn_state import TurnState
from germane.tool_rules.value import (
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
from germane.tool_rules.wording import quoted
from germane.types.checks import check_size
from germane.types.limits import Limit

_RULES_LIMIT = Limit(
    maximum=500, unit="rules", of="the rules of one agent", why="the prompt lists each, and each call is checked"
)


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
        raise InvalidInput(f"must be a list of tool rules, not {type(rules).__name__}", path="rules")
    found = list(islice(rules, _RULES_LIMIT.maximum + 1))
    check_size("rules", len(found), _RULES_LIMIT, at_least=True)
    for place, rule in enumerate(found):
        if not isinstance(rule, get_args(ToolRule)):
            raise InvalidInput(
                f"must be a tool rule such as StartWith(tool='search'), not {type(rule).__name__}", path=f"rules[{place}]"
            )
    return found


# Whether a tool can be called, by what has to be called before it. Time stands still here: a tool that has to wait some
# seconds can't be called now.


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why a tool can't be called, as a sentence without a full stop, and the rules that say so."""

    reason: str
    rules: tuple[ToolRule, ...] = ()


def obstacle(tool: str, index: RuleIndex, state: TurnState, now: float, *, consent: bool = True) -> Obstacle | None:
    """Returns what makes a call of `tool` impossible for the rest of this turn; None where some sequence of allowed calls ends
    with it. Of a tool that ends the turn it isn't asked what else is owed before. With `consent` False, consents count as
    given."""
    if state.ended_by:
        return Obstacle(f"the turn has ended with {quoted(state.ended_by)}")
    needed = _needed(tool, index, state)
    for each, why in needed.items():
        if found := _own_obstacle(each, index, state, now, consent=consent):
            return Obstacle(found.reason, (*why, *found.rules))
        if each != tool and (ends := index.ends.get(each)):
            return Obstacle(f"{quoted(each)} has to be called before {quoted(tool)}, and ends the turn", (*why, ends))
    for group in index.groups:
        inside = [each for each in group.tools if each in needed]
        if len(inside) > 1:
            both = f"{quoted(inside[0])} and {quoted(inside[1])} would both have to be called, and exclude each other"
            return Obstacle(both, (group, *needed[inside[0]], *needed[inside[1]]))
    return None


def exhausted(tool: str, index: RuleIndex, calls: int) -> Obstacle | None:
    """Returns the limit that so many calls in this turn have reached."""
    rule = index.max_calls.get(tool)
    if rule is None or calls < rule.count:
        return None
    return Obstacle(f"{quoted(tool)} may be called at most {rule.count} times in a turn", (rule,))


def cooling(tool: str, index: RuleIndex, state: TurnState, now: float) -> Obstacle | None:
    """Returns the cooldown that the newest call of `tool` began and that isn't over."""
    for rule in index.cooldowns.get(tool, ()):
        if tool in state.turns and (wait := _wait(rule, state, now)):
            return Obstacle(f"{quoted(tool)} was called a short while ago: wait {wait}", (rule,))
    return None


def excluded(tool: str, index: RuleIndex, called: TurnState) -> Obstacle | None:
    """Returns the group of which another tool was called in this turn."""
    for group in index.groups:
        if tool in group.tools and (
            other := next((each for each in group.tools if each in called.counts and each != tool), "")
        ):
            return Obstacle(f"{quoted(other)} was called in this turn, which excludes {quoted(tool)}", (group,))
    return None


def _own_obstacle(tool: str, index: RuleIndex, state: TurnState, now: float, *, consent: bool) -> Obstacle | None:
    found = (
        exhausted(tool, index, state.counts.get(tool, 0)) or cooling(tool, index, state, now) or excluded(tool, index, state)
    )
    if found is None and consent and (rule := index.consent.get(tool)) and all(each.tool != tool for each in state.approved):
        return Obstacle(f"{quoted(tool)} waits for the consent of the {rule.of}", (rule,))
    return found


def _needed(tool: str, index: RuleIndex, state: TurnState) -> dict[str, tuple[ToolRule, ...]]:
    """Returns `tool` and all that has to be called before it and wasn't, each with the rule that demands it."""
    needed: dict[str, tuple[ToolRule, ...]] = {tool: ()}
    start = index.start
    if start is not None and start.tool not in state.counts and start.tool != tool:
        needed[start.tool] = (start,)
    waiting = list(needed)
    while waiting:
        for rule in index.priors.get(waiting.pop(), ()):
            if rule.prior not in state.counts and rule.prior not in needed:
                needed[rule.prior] = (rule,)
                waiting.append(rule.prior)
    return needed


def _wait(rule: ToolCooldown, state: TurnState, now: float) -> str:
    if rule.turns is not None:
        turns = rule.turns - (state.turn - state.turns[rule.tool])
        return "" if turns <= 0 else "until the next turn" if turns == 1 else f"{turns} turns"
    left = (rule.seconds or 0.0) - (now - state.times[rule.tool])
    return f"{ceil(left)} seconds" if left > 0 else ""
