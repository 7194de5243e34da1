"""Handle of the profile: one call of `profile`: the lines that each context of a scope has, with their reasons (PERSON-1)."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from germane.api.arguments import build_request, number
from germane.api.strategies import COMPACT
from germane.api.wiring import Parts
from germane.errors import InvalidInput, NotFound
from germane.kinds.profile.offer import MAX_OFFERED, offered_lines
from germane.kinds.profile.reads import LineMarks, mark_line, parse_clause_name
from germane.kinds.profile.value import Mark, ProfileView, ViewedLine
from germane.stages.gather.memories import PROFILE
from germane.stores.contract import ScopedStore
from germane.types.candidate import ProfileLine
from germane.types.limits import COUNT
from germane.types.query import Query
from germane.types.scope import Scope
from germane.types.strategy import SourcePlan, Strategy

_TAG_TOKENS = 200
"""Tokens of what stands around the lines: tags and headers."""
_MIN_PREFIX = 4
"""Characters that the beginning of an id has at least."""
_MAX_NAMED = 5
"""Lines that an ambiguous beginning names."""


async def look_at_profile(parts: Parts, scope: Scope, *, at: datetime | None, tokens: int | None) -> ProfileView:
    """See `Agent.profile`."""
    if tokens is not None:
        number("tokens", tokens, maximum=COUNT.maximum)
    store, budget = parts.store.within(scope), parts.strategies.find("default").profile if tokens is None else tokens
    request = build_request(
        scope=scope,
        messages=(),
        model="gpt-4o",
        query="",
        at=at,
        max_tokens=budget + _TAG_TOKENS,
        catalog=parts.catalog,
        clock=parts.clock,
    )
    context = await parts.engine.assemble(request, store, _strategy(budget))
    hidden = (await offered_lines(store, Query(text="", at=request.at, dated=at is not None), MAX_OFFERED)).hidden
    lines = tuple(_viewed(item.scored.candidate.line, item.tokens) for item in context.items)
    others = (_viewed(one.scored.candidate.line, one.tokens, one.reason) for one in context.trace.left_out)
    return ProfileView(
        lines=lines,
        left_out=(*others, *(_viewed(one.line, reason="hidden") for one in hidden)),
        tokens=sum(line.tokens or 0 for line in lines),
        budget=budget,
        text=context.added,
    )


async def mark_named_line(parts: Parts, scope: Scope, name: str, mark: Mark | None) -> str:
    """See `Agent.mark_line`. Returns the whole id of the line."""
    store, now = parts.store.within(scope), parts.clock.now()
    try:
        await store.commit(mark_line(name, mark, at=now))
    except NotFound:
        line = await _whole_id(store, name, now)
        await store.commit(mark_line(line, mark, at=now))
        return line
    return name


def _strategy(budget: int) -> Strategy:
    return replace(
        COMPACT, name=PROFILE, sources=(SourcePlan(name=PROFILE, limit=MAX_OFFERED),), profile=budget, cap=budget + _TAG_TOKENS
    )


def _viewed(line: ProfileLine | None, tokens: int | None = None, reason: str = "") -> ViewedLine:
    assert line is not None, "the profile source offers lines"
    return ViewedLine(
        id=line.id,
        kind=line.kind,
        text=line.text,
        why=line.why,
        worth=line.worth,
        said_at=line.said_at,
        tokens=tokens,
        pinned=line.pinned,
        memory=line.id if parse_clause_name(line.id) is None else None,
        message=line.origin or None,
        reason=reason,
    )


async def _whole_id(store: ScopedStore, name: str, now: datetime) -> str:
    """The id of the only line that `name` is the beginning of: of its id or, with `@` and the place at which the clause begins,
    of its message's."""
    if len(name) >= _MIN_PREFIX:
        offered = await offered_lines(store, Query(text="", at=now), MAX_OFFERED)
        known = {one.line.id for one in (*offered.lines, *offered.hidden)} | set(await store.ask(LineMarks()))
        found = sorted(id for id in known if _begins(id, name))
        if len(found) > 1:
            several = ", ".join(found[:_MAX_NAMED])
            raise InvalidInput(f"line {{}} stands for {len(found)} lines here: {several}. Give more of it", name)
        if found:
            return found[0]
    raise NotFound("there is no line {} in this profile: give the id of a line that it shows, or its beginning", name)


def _begins(id: str, name: str) -> bool:
    head, _, place = name.partition("@")
    start, _, _ = id.partition("@")[2].partition("-")
    return id.startswith(name) or (len(head) >= _MIN_PREFIX and id.startswith(head) and bool(place) and place == start)
