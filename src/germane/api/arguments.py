"""Arguments: checks of what a caller passes, before any work is done. Errors name the argument.

How much of anything is allowed is in `types/limits.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Any, get_args

from germane.api.check_messages import conversation
from germane.blocks.label import label_key
from germane.catalog.catalog import Catalog
from germane.catalog.profile import Profile
from germane.clock import Clock, aware
from germane.compaction.strategy import CompactionStrategy, Summarise
from germane.dialects.registry import dialect, parse, parse_all
from germane.dialects.system_prompt import system_prompt
from germane.errors import InvalidInput
from germane.memories.memory import KINDS
from germane.pipeline.history_stage import HistoryTerms
from germane.text.secrets.screen import SecretPolicy, SecretScreen
from germane.types.answer_time import check_answer_time
from germane.types.effort import Effort, price
from germane.types.extent import Extent
from germane.types.limits import (
    BLOCKS_NAMED,
    CHARACTERS,
    COUNT,
    ID,
    IDS,
    MESSAGES,
    NAME,
    QUERY,
    REMARK,
    TOOL_CHARACTERS,
    TOOLS,
    Limit,
    entries,
    shown,
    text,
    within,
)
from germane.types.message import Message
from germane.types.named_task import named_task
from germane.types.query import Filters
from germane.types.request import Request
from germane.types.scope import Scope

__all__ = [
    "System",
    "build_request",
    "flags",
    "given_filters",
    "history_terms",
    "identifiers",
    "named_model",
    "normalise_filters",
    "number",
    "optional",
    "remarks",
]

System = str | Sequence[str | Mapping[str, Any]] | Mapping[str, Any]
"""A system prompt beside the messages: a text, text blocks, or Gemini's system instruction (`dialects/system_prompt.py`)."""
_NO_FILTERS = Filters()


def build_request(
    *,
    scope: Scope,
    catalog: Catalog,
    clock: Clock,
    messages: Sequence[Mapping[str, Any] | Message],
    model: str,
    provider: str | None = None,
    at: datetime | None = None,
    tools: Sequence[Mapping[str, Any]] | None = None,
    query: str | None = None,
    deadline: float | None = None,
    max_tokens: int | None = None,
    filters: Filters | None = None,
    effort: Effort | float | None = None,
    window: int | None = None,
    like: str | None = None,
    system: System | None = None,
    blocks: Sequence[str] = (),
    task: str | bool | None = None,
) -> Request:
    """Checks every argument and returns the request. Raises `InvalidInput` for the first argument that can't be used. The
    messages are parsed last."""
    named_model(model)
    given = conversation(messages, MESSAGES)
    Extent("system", CHARACTERS).part("system", system)
    if not given and query is None:
        raise InvalidInput("messages is empty: give at least one, or a query")
    if query is not None:
        text("query", query, QUERY, valid=False)
    if deadline is not None:
        check_answer_time("deadline", deadline, forever="waits for every source")
    schemas = _tools(tools)
    when = clock.now() if at is None else _moment("at", at, scope.zone)
    cap = None if max_tokens is None else number("max_tokens", max_tokens, maximum=COUNT.maximum)
    chosen = normalise_filters(filters, scope.zone) or _NO_FILTERS
    if effort is not None:
        price(effort)
    named = entries("blocks", blocks, BLOCKS_NAMED, ID)
    profile = _profile(catalog, model, like, window)
    name = profile.provider if provider is None else text("provider", provider, NAME)
    dialect(name)
    own = system_prompt(system, name)
    first = () if own is None else (own,)
    return Request(
        scope=scope,
        messages=(*map(partial(parse, prefer=name), first), *parse_all(given, name)),
        raw=(*first, *given),
        model=model,
        provider=name,
        mid_system=profile.mid_system,
        binds_thinking=profile.binds_thinking(name),
        at=when,
        dated=at is not None,
        tools=schemas,
        query=query,
        deadline=deadline,
        max_tokens=cap,
        filters=chosen,
        effort=effort,
        window=window,
        like=like,
        blocks=tuple(dict.fromkeys(label_key(one, f"blocks[{index}]") for index, one in enumerate(named))),
        has_system=own is not None,
        task=named_task(task, scope.session),
    )


def history_terms(history: object, tokens: int | None) -> HistoryTerms | None:
    """Returns what `history=` and `history_tokens=` ask for, None for nothing. Raises `InvalidInput`."""
    most = None if tokens is None else number("history_tokens", tokens, minimum=1, maximum=COUNT.maximum)
    if history is False or (history is None and most is None):
        return None
    strategy = Summarise() if history in (None, True) else history
    if not isinstance(strategy, get_args(CompactionStrategy)):
        raise InvalidInput(f"history must be True, Truncate, Summarise, Importance or TimeDecay, not {shown(history)}")
    return HistoryTerms(strategy=strategy, max_tokens=most)


