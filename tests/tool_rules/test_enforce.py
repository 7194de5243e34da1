"""The rules, call by call."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from germane.clock import Clock
from germane.errors import InvalidInput
from germane.tool_rules.enforce import ToolRules
from germane.tool_rules.value import (
    Allow,
    AllowedOperations,
    AskConsent,
    ContinuesTurn,
    EndsTurn,
    ExclusiveGroup,
    FollowedBy,
    MaxCalls,
    Periodic,
    Refuse,
    RequiredBeforeExit,
    RequiresConsent,
    RequiresPrior,
    StartWith,
    ToolCooldown,
    ToolRule,
)
from germane.types.message import ToolCall


def call(tool: str, arguments: str = "{}") -> ToolCall:
    return ToolCall(id="1", name=tool, arguments=arguments)


def refused(rules: ToolRules, tool: str, arguments: str = "{}") -> str:
    """The reason, or '' where the call is allowed."""
    verdict = rules.check(call(tool, arguments))
    return verdict.reason if isinstance(verdict, Refuse) else ""


def run(rules: ToolRules, *tools: str) -> None:
    """Calls each tool as a batch of its own, after asking."""
    for tool in tools:
        assert refused(rules, tool) == ""
        rules.called(call(tool))


class Hands:
    """A clock whose hands a test moves."""

    def __init__(self) -> None:
        self.time = datetime(2026, 3, 10, 12, tzinfo=UTC)

    def clock(self) -> Clock:
        return Clock(now=lambda: self.time)

    def move(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)


@pytest.mark.requirement("RULE-2")
def test_a_normal_call_of_the_start_tool_satisfies_the_start_rule() -> None:
    """It isn't made by the engine: the model's own call does. Each turn begins anew."""
    rules = ToolRules([StartWith(tool="context")])
    assert refused(rules, "search") == "call `context` first, and wait for its result"
    run(rules, "context", "search")
    rules.begin_turn()
    assert refused(rules, "search")


@pytest.mark.requirement("RULE-2")
def test_a_call_of_the_same_batch_is_not_before_another() -> None:
    """Calls of a batch may run at the same time."""
    rules = ToolRules([StartWith(tool="context"), RequiresPrior(tool="write", prior="read")])
    first, second = rules.check_all([call("context"), call("search")])
    assert isinstance(first, Allow)
    assert isinstance(second, Refuse)
    rules.called(call("context"))
    assert [type(each) for each in rules.check_all([call("read"), call("write")])] == [Allow, Refuse]
    run(rules, "read", "write")


@pytest.mark.requirement("RULE-2")
def test_the_turn_ends_after_a_tool_that_ends_it() -> None:
    """Nothing can be called behind it, neither in its batch nor later; the next turn is free."""
    rules = ToolRules([EndsTurn(tool="send"), ContinuesTurn(tool="search")])
    assert rules.called(call("search")) == "continue"
    assert rules.called(call("other")) is None
    assert [type(each) for each in rules.check_all([call("other"), call("send"), call("other")])] == [Allow, Allow, Refuse]
    assert rules.called(call("search"), call("send")) == "end"
    assert refused(rules, "other") == "the turn ends with `send`: call nothing behind it"
    rules.begin_turn()
    assert rules.next_step is None
    run(rules, "other")


@pytest.mark.requirement("RULE-2")
def test_calls_are_counted_in_a_turn_and_in_a_batch() -> None:
    """The third call of a batch is refused where two are left."""
    rules = ToolRules([MaxCalls(tool="api", count=3)])
    run(rules, "api")
    assert [type(each) for each in rules.check_all([call("api")] * 3)] == [Allow, Allow, Refuse]
    rules.called(call("api"), call("api"))
    assert "at most 3 times" in refused(rules, "api")
    rules.begin_turn()
    run(rules, "api", "api", "api")


@pytest.mark.requirement("RULE-2")
def test_what_is_owed_keeps_the_turn_from_ending() -> None:
    """A required tool, a follower, and one that is due by its period."""
    rules = ToolRules(
        [
            EndsTurn(tool="send"),
            RequiredBeforeExit(tool="log"),
            FollowedBy(tool="open", then="close"),
            Periodic(tool="tidy", turns=2),
        ]
    )
    assert [each.tool for each in rules.before_exit()] == ["log"]
    assert refused(rules, "send") == "`send` ends the turn: call `log` before the turn ends"
    run(rules, "log", "close", "open")
    assert [each.reason for each in rules.before_exit()] == ["call `close` after `open`"]
    rules.called(call("open"), call("close"))  # at the same time isn't after
    may_exit = [rules.may_exit]
    run(rules, "close")
    assert [*may_exit, rules.may_exit] == [False, True]
    run(rules, "send")
    assert rules.before_exit() == ()
    rules.begin_turn()
    assert [each.tool for each in rules.before_exit()] == ["log", "tidy"]
    run(rules, "tidy", "log", "send")
    rules.begin_turn()
    assert [each.tool for each in rules.before_exit()] == ["log"]


@pytest.mark.requirement("RULE-2")
def test_a_required_call_of_the_same_batch_comes_before_the_end() -> None:
    """In the order of the batch."""
    rules = ToolRules([EndsTurn(tool="send"), RequiredBeforeExit(tool="log")])
    assert [type(each) for each in rules.check_all([call("log"), call("send")])] == [Allow, Allow]
    assert [type(each) for each in rules.check_all([call("send"), call("log")])] == [Refuse, Allow]


@pytest.mark.requirement("RULE-2")
def test_what_can_not_be_called_any_more_is_told_and_locks_nobody_in() -> None:
    """`log` excludes itself once `skip` was called."""
    rules = ToolRules([EndsTurn(tool="send"), RequiredBeforeExit(tool="log"), ExclusiveGroup(tools=("log", "skip"))])
    run(rules, "skip")
    (owed,) = rules.before_exit()
    assert owed.obstacle == "`skip` was called in this turn, which excludes `log`"
    assert rules.may_exit
    verdict = rules.check(call("send"))
    assert isinstance(verdict, Allow)
    assert verdict.unpaid == (owed,)


@pytest.mark.requirement("RULE-2")
def test_a_cooldown_in_seconds_reads_the_clock() -> None:
    """Also across turns. A clock that was put back makes the wait begin anew, and no longer than that."""
    hands = Hands()
    rules = ToolRules([ToolCooldown(tool="poll", seconds=30)], clock=hands.clock())
    run(rules, "poll")
    hands.move(29.5)
    rules.begin_turn()
    assert refused(rules, "poll").endswith("wait 1 seconds")
    hands.move(0.5)
    run(rules, "poll")
    hands.move(-86_400)
    assert refused(rules, "poll").endswith("wait 30 seconds")
    rules.called(call("other"))
    hands.move(30)
    run(rules, "poll")


@pytest.mark.requirement("RULE-2")
def test_a_cooldown_in_turns_allows_one_call_in_that_many() -> None:
    """Counted from the turn of the newest call."""
    rules = ToolRules([ToolCooldown(tool="nap", turns=2)])
    run(rules, "nap")
    assert "wait 2 turns" in refused(rules, "nap")
    rules.begin_turn()
    assert "until the next turn" in refused(rules, "nap")
    rules.begin_turn()
    run(rules, "nap")


@pytest.mark.requirement("RULE-2")
def test_one_tool_of_a_group_excludes_the_others_for_the_turn() -> None:
    """It may be called again itself."""
    rules = ToolRules([ExclusiveGroup(tools=("a", "b"))])
    assert [type(each) for each in rules.check_all([call("a"), call("b"), call("a")])] == [Allow, Refuse, Allow]
    run(rules, "a", "a")
    assert "excludes `b`" in refused(rules, "b")
    rules.begin_turn()
    run(rules, "b")


@pytest.mark.requirement("RULE-2")
def test_a_consent_is_for_one_call_with_the_same_arguments() -> None:
    """White space and the order of keys don't matter; another argument needs another consent. It is used once, also later."""
    rules = ToolRules([RequiresConsent(tool="pay", of="partner")])
    asked = rules.check(call("pay", '{"to": "Ann", "sum": 5}'))
    assert isinstance(asked, AskConsent)
    assert asked.of == "partner"
    rules.approve(call("pay", '{"to": "Ann", "sum": 5}'))
    same, other = call("pay", '{"sum":5,"to":"Ann"}'), call("pay", '{"to": "Bob", "sum": 5}')
    rules.begin_turn()
    assert [type(each) for each in rules.check_all([other, same, same])] == [AskConsent, Allow, AskConsent]
    rules.called(other)
    assert isinstance(rules.check(same), Allow)
    rules.called(same)
    assert isinstance(rules.check(same), AskConsent)
    with pytest.raises(InvalidInput, match="needs no consent"):
        rules.approve(call("read"))


