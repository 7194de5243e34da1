"""The engine against a model that keeps the whole history, on random rules and random calls."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from germane.errors import InvalidInput
from germane.tool_rules.enforce import ToolRules
from germane.tool_rules.value import (
    Allow,
    EndsTurn,
    ExclusiveGroup,
    FollowedBy,
    MaxCalls,
    Periodic,
    RequiredBeforeExit,
    RequiresPrior,
    StartWith,
    ToolCooldown,
    ToolRule,
)
from germane.types.message import ToolCall
from support.examples import examples

TOOLS = "abcd"
TOOL = st.sampled_from(TOOLS)
PAIR = st.permutations(TOOLS).map(lambda tools: tools[:2])
RULE: st.SearchStrategy[ToolRule] = st.one_of(
    TOOL.map(lambda tool: StartWith(tool=tool)),
    TOOL.map(lambda tool: EndsTurn(tool=tool)),
    st.builds(MaxCalls, tool=TOOL, count=st.integers(1, 2)),
    PAIR.map(lambda pair: RequiresPrior(tool=pair[0], prior=pair[1])),
    PAIR.map(lambda pair: FollowedBy(tool=pair[0], then=pair[1])),
    TOOL.map(lambda tool: RequiredBeforeExit(tool=tool)),
    st.builds(ToolCooldown, tool=TOOL, turns=st.integers(1, 3)),
    PAIR.map(lambda pair: ExclusiveGroup(tools=tuple(pair))),
    st.builds(Periodic, tool=TOOL, turns=st.integers(1, 3)),
)
RULES = st.lists(RULE, min_size=1, max_size=6)
STEP = st.one_of(st.just("|"), st.lists(TOOL, min_size=1, max_size=3).map("".join))
"""A new turn, or a batch of calls."""

History = list[list[str]]
"""The batches of each turn, the running one last."""


def call(tool: str) -> ToolCall:
    return ToolCall(id="", name=tool)


def allowed_by(rule: ToolRule, tool: str, history: History, batch: str) -> bool:
    """Whether this one rule lets `tool` be called behind the calls `batch` of its own batch."""
    before = "".join(history[-1])
    now = before + batch
    match rule:
        case StartWith():
            return tool == rule.tool or rule.tool in before
        case EndsTurn():
            return rule.tool not in now
        case MaxCalls():
            return tool != rule.tool or now.count(tool) < rule.count
        case RequiresPrior():
            return tool != rule.tool or rule.prior in before
        case ExclusiveGroup():
            return tool not in rule.tools or not any(other in now for other in rule.tools if other != tool)
        case ToolCooldown():
            lately = [*("".join(turn) for turn in history[:-1]), now][-(rule.turns or 0) :]
            return tool != rule.tool or not any(tool in turn for turn in lately)
    return True


def owed_by(rule: ToolRule, history: History) -> set[str]:
    """The tools that this one rule demands before the turn ends."""
    batches = history[-1]
    match rule:
        case RequiredBeforeExit():
            return set() if any(rule.tool in batch for batch in batches) else {rule.tool}
        case Periodic():
            lately = history[-rule.turns :]
            called = any(rule.tool in batch for turn in lately for batch in turn)
            return {rule.tool} if len(history) >= rule.turns and not called else set()
        case FollowedBy():
            calls = [place for place, batch in enumerate(batches) if rule.tool in batch]
            return {rule.then} if calls and not any(rule.then in batch for batch in batches[calls[-1] + 1 :]) else set()
    return set()


def built(rules: Sequence[ToolRule]) -> ToolRules:
    try:
        return ToolRules(rules)
    except InvalidInput:
        assume(False)
        raise


def copy(rules: ToolRules) -> ToolRules:
    return ToolRules.from_json(rules.rules, rules.as_json())


def walk(rules: ToolRules, steps: Sequence[str]) -> History:
    """Makes the calls that are allowed. Compares each verdict, and what is owed after each batch, with the model."""
    history: History = [[]]
    for step in steps:
        if step == "|":
            rules.begin_turn()
            history.append([])
            continue
        verdicts, batch = rules.check_all([call(tool) for tool in step]), ""
        for tool, verdict in zip(step, verdicts, strict=True):
            free = all(allowed_by(rule, tool, history, batch) for rule in rules.rules)
            ends = any(isinstance(rule, EndsTurn) and rule.tool == tool for rule in rules.rules)
            assert isinstance(verdict, Allow) <= free, (tool, batch, history)
            assert ends or isinstance(verdict, Allow) == free, (tool, batch, history)
            batch += tool if isinstance(verdict, Allow) else ""
        rules.called(*map(call, batch))
        if batch:
            history[-1].append(batch)
        ended = rules.next_step == "end"
        owed = set[str]() if ended else set().union(*(owed_by(rule, history) for rule in rules.rules))
        assert {each.tool for each in rules.before_exit()} == owed, history
    return history


def reachable(rules: ToolRules, tool: str) -> bool:
    """Whether some sequence of calls, each allowed, ends with `tool`. What an end of the turn owes isn't asked for, as the
    engine itself settles that one tool at a time."""
    seen, waiting = {rules.as_json()}, [rules]
    while waiting:
        state = waiting.pop()
        for each in TOOLS:
            verdict = state.check(call(each))
            if each == tool and (isinstance(verdict, Allow) or "ends the turn: call" in getattr(verdict, "reason", "")):
                return True
            if isinstance(verdict, Allow):
                after = copy(state)
                after.called(call(each))
                known = "".join(tool for tool in TOOLS if f'"{tool}"' in after.as_json())
                if known not in seen:  # only what was called at all decides on what can be called first
                    seen.add(known)
                    waiting.append(after)
    return False


@pytest.mark.requirement("RULE-2")
@examples(250)
@given(rules=RULES, steps=st.lists(STEP, max_size=8))
def test_the_engine_says_what_the_model_says(rules: list[ToolRule], steps: list[str]) -> None:
    """Each verdict of each batch, and what is owed."""
    walk(built(rules), steps)


@pytest.mark.requirement("RULE-2")
@examples(250)
@given(rules=RULES, steps=st.lists(STEP, max_size=5))
@example([EndsTurn(tool="b"), Periodic(tool="b", turns=1), ExclusiveGroup(tools=("b", "c")), Periodic(tool="c", turns=1)], [])
@example(
    [
        *(EndsTurn(tool="b"), Periodic(tool="b", turns=1), RequiresPrior(tool="b", prior="a")),
        *(FollowedBy(tool="a", then="d"), ExclusiveGroup(tools=("b", "d"))),
    ],
    [],
)
def test_no_rules_lock_an_agent_in(rules: list[ToolRule], steps: list[str]) -> None:
    """From wherever it is, calling what is owed and possible, with what that needs, leads to the end of the turn. What ends the
    turn comes last, as the engine asks: what is called before it may exclude it."""
    engine = built(rules)
    walk(engine, steps)
    ends = {rule.tool for rule in rules if isinstance(rule, EndsTurn)}
    for _ in range(40):
        owed = sorted((each for each in engine.before_exit() if each.possible), key=lambda each: each.tool in ends)
        if not owed:
            break
        tool = path_to(engine, owed[0].tool)
        assert isinstance(engine.check(call(tool)), Allow)
        engine.called(call(tool))
    assert engine.may_exit
    for rule in rules:
        if isinstance(rule, EndsTurn) and engine.next_step != "end":
            reason = getattr(engine.check(call(rule.tool)), "reason", "")
            assert "ends the turn: call" not in reason


def path_to(rules: ToolRules, tool: str) -> str:
    """The first call of the shortest allowed sequence that ends with `tool`, which must exist: `possible` promised it. Where
    the tool ends the turn and something else became owed on the way, that is the next thing to call."""
    waiting: list[tuple[str, ToolRules]] = [("", rules)]
    for first, state in waiting:
        verdict = state.check(call(tool))
        if isinstance(verdict, Allow) or (first and "ends the turn: call" in getattr(verdict, "reason", "")):
            return first or tool
        for each in TOOLS:
            if isinstance(state.check(call(each)), Allow) and len(waiting) < 400:
                after = copy(state)
                after.called(call(each))
                waiting.append((first or each, after))
    raise AssertionError(f"{tool} was said to be possible, and no sequence of calls leads to it: {rules.rules}")


@pytest.mark.requirement("RULE-2")
@examples(150)
@given(rules=RULES, steps=st.lists(STEP, max_size=4))
def test_what_is_called_impossible_is(rules: list[ToolRule], steps: list[str]) -> None:
    """No sequence of allowed calls leads to a tool that is owed and was said to be out of reach."""
    engine = built(rules)
    walk(engine, steps)
    for each in engine.before_exit():
        if not each.possible:
            assert not reachable(engine, each.tool), (each, engine.rules)


@given(rules=RULES, steps=st.lists(STEP, max_size=5))
def test_the_state_is_the_same_after_json(rules: list[ToolRule], steps: list[str]) -> None:
    """Whatever was called."""
    engine = built(rules)
    walk(engine, steps)
    again = copy(engine)
    assert again.as_json() == engine.as_json()
    assert again.check_all(list(map(call, TOOLS))) == engine.check_all(list(map(call, TOOLS)))
