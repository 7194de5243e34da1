"""Wording: the tool rules as the text that an agent's prompt holds, under `# Tool Execution Rules` (RULE-1).

The rules stand by kind and then by tool, whatever order they were given in, so that a provider's prompt cache holds. Names are
written so that none can end its line, leave its backquotes or imitate a token of a chat template.
"""

from __future__ import annotations

from collections.abc import Iterable

from germane.tool_rules.value import (
    RULE_KINDS,
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

HEADING_OF_RULES = "# Tool Execution Rules"

_SIGNS = frozenset("_-.:/ ")
"""The characters of a name, beside letters and digits, that are written as they are."""
_INVISIBLE = frozenset("\u115f\u1160\u3164\uffa0")
"""Letters that have no shape."""


def write_rules(rules: Iterable[ToolRule]) -> str:
    """Returns the heading, an empty line and a line for each rule; empty without rules."""
    ordered = sorted(dict.fromkeys(rules), key=lambda rule: (RULE_KINDS.index(type(rule)), rule.tools_named, repr(rule)))
    return "\n".join((HEADING_OF_RULES, "", *(f"- {sentence(rule)}" for rule in ordered))) if ordered else ""


def sentence(rule: ToolRule) -> str:
    """Returns the rule as one line for the model."""
    match rule:
        case StartWith():
            return f"Call {quoted(rule.tool)} first before any other tools"
        case EndsTurn():
            return f"The conversation will end after calling {quoted(rule.tool)}"
        case ContinuesTurn():
            return f"The conversation will be continued after calling {quoted(rule.tool)}"
        case MaxCalls():
            return f"Call {quoted(rule.tool)} at most {rule.count} times"
        case RequiresPrior():
            return f"Call {quoted(rule.tool)} only after calling {quoted(rule.prior)}"
        case FollowedBy():
            return f"After calling {quoted(rule.tool)}, call {quoted(rule.then)} before the conversation ends"
        case RequiredBeforeExit():
            return f"Call {quoted(rule.tool)} before the conversation ends"
        case ToolCooldown(seconds=float() | int() as seconds):
            shown = f"{seconds:.3f}".rstrip("0").rstrip(".")
            return f"After calling {quoted(rule.tool)}, wait at least {shown} seconds before calling it again"
        case ToolCooldown():
            return f"Call {quoted(rule.tool)} at most once in {rule.turns} turns"
        case ExclusiveGroup():
            return f"Call only one of {', '.join(map(quoted, sorted(rule.tools)))} in one turn"
        case Periodic():
            return f"Call {quoted(rule.tool)} at least once in {rule.turns} turns"
        case RequiresConsent():
            return f"Calling {quoted(rule.tool)} needs the consent of the {rule.of}"
        case AllowedOperations():
            operations = ", ".join(map(quoted, rule.allowed))
            return f"Call {quoted(rule.tool)} only with {quoted(rule.argument)} set to one of {operations}"


def quoted(name: str) -> str:
    """Returns the name in backquotes. Characters other than letters, digits and `_-.:/` and space are written as `\\u…`, so
    that different names look different."""
    return f"`{''.join(char if _is_plain(char) else _escaped(char) for char in name)}`"


def _is_plain(char: str) -> bool:
    return char in _SIGNS or (char.isalnum() and char.isprintable() and char not in _INVISIBLE)


def _escaped(char: str) -> str:
    return f"\\u{ord(char):04x}" if ord(char) <= 0xFFFF else f"\\U{ord(char):08x}"