@pytest.mark.requirement("RULE-2")
@pytest.mark.parametrize(
    "arguments",
    [
        '{"operation": "delete"}',
        "{}",
        "",
        "null",
        "no JSON",
        '{"operation": ["read"]}',
        '{"operation": "Read"}',
        '{"operation": "delete", "operation": "read"}',
        '{"operation": "read", "operation": "delete"}',
        '{"operation": "read", "x": NaN}',
        "[" * 100_000,
    ],
)
def test_only_allowed_operations_pass(arguments: str) -> None:
    """A key that stands twice is refused: its reader isn't known."""
    rules = ToolRules([AllowedOperations(tool="file", allowed=("read", "list"))])
    assert refused(rules, "file", arguments)
    assert refused(rules, "file", '{"operation": "read", "path": "x"}') == ""


CONTRADICTIONS: list[tuple[ToolRule, ...]] = [
    (StartWith(tool="a"), StartWith(tool="b")),
    (EndsTurn(tool="a"), ContinuesTurn(tool="a")),
    (MaxCalls(tool="a", count=1), MaxCalls(tool="a", count=2)),
    (StartWith(tool="a"), RequiresPrior(tool="a", prior="b")),
    (RequiresPrior(tool="a", prior="b"), RequiresPrior(tool="b", prior="a")),
    (RequiresPrior(tool="a", prior="b"), RequiresPrior(tool="b", prior="c"), RequiresPrior(tool="c", prior="a")),
    (FollowedBy(tool="a", then="b"), FollowedBy(tool="b", then="a")),
    (RequiresPrior(tool="a", prior="b"), ExclusiveGroup(tools=("a", "b"))),
    (FollowedBy(tool="a", then="b"), ExclusiveGroup(tools=("a", "b"))),
    (RequiredBeforeExit(tool="a"), RequiredBeforeExit(tool="b"), ExclusiveGroup(tools=("a", "b"))),
    (
        RequiredBeforeExit(tool="a"),
        RequiredBeforeExit(tool="b"),
        RequiresPrior(tool="b", prior="c"),
        ExclusiveGroup(tools=("a", "c")),
    ),
    (EndsTurn(tool="a"), RequiresPrior(tool="b", prior="a")),
    (EndsTurn(tool="a"), FollowedBy(tool="a", then="b")),
    (StartWith(tool="a"), EndsTurn(tool="a"), RequiredBeforeExit(tool="b")),
    (StartWith(tool="a"), ExclusiveGroup(tools=("a", "b"))),
    (StartWith(tool="a"), ToolCooldown(tool="a", seconds=5)),
    (RequiredBeforeExit(tool="a"), ToolCooldown(tool="a", turns=2)),
    (Periodic(tool="a", turns=2), ToolCooldown(tool="a", turns=3)),
    (RequiredBeforeExit(tool="a"), EndsTurn(tool="a"), RequiredBeforeExit(tool="b"), EndsTurn(tool="b")),
    (FollowedBy(tool="a", then="b"), RequiresPrior(tool="a", prior="b"), MaxCalls(tool="b", count=1)),
]


