"""Tool rules as values: the kinds of rules about tools, and what the rules say about a call.

Each rule has a form as a dict, for settings and the wire. A *turn* is everything that an agent does for one message of
the user's; a *batch* is the calls of one answer of the model's, which may run at the same time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, get_args

from germane.errors import InvalidInput, UnknownName
from germane.types.checks import check_entries, check_number, check_one_of, check_text, check_whole_number
from germane.types.codec import tagged
from germane.types.limits import Limit

ConsentOf = Literal["partner", "human"]

_TOOL_LIMIT = Limit(maximum=256, unit="characters", of="the name of a tool", why="providers take 64 or 128")
_VALUE_LIMIT = Limit(maximum=256, unit="characters", of="each of a rule's `allowed`", why="an operation is a word")
_VALUES_LIMIT = Limit(maximum=256, unit="entries", of="`allowed`, and `tools` of a group", why="the prompt lists each")
_MAX_COUNT = 1_000_000
_MAX_SECONDS = 365 * 86_400.0


class _Rule:
    """What all kinds share: a name for the wire, the tools that a rule is about, and the check of the fields."""

    __slots__ = ()
    kind: ClassVar[str]

    @property
    def tools_named(self) -> tuple[str, ...]:
        """Every tool that the rule names."""
        named: list[str] = []
        for name in ("tool", "prior", "then", "tools"):
            value = getattr(self, name, ())
            named += [value] if isinstance(value, str) else value
        return tuple(named)

    def __str__(self) -> str:
        """The rule as code, such as `MaxCalls(tool='search', count=3)`, for messages to the operator who wrote it."""
        return repr(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class StartWith(_Rule):
    """`tool` must be called before any other tool of the turn, and in an earlier batch."""

    kind: ClassVar[str] = "start"
    tool: str

    def __post_init__(self) -> None:
        _tools(self, "tool")


@dataclass(frozen=True, slots=True, kw_only=True)
class EndsTurn(_Rule):
    """The turn ends after a call of `tool`."""

    kind: ClassVar[str] = "ends"
    tool: str

    def __post_init__(self) -> None:
        _tools(self, "tool")


@dataclass(frozen=True, slots=True, kw_only=True)
class ContinuesTurn(_Rule):
    """The turn goes on after a call of `tool`: the model is asked again."""

    kind: ClassVar[str] = "continues"
    tool: str

    def __post_init__(self) -> None:
        _tools(self, "tool")


@dataclass(frozen=True, slots=True, kw_only=True)
class MaxCalls(_Rule):
    """`tool` may be called at most `count` times in a turn."""

    kind: ClassVar[str] = "max_calls"
    tool: str
    count: int

    def __post_init__(self) -> None:
        _tools(self, "tool")
        _number(self, "count")


@dataclass(frozen=True, slots=True, kw_only=True)
class RequiresPrior(_Rule):
    """`tool` may be called only after `prior` was called in an earlier batch of the turn."""

    kind: ClassVar[str] = "requires_prior"
    tool: str
    prior: str

    def __post_init__(self) -> None:
        _tools(self, "tool", "prior")


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowedBy(_Rule):
    """After `tool` was called, `then` must be called in a later batch before the turn ends."""

    kind: ClassVar[str] = "followed_by"
    tool: str
    then: str

    def __post_init__(self) -> None:
        _tools(self, "tool", "then")


@dataclass(frozen=True, slots=True, kw_only=True)
class RequiredBeforeExit(_Rule):
    """`tool` must be called in every turn before it ends."""

    kind: ClassVar[str] = "required_before_exit"
    tool: str

    def __post_init__(self) -> None:
        _tools(self, "tool")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCooldown(_Rule):
    """Between two calls of `tool` at least `seconds` pass, or, with `turns`, it is called at most once in that many turns in a
    row. Exactly one of the two is given."""

    kind: ClassVar[str] = "cooldown"
    tool: str
    seconds: float | None = None
    turns: int | None = None

    def __post_init__(self) -> None:
        _tools(self, "tool")
        if (self.seconds is None) == (self.turns is None):
            raise InvalidInput("needs seconds or turns, one of the two", path="cooldown")
        if self.turns is not None:
            _number(self, "turns")
        else:
            check_number("cooldown.seconds", self.seconds, 0, _MAX_SECONDS, above=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExclusiveGroup(_Rule):
    """Of these tools only one may be called in a turn, as often as its other rules allow."""

    kind: ClassVar[str] = "exclusive"
    tools: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "tools", tuple(dict.fromkeys(check_entries("exclusive.tools", self.tools, _VALUES_LIMIT, _TOOL_LIMIT)))
        )
        if len(self.tools) < 2 or not all(map(str.strip, self.tools)):
            raise InvalidInput("must be two names at least, none of them empty", path="exclusive.tools")


@dataclass(frozen=True, slots=True, kw_only=True)
class Periodic(_Rule):
    """`tool` must be called at least once in `turns` turns: in the last of them it is due before the turn ends."""

    kind: ClassVar[str] = "periodic"
    tool: str
    turns: int

    def __post_init__(self) -> None:
        _tools(self, "tool")
        _number(self, "turns")


@dataclass(frozen=True, slots=True, kw_only=True)
class RequiresConsent(_Rule):
    """Each call of `tool` needs the consent of `of`: the partner (the agent's owner) or a human."""

    kind: ClassVar[str] = "consent"
    tool: str
    of: ConsentOf = "human"

    def __post_init__(self) -> None:
        _tools(self, "tool")
        check_one_of("consent.of", self.of, get_args(ConsentOf))


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedOperations(_Rule):
    """`tool` may be called only with a string of `allowed` as its argument `argument`."""

    kind: ClassVar[str] = "allowed_operations"
    tool: str
    allowed: tuple[str, ...]
    argument: str = "operation"

    def __post_init__(self) -> None:
        _tools(self, "tool", "argument")
        given = check_entries("allowed_operations.allowed", self.allowed, _VALUES_LIMIT, _VALUE_LIMIT)
        object.__setattr__(self, "allowed", tuple(dict.fromkeys(given)))
        if not self.allowed:
            raise InvalidInput(
                "must name an operation at least; don't offer a tool that has none", path="allowed_operations.allowed"
            )


ToolRule = (
    StartWith
    | EndsTurn
    | ContinuesTurn
    | MaxCalls
    | RequiresPrior
    | FollowedBy
    | RequiredBeforeExit
    | ToolCooldown
    | ExclusiveGroup
    | Periodic
    | RequiresConsent
    | AllowedOperations
)

RULE_KINDS: tuple[type[ToolRule], ...] = get_args(ToolRule)
"""Every kind, in the order in which the prompt lists them."""
tagged("kind", {kind.kind: kind for kind in RULE_KINDS})


def parse_rule(raw: object, path: str = "rule") -> ToolRule:
    """Reads `{"kind": "max_calls", "tool": "search", "count": 3}`. Raises `InvalidInput`, and `UnknownName` for an unknown
    kind."""
    if not isinstance(raw, Mapping):
        problem = f"must be a dict such as {{'kind': 'start', 'tool': 'search'}}, not {type(raw).__name__}"
        raise InvalidInput(problem, path=path)
    kinds = {kind.kind: kind for kind in RULE_KINDS}
    name = raw.get("kind")
    kind = kinds.get(name) if isinstance(name, str) else None
    if kind is None:
        raise UnknownName("{} is unknown", name, path=f"{path}.kind", advice=f"give one of {', '.join(kinds)}")
    known = [field.name for field in fields(kind)]
    given = {key: value for key, value in raw.items() if key != "kind"}
    if strangers := [key for key in given if key not in known]:
        raise InvalidInput("has no field {}", strangers[0], path=path, advice=f"it has {', '.join(known)}")
    try:
        return kind(**given)
    except TypeError:
        raise InvalidInput("lacks a field", path=path, advice=f"it has {', '.join(known)}") from None


def rule_as_dict(rule: ToolRule) -> dict[str, Any]:
    """Writes what `parse_rule` reads; fields that are None are left out."""
    values = {field.name: getattr(rule, field.name) for field in fields(rule)}
    return {"kind": rule.kind} | {
        name: list(value) if isinstance(value, tuple) else value for name, value in values.items() if value is not None
    }


def _tools(rule: ToolRule, *names: str) -> None:
    """Raises `InvalidInput` unless each of these fields is a name, and the two are different."""
    values = []
    for name in names:
        value = check_text(f"{rule.kind}.{name}", getattr(rule, name), _TOOL_LIMIT)
        if not value.strip():
            raise InvalidInput("is empty", path=f"{rule.kind}.{name}", advice="give a name")
        values.append(value)
    if len(values) == 2 and values[0] == values[1] and names[1] != "argument":
        raise InvalidInput(f"is the same tool as {names[0]}", path=f"{rule.kind}.{names[1]}", advice="give two")


def _number(rule: ToolRule, name: str) -> None:
    check_whole_number(f"{rule.kind}.{name}", getattr(rule, name), 1, _MAX_COUNT)


# What the rules say about a call (allow, refuse, ask for consent), and what is owed before a turn ends.


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
