"""Enforce: `ToolRules`, which answers for each call of a turn whether it may be made, and what is owed before exit (RULE-2).

    rules = ToolRules([StartWith(tool="context"), EndsTurn(tool="send_message")])
    match rules.check(call):
        case Allow(): result = run(call); rules.called(call)
        case Refuse(reason=reason): result = reason

Calls that run at the same time are one batch: `check_all` judges them together, and `called` records those that were made. A
rule about an order (`start`, `requires_prior`) asks for an earlier batch. A call counts as soon as it is recorded, whether it
succeeded or not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from germane.clock import Clock
from germane.errors import InvalidInput
from germane.tool_rules.contradictions import refuse_contradictions
from germane.tool_rules.rule_index import RuleIndex, cooling, excluded, exhausted, obstacle
from germane.tool_rules.turn_state import Approval, TurnState, digest_of_call, read_arguments
from germane.tool_rules.value import Allow, AllowedOperations, AskConsent, Owed, Refuse, ToolRule, Verdict
from germane.tool_rules.wording import quoted, write_rules
from germane.types.message import ToolCall

NextStep = Literal["end", "continue"]


class ToolRules:
    """The rules of one agent and the state of its running turn. Not thread-safe: one turn, one object. `clock` serves cooldowns
    in seconds. Raises `InvalidInput` for rules that contradict each other, naming two."""

    __slots__ = ("_clock", "_index", "_next", "_state")

    def __init__(self, rules: Iterable[ToolRule], *, clock: Clock | None = None, state: TurnState | None = None) -> None:
        self._index = RuleIndex.of(rules)
        refuse_contradictions(self._index)
        self._clock = clock or Clock()
        self._state = state or TurnState()
        self._next: NextStep | None = None

    @classmethod
    def from_json(cls, rules: Iterable[ToolRule], state: str, *, clock: Clock | None = None) -> ToolRules:
        """As `ToolRules(rules)`, with the state that `as_json` wrote. Raises `InvalidInput` for any other text."""
        rules = tuple(rules)
        return cls(rules, clock=clock, state=TurnState.from_json(state, RuleIndex.of(rules).tools))

    def as_json(self) -> str:
        """The state as JSON text. Keep it where the agent can't write: it holds approvals."""
        return self._state.as_json()

    @property
    def rules(self) -> tuple[ToolRule, ...]:
        """The rules as given, without repetitions."""
        return self._index.rules

    @property
    def text(self) -> str:
        """The section of the prompt that tells the rules to the model (RULE-1)."""
        return write_rules(self._index.rules)

    @property
    def next_step(self) -> NextStep | None:
        """What follows the newest batch: `end` after a tool that ends the turn, `continue` after one that continues it, None
        where no rule says so. `end` wins."""
        return "end" if self._state.ended_by else self._next

    def begin_turn(self) -> None:
        """Begins the next turn; the first has begun already. Approvals and cooldowns go on."""
        self._state, self._next = self._state.next_turn(), None

    def check(self, call: ToolCall) -> Verdict:
        """Returns whether the call may be made now, as a batch of its own. Changes nothing."""
        return self.check_all((call,))[0]

    def check_all(self, calls: Sequence[ToolCall]) -> tuple[Verdict, ...]:
        """Returns a verdict for each call of one batch, in order. The calls that are allowed count for those behind them, but
        no call comes before another one of its batch. Changes nothing."""
        now = self._now()
        state, allowed, verdicts = self._state.not_after(now), list[str](), list[Verdict]()
        for call in calls:
            verdict = self._verdict(call, state, allowed, now)
            if isinstance(verdict, Allow):
                allowed.append(call.name)
                if call.name in self._index.consent:
                    state = state.without_approval(Approval(call.name, digest_of_call(call)))
            verdicts.append(verdict)
        return tuple(verdicts)

    def called(self, *calls: ToolCall) -> NextStep | None:
        """Records calls that were made, as one batch, and uses up their approvals. Returns `next_step`. A call that wasn't
        allowed counts like any other."""
        if not calls:
            return self.next_step
        index, now = self._index, self._now()
        state = self._state.not_after(now)
        for call in calls:
            if call.name in index.consent:
                state = state.without_approval(Approval(call.name, digest_of_call(call)))
        self._state = self._after(state, [call.name for call in calls], now)
        continues = any(call.name in index.continues for call in calls)
        self._next = "continue" if continues else None
        return self.next_step

    def approve(self, call: ToolCall) -> None:
        """Records the consent to this call: to one call of the tool with the same arguments, in this turn or a later one.
        Raises `InvalidInput` for a tool that needs none."""
        if call.name not in self._index.consent:
            raise InvalidInput("{} needs no consent", call.name, advice="make the call")
        self._state = self._state.with_approval(Approval(call.name, digest_of_call(call)))

    def before_exit(self) -> tuple[Owed, ...]:
        """Returns what the turn owes, by tool. What can't be called any more is there too and says why; it doesn't keep the
        turn from ending. Empty once the turn has ended."""
        now = self._now()
        return () if self._state.ended_by else self._owed(self._state.not_after(now), now)

    @property
    def may_exit(self) -> bool:
        """Whether the turn may end now: nothing is owed that could still be called."""
        return not any(each.possible for each in self.before_exit())

    def __repr__(self) -> str:
        return f"<ToolRules {len(self._index.rules)} rules, turn {self._state.turn}, {self._state.batch} batches>"

    def _now(self) -> float:
        return self._clock.now().timestamp()

    def _after(self, state: TurnState, tools: Iterable[str], now: float) -> TurnState:
        """The state after a batch. Only tools that a rule names are counted, so that the state stays small."""
        named = [tool for tool in tools if tool in self._index.named]
        ended_by = state.ended_by or next((tool for tool in named if tool in self._index.ends), "")
        return state.with_batch(named, now, ended_by=ended_by)

    def _verdict(self, call: ToolCall, state: TurnState, allowed: Sequence[str], now: float) -> Verdict:
        """`state` is that before the batch; `allowed` are the tools of the batch's calls so far."""
        tool, index = call.name, self._index
        after = self._after(state, allowed, now) if allowed else state
        if after.ended_by:
            return Refuse(reason=f"the turn ends with {quoted(after.ended_by)}: call nothing behind it")
        start = index.start
        if start is not None and tool != start.tool and start.tool not in state.counts:
            return Refuse(reason=f"call {quoted(start.tool)} first, and wait for its result", rule=start)
        for operation in index.operations.get(tool, ()):
            if reason := _disallowed(operation, call):
                return Refuse(reason=reason, rule=operation)
        for prior in index.priors.get(tool, ()):
            if prior.prior not in state.counts:
                reason = f"call {quoted(prior.prior)} before {quoted(tool)}, and wait for its result"
                return Refuse(reason=reason, rule=prior)
        calls = after.counts.get(tool, 0)
        if found := exhausted(tool, index, calls) or cooling(tool, index, after, now) or excluded(tool, index, after):
            return Refuse(reason=found.reason, rule=found.rules[0])
        unpaid: tuple[Owed, ...] = ()
        if tool in index.ends:
            unpaid = self._unpaid(tool, after, allowed, now)
            if open_ := next((each for each in unpaid if each.possible), None):
                return Refuse(reason=f"{quoted(tool)} ends the turn: {open_.reason}", rule=open_.rule)
        consent = index.consent.get(tool)
        if consent is not None and Approval(tool, digest_of_call(call)) not in state.approved:
            reason = f"this call of {quoted(tool)} needs the consent of the {consent.of}: it waits for an answer"
            return AskConsent(of=consent.of, reason=reason, rule=consent)
        return Allow(unpaid=unpaid)

    def _unpaid(self, tool: str, after: TurnState, allowed: Sequence[str], now: float) -> tuple[Owed, ...]:
        """What the turn owes when `tool` ends it: not `tool` itself, unless it has to follow a call of this same batch, and no
        other tool that ends the turn."""
        owed = self._owed(after, now)
        behind = {rule.then for rule in self._index.followed if rule.tool in allowed}
        return tuple(each for each in owed if each.tool not in self._index.ends or (each.tool == tool and tool in behind))

    def _owed(self, state: TurnState, now: float) -> tuple[Owed, ...]:
        owed: dict[str, tuple[str, ToolRule]] = {}
        for tool, required in self._index.required.items():
            if tool not in state.counts:
                owed[tool] = f"call {quoted(tool)} before the turn ends", required
        for tool, periodic in self._index.periodic.items():
            if tool not in state.counts and state.turn - state.turns.get(tool, 0) >= periodic.turns:
                reason = f"call {quoted(tool)} before the turn ends: it is due once in {periodic.turns} turns"
                owed.setdefault(tool, (reason, periodic))
        for rule in self._index.followed:
            if rule.tool in state.last and state.last[rule.tool] >= state.last.get(rule.then, 0):
                owed.setdefault(rule.then, (f"call {quoted(rule.then)} after {quoted(rule.tool)}", rule))
        return tuple(
            Owed(tool=tool, reason=reason, rule=rule, obstacle=found.reason if found else "")
            for tool, (reason, rule) in sorted(owed.items())
            for found in (obstacle(tool, self._index, state, now),)
        )


def _disallowed(rule: AllowedOperations, call: ToolCall) -> str:
    """Why the rule refuses the call's arguments; empty where it allows them."""
    arguments = read_arguments(call)
    if arguments is None:
        return f"the arguments of {quoted(rule.tool)} aren't a JSON object with each key once"
    if arguments.get(rule.argument) in rule.allowed:
        return ""
    return f"{quoted(rule.tool)} takes only {', '.join(map(quoted, rule.allowed))} as {quoted(rule.argument)}"
