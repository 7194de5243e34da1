"""Digest settings: the strategy `digest`, and what the table `memory.v1` changes of it (DIG-2, DIG-4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, get_args

from germane.api.strategies import DEFAULT
from germane.errors import InvalidInput
from germane.profile.offered import OFFERED
from germane.types.candidate import Sensitivity
from germane.types.limits import shown
from germane.types.strategy import Cap, Shares, SourcePlan, Strategy

__all__ = ["DIGEST", "digest_strategy"]

_WHERE = "memory.v1"
_CAPS = {
    "fact": Cap(items=6, chars=800),
    "note": Cap(items=4, chars=1200),
    "procedure": Cap(items=3, chars=1200),
    "episode": Cap(items=2, chars=800),
    "instruction": Cap(items=4, chars=800),
    "about": Cap(items=2, chars=400),
}
_TOTAL = Cap(items=12, chars=2400)
_SHARING = {"preference": "fact", "behavior": "fact"}
"""Kinds that count against another kind's budget, unless they have one of their own."""
_STRUCTURED, _KEYWORD, _SEMANTIC = 20, 60, 20
_SETTINGS = {
    "enabled": (),
    "allow_sensitivities": (),
    "structured": ("fact_keys", "tags"),
    "keyword": ("enabled", "limit"),
    "semantic": ("enabled", "limit"),
    "budgets": ("total", *_CAPS, *_SHARING),
}

DIGEST = replace(
    DEFAULT,
    name="digest",
    sources=(
        SourcePlan(name="directive"),
        SourcePlan(name="structured", limit=_STRUCTURED),
        SourcePlan(name="profile", limit=OFFERED),
        SourcePlan(name="memories", limit=_KEYWORD, vectors=False),
        SourcePlan(name="semantic", limit=0, keywords=False),
    ),
    format="digest",
    shares=Shares(kinds=_CAPS, total=_TOTAL, pools=_SHARING),
    sensitivities=("public", "private"),
)
"""Memories alone, as a list with ids and provenance, within a few items and characters; no stored messages."""


def digest_strategy(memory: Mapping[str, Any]) -> Strategy:
    """`DIGEST` with the changes of the table `memory`, whose only key is `v1`. What isn't given keeps its default at every
    level. Raises `InvalidInput` that names the setting."""
    given = _table(_table(memory, "memory", ("v1",)).get("v1", {}), _WHERE, _SETTINGS)
    of = {name: _table(given.get(name, {}), f"{_WHERE}.{name}", known) for name, known in _SETTINGS.items() if known}
    plans = {plan.name: plan for plan in DIGEST.sources}
    for name, source in (("keyword", "memories"), ("semantic", "semantic")):
        limit = _count(of[name].get("limit", _KEYWORD if name == "keyword" else _SEMANTIC), f"{_WHERE}.{name}.limit")
        wanted = _flag(of[name].get("enabled", name == "keyword"), f"{_WHERE}.{name}.enabled")
        plans[source] = replace(plans[source], limit=limit if wanted else 0)
    if not _flag(given.get("enabled", True), f"{_WHERE}.enabled"):
        plans = {name: plan if name == "directive" else replace(plan, limit=0) for name, plan in plans.items()}
    caps = {kind: _cap(_CAPS.get(kind, Cap()), budget, kind) for kind, budget in of["budgets"].items() if kind != "total"}
    total = _cap(_TOTAL, of["budgets"].get("total", {}), "total")
    shares = Shares(
        kinds=_CAPS | caps,
        total=replace(total, tokens=None),
        pools={kind: pool for kind, pool in _SHARING.items() if kind not in caps},
    )
    try:
        return replace(
            DIGEST,
            sources=tuple(plans.values()),
            shares=shares,
            cap=DIGEST.cap if total.tokens is None else total.tokens,
            fact_keys=_names(of["structured"].get("fact_keys", ()), "fact_keys"),
            tags=_names(of["structured"].get("tags", ()), "tags"),
            sensitivities=_sensitivities(given.get("allow_sensitivities", DIGEST.sensitivities)),
        )
    except InvalidInput as error:
        raise InvalidInput(f"{_WHERE}: {error}") from error


def _table(value: object, where: str, known: Any) -> Mapping[str, Any]:
    """The table; an empty one for None, as YAML writes an empty section."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{where} must be a table, not {type(value).__name__}")
    if strangers := sorted(str(name) for name in value if name not in known):
        raise InvalidInput(f"{where} takes {', '.join(known)}, not {', '.join(strangers)}")
    return value


def _cap(default: Cap, value: object, kind: str) -> Cap:
    where = f"{_WHERE}.budgets.{kind}"
    try:
        return replace(default, **_table(value, where, [field.name for field in fields(Cap)]))
    except InvalidInput as error:
        raise InvalidInput(f"{where}: {error}" if where not in str(error) else str(error)) from error


def _count(value: object, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InvalidInput(f"{where} must be a whole number, 0 or more, not {shown(value)}")
    return value


def _flag(value: object, where: str) -> bool:
    if not isinstance(value, bool):
        raise InvalidInput(f"{where} must be true or false, not {shown(value)}")
    return value


def _names(value: object, name: str) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, list | tuple) or not all(isinstance(one, str) for one in value):
        raise InvalidInput(f"{_WHERE}.structured.{name} must be a list of strings, not {shown(value)}")
    return tuple(value)


def _sensitivities(value: object) -> tuple[Sensitivity, ...]:
    known = get_args(Sensitivity)
    if isinstance(value, str) or not isinstance(value, list | tuple) or not all(one in known for one in value):
        raise InvalidInput(f"{_WHERE}.allow_sensitivities must be a list of {', '.join(known)}, not {shown(value)}")
    return tuple(value)