def named_model(model: object) -> str:
    """Returns the model's name as given, also when the catalog doesn't know it. Raises `InvalidInput`."""
    if not isinstance(model, str) or not text("model", model, NAME).strip():
        raise InvalidInput(f"model must be a name such as 'gpt-4o', not {shown(model)}")
    return model


def normalise_filters(filters: Filters | None, zone: str) -> Filters | None:
    """Returns the filters with their times in UTC; naive times are local to `zone` (SCOPE-4). Raises `InvalidInput` for unknown
    kinds of memory, and where `since` is after `until`."""
    if (filters := given_filters(filters)) is None:
        return None
    if strangers := sorted(set(filters.kinds or ()) - KINDS.keys()):
        raise InvalidInput(f"filters: unknown kinds {strangers[:5]}: they are {', '.join(KINDS)}")
    if filters.since is None and filters.until is None:
        return filters
    since = None if filters.since is None else aware(filters.since, zone, "filters: since")
    until = None if filters.until is None else aware(filters.until, zone, "filters: until")
    if since is not None and until is not None and since > until:
        raise InvalidInput(f"filters: since {since.isoformat()} is after until {until.isoformat()}: nothing lies between")
    return replace(filters, since=since, until=until)


def given_filters(filters: object) -> Filters | None:
    """Raises `InvalidInput` for what isn't a `Filters`."""
    if filters is None or isinstance(filters, Filters):
        return filters
    raise InvalidInput(f"filters must be a Filters, such as Filters(tags=['work']), not {type(filters).__name__}")


def number(name: str, value: object, *, minimum: int = 0, maximum: int | None = None) -> int:
    """Returns `value`, a whole number within these bounds. Raises `InvalidInput`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < minimum or (maximum is not None and value > maximum):
        allowed = f"{minimum} or more" if maximum is None else f"{minimum} to {maximum:,}"
        raise InvalidInput(f"{name} must be a whole number, {allowed}, not {shown(value)}")
    return value


def identifiers(value: object) -> tuple[str, ...]:
    """Returns the ids as a tuple; a single id may come as a string. Raises `InvalidInput`."""
    return entries("ids", (value,) if isinstance(value, str) else value, IDS, ID)


def optional(name: str, value: object, limit: Limit) -> None:
    """Checks a text that may be None. Raises `InvalidInput`."""
    if value is not None:
        text(name, value, limit)


def flags(**given: object) -> None:
    """Checks that each argument is True or False. Raises `InvalidInput`, also for other truthy values."""
    for name, value in given.items():
        if not isinstance(value, bool):
            raise InvalidInput(f"{name} must be True or False, not {shown(value)}")


def _profile(catalog: Catalog, model: str, like: object, window: object) -> Profile:
    """Returns the model's profile. Raises `InvalidInput` for a `like` that the catalog doesn't list, and for a window that is
    no size."""
    known = None if like is None else text("like", like, NAME)
    size = None if window is None else number("window", window, minimum=1, maximum=COUNT.maximum)
    return catalog.find(model, like=known, window=size)


def _tools(tools: object) -> tuple[Mapping[str, Any], ...]:
    if tools is None:
        return ()
    if isinstance(tools, str | bytes | Mapping) or not isinstance(tools, Iterable):
        raise InvalidInput(f"tools must be a list of tool schemas, not {type(tools).__name__}")
    found = tuple(islice(tools, TOOLS.maximum + 1))
    within("tools", len(found), TOOLS, at_least=True)
    extent = Extent("tools", TOOL_CHARACTERS)
    for index, tool in enumerate(found):
        if not isinstance(tool, Mapping):
            raise InvalidInput(f"tools[{index}] must be a tool's schema as a dict, not {type(tool).__name__}")
        extent.part(f"tools[{index}]", tool)
    return found


def _moment(name: str, value: object, zone: str) -> datetime:
    if not isinstance(value, datetime):
        raise InvalidInput(f"{name} must be a datetime, not {type(value).__name__}")
    return aware(value, zone, name)


def remarks(secrets: SecretPolicy, by: str, reason: str = "") -> dict[str, Any]:
    """Returns who did something and why, as it is stored. Raises `InvalidInput`."""
    return {
        name: SecretScreen(secrets, name).text(text(name, value, REMARK)) for name, value in (("by", by), ("reason", reason))
    }
