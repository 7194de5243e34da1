"""Turn state: what the rules remember of the calls so far, as a frozen value with a JSON form.

It holds names of tools that have rules, counts and times, and no arguments: an approval keeps a hash of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

from germane.errors import InvalidInput
from germane.types.checks import check_number, check_type, check_whole_number
from germane.types.message import ToolCall

_VERSION = 1
_MAX_CHARACTERS = 1_000_000
_MAX_APPROVALS = 256
_HASH = re.compile(r"[0-9a-f]{64}")
_MAX_NUMBER = 2**53
_TABLES = ("counts", "last", "turns", "times")


@dataclass(frozen=True, slots=True)
class Approval:
    """The consent to one call of `tool` with the arguments of this SHA-256."""

    tool: str
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnState:
    """`turn` counts turns from 1, `batch` the batches of calls in this turn. `counts` are the calls in this turn by tool,
    `last` their newest batches; `turns` and `times` tell the turn and the moment (Unix seconds) of each tool's newest call in
    any turn. `ended_by` is the tool that ended this turn. Approvals stay until they are used."""

    turn: int = 1
    batch: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    last: Mapping[str, int] = field(default_factory=dict)
    turns: Mapping[str, int] = field(default_factory=dict)
    times: Mapping[str, float] = field(default_factory=dict)
    ended_by: str = ""
    approved: tuple[Approval, ...] = ()

    def next_turn(self) -> TurnState:
        """The state at the beginning of the next turn."""
        return replace(self, turn=self.turn + 1, batch=0, counts={}, last={}, ended_by="")

    def with_batch(self, tools: Iterable[str], now: float, *, ended_by: str = "") -> TurnState:
        """The state after these tools were called as one batch, of which `ended_by` ended the turn."""
        counts, last, turns, times = dict(self.counts), dict(self.last), dict(self.turns), dict(self.times)
        for tool in tools:
            counts[tool] = counts.get(tool, 0) + 1
            last[tool], turns[tool], times[tool] = self.batch + 1, self.turn, now
        return replace(self, batch=self.batch + 1, counts=counts, last=last, turns=turns, times=times, ended_by=ended_by)

    def not_after(self, now: float) -> TurnState:
        """The state with no time later than `now`: a clock that was put back makes a wait begin anew, not longer."""
        if all(moment <= now for moment in self.times.values()):
            return self
        return replace(self, times={tool: min(moment, now) for tool, moment in self.times.items()})

    def with_approval(self, approval: Approval) -> TurnState:
        """The state with one more approval. Raises `InvalidInput` where too many wait to be used."""
        if len(self.approved) >= _MAX_APPROVALS:
            raise InvalidInput(
                f"has {_MAX_APPROVALS} approvals that wait to be used", path="state", advice="make those calls first"
            )
        return replace(self, approved=(*self.approved, approval))

    def without_approval(self, approval: Approval) -> TurnState:
        """The state with one such approval used up, if there is one."""
        if approval not in self.approved:
            return self
        index = self.approved.index(approval)
        return replace(self, approved=self.approved[:index] + self.approved[index + 1 :])

    def as_json(self) -> str:
        """The state as JSON text, the same for the same state."""
        body: dict[str, Any] = {
            "version": _VERSION,
            "turn": self.turn,
            "batch": self.batch,
            "ended_by": self.ended_by,
            "approved": [[each.tool, each.digest] for each in self.approved],
        } | {name: dict(getattr(self, name)) for name in _TABLES}
        return json.dumps(body, sort_keys=True)

    @classmethod
    def from_json(cls, text: object, tools: Iterable[str]) -> TurnState:
        """Reads what `as_json` wrote. What it tells of tools other than `tools` is dropped: the rules have changed since.
        Raises `InvalidInput` for anything else. The text must come from where the agent can't write: it holds approvals."""
        if not isinstance(text, str) or len(text) > _MAX_CHARACTERS:
            raise InvalidInput(f"must be JSON text of at most {_MAX_CHARACTERS:,} characters", path="state")
        try:
            body = strict_json(text)
        except (ValueError, RecursionError):
            raise InvalidInput("isn't JSON as as_json writes it", path="state", advice="begin with a new state") from None
        known = {"version", "turn", "batch", "ended_by", "approved", *_TABLES}
        if not isinstance(body, dict) or body.keys() != known:
            raise InvalidInput("lacks fields, or has others", path="state", advice="begin with a new state")
        if body["version"] != _VERSION or isinstance(body["version"], bool):
            raise InvalidInput("is of another version", path="state.version", advice="begin with a new state")
        named = frozenset(tools)
        state = cls(
            turn=_count("turn", body["turn"], 1),
            batch=_count("batch", body["batch"], 0),
            ended_by=_tool("ended_by", body["ended_by"]),
            approved=_approvals(body["approved"], named),
            counts=_table("counts", body["counts"], named),
            last=_table("last", body["last"], named),
            turns=_table("turns", body["turns"], named),
            times=_times(body["times"], named),
        )
        return state._consistent()

    def _consistent(self) -> TurnState:
        """Returns itself. Raises `InvalidInput` for counts that no sequence of calls gives."""
        called = self.counts.keys()
        if called != self.last.keys() or not called <= self.turns.keys() or self.turns.keys() != self.times.keys():
            raise InvalidInput("contradicts itself", path="state", advice="begin with a new state")
        late = any(number > self.batch for number in self.last.values()) or any(
            number > self.turn for number in self.turns.values()
        )
        if late or any(self.turns[tool] != self.turn for tool in called):
            raise InvalidInput("contradicts itself", path="state", advice="begin with a new state")
        return self