@pytest.mark.requirement("RULE-2")
@pytest.mark.parametrize("rules", CONTRADICTIONS, ids=lambda rules: "-".join(rule.kind for rule in rules))
def test_rules_that_contradict_each_other_are_refused_naming_two(rules: tuple[ToolRule, ...]) -> None:
    """In any order."""
    for order in (rules, rules[::-1]):
        with pytest.raises(InvalidInput, match="contradict each other") as refusal:
            ToolRules(order)
        assert sum(str(rule) in str(refusal.value) for rule in rules) >= 2


def test_the_same_rule_twice_is_one_rule() -> None:
    """Repeating a rule contradicts nothing."""
    assert len(ToolRules([StartWith(tool="a"), StartWith(tool="a")]).rules) == 1


def test_rules_are_a_bounded_list_of_rules() -> None:
    """Anything else is refused with what to give."""
    for bad in ("start", 5, [{"kind": "start"}], (MaxCalls(tool=str(n), count=1) for n in range(501))):
        with pytest.raises(InvalidInput, match="rules"):
            ToolRules(bad)  # type: ignore[arg-type]


RULES: list[ToolRule] = [
    StartWith(tool="a"),
    MaxCalls(tool="b", count=2),
    RequiresConsent(tool="c"),
    ToolCooldown(tool="b", seconds=9),
    EndsTurn(tool="d"),
]


