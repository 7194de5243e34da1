"""Digest: the memory digest of one request as a text of its own, and the strategy `digest` with its settings (DIG-2 to DIG-4).

The digest is for prompts that the caller builds. The table `memory.v1` of the settings, or of an agent.yml, changes the
strategy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, get_args

from germane.api.strategies import DEFAULT
from germane.errors import InvalidInput
from germane.kinds.profile.offer import MAX_OFFERED
from germane.stages.write.formats import DIGEST_HEADING
from germane.types.candidate import Chosen, Sensitivity
from germane.types.checks import check_flag, check_type, check_whole_number
from germane.types.context import Context
from germane.types.strategy import Cap, Shares, SourcePlan, Strategy
from germane.types.trace import Trace

DigestStatus = Literal["", "disabled by config", "no allowed sensitivities", "no matching memory", "unavailable"]


_LINE_TOKENS = 14
"""Tokens of the longest line with a status, by any tokenizer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryDigest:
    """`text` is the prompt part: the list, or one line with the status where there is nothing to list; empty where the limit is
    too small for the line. `status` is empty where there is a list. `tokens` are those of the list."""

    text: str
    status: DigestStatus
    items: tuple[Chosen, ...]
    tokens: int
    trace: Trace


def without_directive(strategy: Strategy) -> Strategy:
    """The strategy for a text that holds neither a directive nor blocks."""
    plans = tuple(plan for plan in strategy.sources if plan.name not in ("directive", "blocks"))
    return replace(strategy, sources=plans, placement="split")


def digest_of(
    context: Context, strategy: Strategy, allowed: tuple[Sensitivity, ...], max_tokens: int | None = None
) -> MemoryDigest:
    """The digest in a context that `strategy` without a directive made, within `max_tokens`."""
    status = _status(context, strategy, allowed)
    line = f"{DIGEST_HEADING} {status}" if status and (max_tokens is None or max_tokens >= _LINE_TOKENS) else ""
    return MemoryDigest(
        text=line if status else context.added,
        status=status,
        items=context.items,
        tokens=context.metadata.total_tokens_injected,
        trace=context.trace,
    )


def _status(context: Context, strategy: Strategy, allowed: tuple[Sensitivity, ...]) -> DigestStatus:
    if context.items:
        return ""
    if not any(plan.limit > 0 for plan in strategy.sources):
        return "disabled by config"
    if not allowed:
        return "no allowed sensitivities"
    return "unavailable" if context.metadata.degradation_level else "no matching memory"


# The strategy `digest`, and what the table `memory.v1` changes of it (DIG-2, DIG-4).


_TABLE_NAME = "memory.v1"
_CAPS = {
    "fact": Cap(items=6, chars=800),
    "note": Cap(items=4, chars=1200),
    "procedure": Cap(items=3, chars=1200),
    "episode": Cap(items=2, chars=800),
    "instruction": Cap(items=4, chars=800),
    "about": Cap(items=2, chars=400),
}
_TOTAL_CAP = Cap(items=12, chars=2400)
_SHARED_CAPS = {"preference": "fact", "behavior": "fact"}
"""Kinds that count against another kind's budget, unless they have one of their own."""
_STRUCTURED, _KEYWORD, _SEMANTIC = 20, 60, 20
_SETTINGS = {
    "enabled": (),
    "allow_sensitivities": (),
    "structured": ("fact_keys", "tags"),
    "keyword": ("enabled", "limit"),
    "semantic": ("enabled", "limit"),
    "budgets": ("total", *_CAPS, *_SHARED_CAPS),
}

DIGEST = replace(
    DEFAULT,
    name="digest",
    sources=(
        SourcePlan(name="directive"),
        SourcePlan(name="structured", limit=_STRUCTURED),
        SourcePlan(name="profile", limit=MAX_OFFERED),
        SourcePlan(name="memories", limit=_KEYWORD, vectors=False),
        SourcePlan(name="semantic", limit=0, keywords=False),
    ),
    format="digest",
    shares=Shares(kinds=_CAPS, total=_TOTAL_CAP, pools=_SHARED_CAPS),
    sensitivities=("public", "private"),
)
"""Memories alone, as a list with ids and provenance, within a few items and characters; no stored messages."""


def digest_strategy(memory: Mapping[str, Any]) -> Strategy:
    """`DIGEST` with the changes of the table `memory`, whose only key is `v1`. What isn't given keeps its default at every
    level. Raises `InvalidInput` that names the setting."""
    given = _table(_table(memory, "memory", ("v1",)).get("v1", {}), _TABLE_NAME, _SETTINGS)
    of = {name: _table(given.get(name, {}), f"{_TABLE_NAME}.{name}", known) for name, known in _SETTINGS.items() if known}
    plans = {plan.name: plan for plan in DIGEST.sources}
    for name, source in (("keyword", "memories"), ("semantic", "semantic")):
        limit = check_whole_number(
            f"{_TABLE_NAME}.{name}.limit", of[name].get("limit", _KEYWORD if name == "keyword" else _SEMANTIC)
        )
        wanted = check_flag(f"{_TABLE_NAME}.{name}.enabled", of[name].get("enabled", name == "keyword"))
        plans[source] = replace(plans[source], limit=limit if wanted else 0)
    if not check_flag(f"{_TABLE_NAME}.enabled", given.get("enabled", True)):
        plans = {name: plan if name == "directive" else replace(plan, limit=0) for name, plan in plans.items()}
    caps = {kind: _cap(_CAPS.get(kind, Cap()), budget, kind) for kind, budget in of["budgets"].items() if kind != "total"}
    total = _cap(_TOTAL_CAP, of["budgets"].get("total", {}), "total")
    shares = Shares(
        kinds=_CAPS | caps,
        total=replace(total, tokens=None),
        pools={kind: pool for kind, pool in _SHARED_CAPS.items() if kind not in caps},
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
        raise error.under(_TABLE_NAME) from error


def _table(value: object, where: str, known: Any) -> Mapping[str, Any]:
    """The table; an empty one for None, as YAML writes an empty section."""
    if value is None:
        return {}
    table: Mapping[str, Any] = check_type(where, value, Mapping, "a table")
    if strangers := sorted(str(name) for name in table if name not in known):
        raise InvalidInput(f"takes {', '.join(known)}, not {', '.join(strangers)}", path=where)
    return table


def _cap(default: Cap, value: object, kind: str) -> Cap:
    where = f"{_TABLE_NAME}.budgets.{kind}"
    try:
        return replace(default, **_table(value, where, [field.name for field in fields(Cap)]))
    except InvalidInput as error:
        raise (error if error.path.startswith(where) else error.within(where)) from error


def _names(value: object, name: str) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, list | tuple) or not all(isinstance(one, str) for one in value):
        raise InvalidInput("must be a list of strings, not {}", value, path=f"{_TABLE_NAME}.structured.{name}")
    return tuple(value)


def _sensitivities(value: object) -> tuple[Sensitivity, ...]:
    known = get_args(Sensitivity)
    if isinstance(value, str) or not isinstance(value, list | tuple) or not all(one in known for one in value):
        raise InvalidInput(f"must be a list of {', '.join(known)}, not {{}}", value, path=f"{_TABLE_NAME}.allow_sensitivities")
    return tuple(value)