def _count(name: str, value: object, minimum: int) -> int:
    return check_whole_number(f"state.{name}", value, minimum, _MAX_NUMBER)


def _tool(name: str, value: object) -> str:
    if not isinstance(value, str) or len(value) > 256:
        raise InvalidInput("must be the name of a tool", path=f"state.{name}")
    return value


def _mapping(name: str, value: object) -> dict[str, object]:
    return check_type(f"state.{name}", value, dict, "a table by tool")


def _table(name: str, value: object, named: frozenset[str]) -> dict[str, int]:
    counts = {_tool(name, tool): _count(name, count, 1) for tool, count in _mapping(name, value).items()}
    return {tool: count for tool, count in counts.items() if tool in named}


def _times(value: object, named: frozenset[str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for tool, moment in _mapping("times", value).items():
        seconds = check_number("state.times", moment, -_MAX_NUMBER, _MAX_NUMBER, unit="Unix seconds")
        if _tool("times", tool) in named:
            found[tool] = seconds
    return found


def _approvals(value: object, named: frozenset[str]) -> tuple[Approval, ...]:
    if not isinstance(value, list) or len(value) > _MAX_APPROVALS:
        raise InvalidInput(f"must be a list of at most {_MAX_APPROVALS}", path="state.approved")
    found: list[Approval] = []
    for index, each in enumerate(value):
        if not isinstance(each, list) or len(each) != 2 or not isinstance(each[1], str) or not _HASH.fullmatch(each[1]):
            raise InvalidInput("must be a tool and a hash", path=f"state.approved[{index}]")
        found.append(Approval(_tool("approved", each[0]), each[1]))
    return tuple(each for each in found if each.tool in named)


# The arguments of a call, which a model wrote as JSON.


def read_arguments(call: ToolCall) -> dict[str, Any] | None:
    """Returns the arguments as an object. None for text that isn't a JSON object, and for one that has a key twice: which of
    the two a tool would take isn't known."""
    try:
        value = strict_json(call.arguments or "{}")
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def digest_of_call(call: ToolCall) -> str:
    """Returns the SHA-256 (hex) of the tool's name and its arguments. The order of keys and white space don't matter."""
    arguments = read_arguments(call)
    try:
        text = f"text:{call.arguments}" if arguments is None else f"json:{json.dumps(arguments, sort_keys=True)}"
    except RecursionError:
        text = f"text:{call.arguments}"
    name = call.name.encode("utf-8", "surrogatepass")
    return sha256(len(name).to_bytes(8, "big") + name + text.encode("utf-8", "surrogatepass")).hexdigest()


# JSON that no two readers can read differently: no key twice, no NaN and no infinity.


def strict_json(text: str) -> Any:
    """Returns the value. Raises `ValueError` for text that isn't such JSON, and `RecursionError` for one that is too deep."""
    return json.loads(text, object_pairs_hook=_once, parse_constant=_refused)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key twice")
    return found


def _refused(constant: str) -> float:
    raise ValueError(constant)
