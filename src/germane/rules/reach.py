"""Reach: whether a tool can still be called in this turn, by what has to be called before it, and else what stands in its way.

Time stands still here: a tool that has to wait some seconds can't be called now.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from germane.rules.rule_index import RuleIndex
from germane.rules.tool_rule import ToolCooldown, ToolRule
from germane.rules.turn_state import TurnState
from germane.rules.wording import quoted

__all__ = ["Obstacle", "cooling", "excluded", "exhausted", "obstacle"]


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
