"""Contradictions: finds rules that can't all be kept, before any call is made.

A set without contradictions never locks an agent in: whatever was called, either something that is owed can be called, or
nothing that is owed can be, and then the turn may end (`enforce.py` says so).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from itertools import combinations

from germane.errors import InvalidInput, Phrase
from germane.tool_rules.rule_index import RuleIndex, obstacle
from germane.tool_rules.turn_state import TurnState
from germane.tool_rules.value import MaxCalls, Periodic, RequiresConsent, StartWith, ToolRule
from germane.tool_rules.wording import quoted

_Found = tuple[ToolRule, ToolRule, str]


def refuse_contradictions(index: RuleIndex) -> None:
    """Raises `InvalidInput` that names two rules which can't both be kept, and says why."""
    for checks in (_twice, _pairs, _cycles, _groups, _repeated, _unreachable):
        for first, second, why in checks(index):
            raise InvalidInput(
                "two tool rules contradict each other: {}", Phrase(f"{first} and {second}: {why}"), advice="remove one of them"
            )


def _twice(index: RuleIndex) -> Iterator[_Found]:
    """Two rules of one kind where a tool, or the set, may have one."""
    seen: dict[tuple[str, str], ToolRule] = {}
    for rule in index.rules:
        if isinstance(rule, StartWith | MaxCalls | Periodic | RequiresConsent):
            key = (rule.kind, "" if isinstance(rule, StartWith) else rule.tool)
            if key in seen:
                yield seen[key], rule, "only one of them can hold"
            seen[key] = rule


def _pairs(index: RuleIndex) -> Iterator[_Found]:
    for tool, ends in index.ends.items():
        if tool in index.continues:
            yield ends, index.continues[tool], f"the turn can't both end and go on after {quoted(tool)}"
    for followed in index.followed:
        if followed.tool in index.ends:
            yield index.ends[followed.tool], followed, "nothing can be called after the turn has ended"
    if index.start is not None:
        for cooldown in index.cooldowns.get(index.start.tool, ()):
            if cooldown.turns != 1:
                yield index.start, cooldown, "no tool could be called while the first one has to wait"
    due: dict[str, ToolRule] = {**index.periodic, **index.required}
    for tool, rule in due.items():
        for cooldown in index.cooldowns.get(tool, ()):
            if cooldown.turns is not None and cooldown.turns > (rule.turns if isinstance(rule, Periodic) else 1):
                yield rule, cooldown, f"{quoted(tool)} is due more often than it may be called"
    for (first, one), (second, other) in combinations([(tool, due[tool]) for tool in due if tool in index.ends], 2):
        yield one, other, f"each of {quoted(first)} and {quoted(second)} ends the turn, so that only one can be called in it"


def _cycles(index: RuleIndex) -> Iterator[_Found]:
    before: dict[tuple[str, str], ToolRule] = {
        (rule.tool, rule.prior): rule for rules in index.priors.values() for rule in rules
    }
    yield from _cycle(before, "each has to be called before the other")
    if index.start is not None:
        for prior in index.priors.get(index.start.tool, ()):
            yield index.start, prior, f"{quoted(index.start.tool)} can't be the first"
    after: dict[tuple[str, str], ToolRule] = {(rule.tool, rule.then): rule for rule in index.followed}
    yield from _cycle(after, "they call for each other without end")


def _cycle(edges: Mapping[tuple[str, str], ToolRule], why: str) -> Iterator[_Found]:
    sorter: TopologicalSorter[str] = TopologicalSorter()
    for tool, other in edges:
        sorter.add(tool, other)
    try:
        sorter.prepare()
    except CycleError as error:
        circle = error.args[1]  # each is a predecessor of the next
        first, second = edges[circle[1], circle[0]], edges[circle[2 % (len(circle) - 1)], circle[1]]
        yield first, second, why


def _groups(index: RuleIndex) -> Iterator[_Found]:
    """Two tools of one group that would both have to be called in one turn."""
    forced = _forced(index)
    for group in index.groups:
        inside = frozenset(group.tools)
        for rule in index.followed:
            if {rule.tool, rule.then} <= inside:
                yield group, rule, "only one of the two can be called in a turn"
        if index.start is not None and index.start.tool in inside:
            yield group, index.start, f"the others could never be called, as {quoted(index.start.tool)} is always the first"
        together = [forced[tool] for tool in group.tools if tool in forced]
        if len(together) > 1:
            yield together[0], together[1], f"{group} lets only one of the two tools be called in a turn"


def _forced(index: RuleIndex) -> dict[str, ToolRule]:
    """The tools that have to be called in every turn, with what they need before and after them, each with its rule."""
    forced: dict[str, ToolRule] = dict(index.required)
    if forced and index.start is not None:
        forced.setdefault(index.start.tool, index.start)
    waiting = list(forced)
    while waiting:
        tool = waiting.pop()
        more: dict[str, ToolRule] = {rule.prior: rule for rule in index.priors.get(tool, ())}
        more |= {rule.then: rule for rule in index.followed if rule.tool == tool}
        for other, rule in more.items():
            if other not in forced:
                forced[other] = rule
                waiting.append(other)
    return forced


def _repeated(index: RuleIndex) -> Iterator[_Found]:
    """A follower that has to be called before and again after, and may be called once only."""
    for rule in index.followed:
        once = index.max_calls.get(rule.then)
        if once is not None and once.count == 1 and _comes_before(rule.then, rule.tool, index):
            yield rule, once, f"{quoted(rule.then)} has to be called before {quoted(rule.tool)} and again after it"


def _comes_before(first: str, tool: str, index: RuleIndex) -> bool:
    """Whether `first` has to be called before `tool` can be."""
    if index.start is not None and index.start.tool == first:
        return True
    seen, waiting = {tool}, [tool]
    while waiting:
        for rule in index.priors.get(waiting.pop(), ()):
            if rule.prior == first:
                return True
            if rule.prior not in seen:
                seen.add(rule.prior)
                waiting.append(rule.prior)
    return False


def _unreachable(index: RuleIndex) -> Iterator[_Found]:
    """A tool that can't be called even in a new turn."""
    for tool in index.tools:
        if found := obstacle(tool, index, TurnState(), 0.0, consent=False):
            first, *others = dict.fromkeys(found.rules)
            yield first, (others or [first])[0], found.reason