@pytest.mark.requirement("RULE-2")
def test_the_state_goes_through_json() -> None:
    """Calls, times and approvals. It holds no arguments, and nothing of tools without rules."""
    hands = Hands()
    rules = ToolRules(RULES, clock=hands.clock())
    run(rules, "a", "b")
    rules.approve(call("c", '{"secret": "x1y2"}'))
    rules.called(call("secret_tool"))
    text = rules.as_json()
    assert "x1y2" not in text
    assert "secret_tool" not in text
    again = ToolRules.from_json(RULES, text, clock=hands.clock())
    assert again.as_json() == text
    assert isinstance(again.check(call("c", '{"secret":"x1y2"}')), Allow)
    assert "wait 9" in refused(again, "b")
    assert ToolRules.from_json([MaxCalls(tool="b", count=1)], text).check(call("c")) == Allow()


@pytest.mark.requirement("RULE-2")
@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"version": True},
        {"turn": 0},
        {"turn": 1.0},
        {"turn": 10**30},
        {"counts": {"a": -1}},
        {"counts": {"a": "1"}},
        {"counts": []},
        {"counts": {"a": 3}, "last": {}},
        {"last": {"a": 99}},
        {"turns": {"a": 9, "b": 1}},
        {"times": {"a": True, "b": 0}},
        {"times": {"a": 1e300, "b": 0}},
        {"ended_by": None},
        {"approved": [["c", "x"]]},
        {"approved": [["c"]]},
        {"approved": [["c", "0" * 64]] * 257},
        {"more": 1},
    ],
    ids=str,
)
def test_a_state_that_no_rules_wrote_is_refused(change: dict[str, object]) -> None:
    """Each field is checked, and the fields against each other."""
    rules = ToolRules(RULES)
    run(rules, "a", "b")
    body = json.loads(rules.as_json()) | change
    with pytest.raises(InvalidInput, match=r"^state\b"):
        ToolRules.from_json(RULES, json.dumps(body))


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", "[" * 100_000, '{"turn": NaN}', " " * 1_000_001, b"{}", '{"turn": 1, "turn": 1}']
)
def test_text_that_is_no_state_is_refused(text: object) -> None:
    """Nothing but a GermaneError comes out."""
    with pytest.raises(InvalidInput, match=r"^state\b"):
        ToolRules.from_json(RULES, text)  # type: ignore[arg-type]
