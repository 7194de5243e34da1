"""About: one call of `about`: everything that is known about a person or a thing, what holds now first, within a budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from difflib import get_close_matches

from germane.api.arguments import build_request, normalise_filters
from germane.api.strategies import COMPACT
from germane.api.wiring import Parts
from germane.errors import InvalidInput
from germane.stages.gather.about import (
    EARLIER,
    AboutSource,
    EntitiesOfName,
    Person,
    entities_named,
    like_names,
    person_asked_for,
)
from germane.stores.contract import ScopedStore
from germane.text.normal import fold
from germane.types.candidate import Chosen
from germane.types.checks import check_text, check_whole_number
from germane.types.context import Context
from germane.types.limits import COUNT, LABEL
from germane.types.query import Filters
from germane.types.scope import Scope
from germane.types.strategy import Cap, Shares, SourcePlan, Strategy
from germane.types.trace import Trace

_EARLIER_SHARE, _RELATION_SHARE, _SAID_SHARE = 0.25, 0.4, 0.5
"""The parts of the budget that what no longer holds, relations, and what was said, may take at most."""
_MAX_CANDIDATES = 300
"""Memories, and messages, that are looked at."""
_MAX_COMPARED, _MAX_KNOWN = 64, 500
"""Characters of a name, and names, that are compared to find names like an unknown one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AboutEntity:
    """What is known about a name. `current` holds at the time asked about, relations of the entity among it; `earlier` ended
    before it; `mentions` are the messages that name or mention it, the oldest first. `text` is all of them, ready for
    a prompt: data between germane's own tags. `left_out` counts what didn't fit; `trace` tells why. `hints` are names like
    it that are known, where nothing is known of this one; of the user, the names of the several people whom that is."""

    name: str
    current: tuple[Chosen, ...]
    earlier: tuple[Chosen, ...]
    mentions: tuple[Chosen, ...]
    text: str
    tokens: int
    left_out: int
    trace: Trace
    hints: tuple[str, ...] = ()

    def __repr__(self) -> str:
        known = f"current={len(self.current)} earlier={len(self.earlier)} mentions={len(self.mentions)}"
        return f"<AboutEntity {known} tokens={self.tokens}>"


async def about(
    parts: Parts, scope: Scope, name: str | None, *, at: datetime | None, max_tokens: int, model: str, filters: Filters | None
) -> AboutEntity:
    """See `Agent.about`."""
    if name is not None and not check_text("name", name, LABEL).strip():
        raise InvalidInput("must be the name of a person or a thing, not blank; leave it out for the user", path="name")
    check_whole_number("max_tokens", max_tokens, low=1, high=COUNT.maximum)
    store, key = parts.store.within(scope), " ".join(fold(name or "").split())
    wanted = replace(normalise_filters(filters, scope.zone) or Filters(), with_ended=True)
    request = build_request(
        scope=scope,
        messages=(),
        model=model,
        query=name or "",
        at=at,
        deadline=None,
        max_tokens=max_tokens,
        filters=wanted,
        catalog=parts.catalog,
        clock=parts.clock,
    )
    speakers = await store.events.speakers()
    spelled = next((one for one in speakers if fold(one) == key), name or "")
    named = await entities_named(store, spelled, wanted)
    taken = spelled in speakers or bool(named.entities)
    person = await person_asked_for(store, name, taken=taken, at=request.at, filters=wanted)
    if person is not None:
        named = await _named_as(person, store, wanted)
    request = replace(request, query=", ".join(named.names))
    sources = {**parts.engine.sources, "about": lambda store: AboutSource(store, named, person)}
    context = await replace(parts.engine, sources=sources).assemble(request, store, _strategy(max_tokens))
    if person is None:
        hints = () if context.items else _nearest(key, (*await like_names(store, key, wanted), *speakers))
    else:
        hints = person.people if len(person.people) > 1 and not person.others else ()
    return _result(name or scope.user or "me", context, hints)


async def _named_as(person: Person, store: ScopedStore, filters: Filters) -> EntitiesOfName:
    """The entities that have one of the person's names, each once, and all their names."""
    found = [await entities_named(store, name, filters) for name in person.names]
    entities = {entity.id: entity for each in found for entity in each.entities}
    names = dict.fromkeys(name for each in found for name in each.names)
    return EntitiesOfName(entities=tuple(entities.values()), names=tuple(names))


def _strategy(max_tokens: int) -> Strategy:
    """What holds now goes in first; what was said and what no longer holds may each take a part of the budget."""
    kinds = {
        EARLIER: Cap(tokens=int(max_tokens * _EARLIER_SHARE)),
        "relation": Cap(tokens=int(max_tokens * _RELATION_SHARE)),
        "conversation": Cap(tokens=int(max_tokens * _SAID_SHARE)),
    }
    plan = SourcePlan(name="about", limit=_MAX_CANDIDATES)
    return replace(COMPACT, name="about", sources=(plan,), shares=Shares(kinds=kinds), cap=max_tokens)


def _result(name: str, context: Context, hints: tuple[str, ...]) -> AboutEntity:
    groups: dict[str, list[Chosen]] = {"current": [], EARLIER: [], "conversation": []}
    for item in context.items:
        groups.get(item.category, groups["current"]).append(item)
    return AboutEntity(
        name=name,
        current=tuple(groups["current"]),
        earlier=tuple(groups[EARLIER]),
        mentions=tuple(groups["conversation"]),
        text=context.added,
        tokens=context.metadata.total_tokens_injected,
        left_out=len(context.trace.left_out),
        trace=context.trace,
        hints=hints,
    )


def _nearest(name: str, known: Sequence[str]) -> tuple[str, ...]:
    """Known names whose spelling is like this one."""
    by_key = {fold(one)[:_MAX_COMPARED]: one for one in known[:_MAX_KNOWN]}
    return tuple(by_key[key] for key in get_close_matches(name[:_MAX_COMPARED], by_key, n=3))
