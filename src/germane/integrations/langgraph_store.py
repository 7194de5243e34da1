"""LangGraph store: what an agent's tools put into LangGraph's store, kept as facts that germane finds, shows and forgets.

    agent = create_agent("openai:gpt-5.4", [save], store=GermaneStore(germane.agent("travel", user="ana")))

An item is a fact of the agent's scope: `namespace/key` is its key, its value the JSON as it was put, and its tags are the
beginnings of its namespace, by which it is listed and searched.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from hashlib import sha256
from inspect import isawaitable
from typing import TYPE_CHECKING, Any

from germane import sync
from germane.api.agent import Agent
from germane.errors import InvalidInput, MissingExtra, NotFound
from germane.integrations.memory_tool.tool import run_unawaited
from germane.kinds.memories.fields import label
from germane.text.normal import normalised
from germane.types.candidate import SENSITIVITIES, Provenance
from germane.types.checks import check_type, check_whole_number
from germane.types.limits import COUNT, IDS, LABEL, PAGE, TAG
from germane.types.nested_data import bounded
from germane.types.query import Filters

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        InvalidNamespaceError,
        Item,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
    )
except ImportError as error:
    raise MissingExtra("langgraph", "langgraph") from error

if TYPE_CHECKING:
    from germane.kinds.memories.value import Memory

_TAG = "langgraph"
"""The tag of every item, and the beginning of the tags of its namespace."""
_MAX_TAGGED = 8
"""Labels of a namespace up to which its beginnings are tags; deeper ones are compared when they are read."""
_AT_ONCE = 128
"""Items of one batch that are written at the same time."""
_HASH = 32
"""Hexadecimal digits of SHA-256 that stand for a name which can't be one of germane's as it is."""


class GermaneStore(BaseStore):
    """A store for `create_agent(store=…)` and `graph.compile(store=…)`. `agent` is one of `germane.sync`, or one of
    `germane.Germane`: then the store is made in that agent's event loop, and its methods without `a` are called from other
    threads alone, as LangGraph's tools do.

    The items are those of the agent's user, whatever the namespace says. `put` replaces a value, and `delete` forgets it, with
    the files scrubbed. With a `query`, `search` returns what `agent.search` finds, best first; without one, all items, the
    newest first. `index=False` keeps an item out of searches and contexts; other values of `index` change nothing, as the whole
    value is searched. An item can't expire: a `ttl` raises `NotImplementedError`. Raises `InvalidInput` for a value that can't
    be stored exactly as it is, such as one with a secret that the policy would redact."""

    def __init__(self, agent: Agent | sync.Agent) -> None:
        blocking = isinstance(agent, sync.Agent)
        if not blocking:
            check_type("agent", agent, Agent, "an agent of germane.Germane or of germane.sync")
        self._agent: Any = agent
        self._user = agent.scope.user
        self._loop = None if blocking else asyncio.get_running_loop()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Returns the results of these operations, in order. The reads come first and see what was stored before; of several
        puts to one item the last one counts. Each item is written by itself. Raises `RuntimeError` on the event loop of an
        agent of `germane.Germane`, which it would block."""
        if self._loop is None:
            return run_unawaited(self._results(list(ops)))
        if _running_loop() is self._loop:
            raise RuntimeError("the store would wait for its own event loop: await aget, aput, asearch or adelete")
        return asyncio.run_coroutine_threadsafe(self._results(list(ops)), self._loop).result()

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As `batch`."""
        if self._loop is None:
            return await asyncio.to_thread(self.batch, ops)
        if asyncio.get_running_loop() is self._loop:
            return await self._results(list(ops))
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._results(list(ops)), self._loop))

    async def _results(self, ops: Sequence[Op]) -> list[Result]:
        results, puts = list[Result](), dict[tuple[tuple[str, ...], str], PutOp]()
        for op in ops:
            match op:
                case GetOp():
                    results.append(await self._get(_checked(op.namespace), op.key))
                case SearchOp():
                    results.append(await self._search(op))
                case ListNamespacesOp():
                    results.append(await self._namespaces(op))
                case PutOp():
                    if op.ttl is not None:
                        raise NotImplementedError("an item of this store can't expire: leave ttl out")
                    puts[_checked(op.namespace), op.key] = op
                    results.append(None)
                case _:
                    raise InvalidInput("must be an operation of a store, not {}", op, path="ops")
        written = [partial(self._put, op) for op in puts.values() if op.value is not None]
        for begin in range(0, len(written), _AT_ONCE):
            await self._each(written[begin : begin + _AT_ONCE])
        await self._delete([place for place, op in puts.items() if op.value is None])
        return results

    async def _get(self, namespace: tuple[str, ...], key: str) -> Item | None:
        memory = await self._fact(namespace, key)
        return None if memory is None else Item(**_fields(memory))

    async def _fact(self, namespace: tuple[str, ...], key: str) -> Memory | None:
        try:
            memory: Memory = await self._call(self._agent.memories.fact, _fact_key(namespace, key))
        except NotFound:
            return None
        return memory if _TAG in memory.tags else None

    async def _put(self, op: PutOp) -> None:
        namespace, value = op.namespace, dict(check_type("value", op.value, Mapping, "a dict"))
        _refuse_other_keys(value)
        place = {"namespace": list(namespace), "key": op.key}
        await self._call(
            self._agent.memories.put_fact,
            _fact_key(namespace, op.key),
            value,
            tags=[_tag(namespace[:depth]) for depth in range(min(len(namespace), _MAX_TAGGED) + 1)],
            sensitivity="sensitive" if op.index is False else "private",
            provenance=Provenance(source_kind="tool", metadata={_TAG: place}),
        )

    async def _delete(self, places: Sequence[tuple[tuple[str, ...], str]]) -> None:
        found = [await self._fact(*place) for place in places]
        ids = [memory.id for memory in found if memory is not None]
        for begin in range(0, len(ids), IDS.maximum):
            await self._call(self._agent.forget, ids[begin : begin + IDS.maximum])

    async def _search(self, op: SearchOp) -> list[SearchItem]:
        prefix, limit = _checked(op.namespace_prefix), check_whole_number("limit", op.limit, low=0, high=COUNT.maximum)
        end = check_whole_number("offset", op.offset, low=0, high=COUNT.maximum) + limit
        chosen = op.filter or {}
        bounded("filter", chosen)
        found = self._answering(op.query, prefix) if op.query else self._newest(prefix)
        kept = list[SearchItem]()
        async for memory, score in found:
            if len(kept) >= end:
                break
            if _matches(_value(memory), chosen):
                kept.append(SearchItem(**_fields(memory), score=score))
        return kept[op.offset :]

    async def _answering(self, query: str, prefix: tuple[str, ...]) -> AsyncIterator[tuple[Memory, float | None]]:
        """Yields the items that the search finds, with their scores, best first."""
        filters = Filters(kinds=("fact",), tags=(_tag(prefix[:_MAX_TAGGED]),))
        for one in await self._call(self._agent.search, query, PAGE.maximum, filters=filters):
            with suppress(NotFound):  # forgotten since
                memory = await self._call(self._agent.memories.get, one.id)
                if self._is_below(memory, prefix):
                    yield memory, one.score

    async def _newest(self, prefix: tuple[str, ...]) -> AsyncIterator[tuple[Memory, float | None]]:
        """Yields the items whose namespace begins with `prefix`, the newest first."""
        filters = Filters(kinds=("fact",), tags=(_tag(prefix[:_MAX_TAGGED]),), sensitivities=SENSITIVITIES)
        cursor, more = None, True
        while more:
            page = await self._call(self._agent.memories.list, filters, limit=PAGE.maximum, cursor=cursor)
            for memory in page.memories:
                if self._is_below(memory, prefix):
                    yield memory, None
            cursor, more = page.cursor, page.cursor is not None

    def _is_below(self, memory: Memory, prefix: tuple[str, ...]) -> bool:
        return memory.user == self._user and _namespace(memory)[: len(prefix)] == prefix

    async def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        check_whole_number("limit", op.limit, low=0, high=COUNT.maximum)
        check_whole_number("offset", op.offset, low=0, high=COUNT.maximum)
        conditions = op.match_conditions or ()
        there = {_namespace(memory) async for memory, _ in self._newest(())}
        fitting = {one[: op.max_depth] for one in there if all(_fits(one, condition) for condition in conditions)}
        return sorted(fitting)[op.offset : op.offset + op.limit]

    async def _each(self, work: Sequence[Callable[[], Any]]) -> None:
        """Runs all of it: at once where the agent can be awaited, so that it becomes durable together."""
        if self._loop is not None:
            await asyncio.gather(*(one() for one in work))
            return
        for one in work:
            await one()

    async def _call(self, verb: Callable[..., Any], *given: Any, **named: Any) -> Any:
        result = verb(*given, **named)
        return await result if isawaitable(result) else result


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


# The names of an item: the key of its fact, and the tags of its namespace. Both are one to one.


def _checked(namespace: Sequence[str]) -> tuple[str, ...]:
    for one in namespace:
        if not isinstance(one, str) or not one:
            raise InvalidNamespaceError("a namespace has labels that are strings and not empty")
    return tuple(namespace)


def _fact_key(namespace: Sequence[str], key: object) -> str:
    """`memories.ana/food`. Where that could stand for another place too, or can't be a fact's key as it is, its beginning with
    a hash."""
    name = f"{'.'.join(namespace)}/{check_type('key', key, str, 'a string')}"
    if not any("." in one or "/" in one for one in namespace) and "#" not in name and _is_label(name, LABEL.maximum):
        return name
    return _hashed(name, [*namespace, key], LABEL.maximum)


def _tag(namespace: Sequence[str]) -> str:
    if not namespace:
        return _TAG
    name = f"{_TAG}:{'.'.join(namespace)}"
    if not any("." in one for one in namespace) and "#" not in name and _is_label(name, TAG.maximum):
        return name
    return _hashed(_TAG, namespace, TAG.maximum)


def _is_label(name: str, maximum: int) -> bool:
    if len(name) > maximum:
        return False
    try:
        return label("key", name, max_length=maximum) == name
    except InvalidInput:
        return False


def _hashed(name: str, parts: Sequence[object], maximum: int) -> str:
    digest = sha256(json.dumps(list(parts)).encode()).hexdigest()[:_HASH]
    plain = "".join(char for char in name[:maximum] if char.isalnum() or char in " ._-/:")
    return f"{' '.join(normalised(plain).split())[: maximum - _HASH - 1]}#{digest}"


# An item as it is stored.


def _place(memory: Memory) -> Mapping[str, Any]:
    place: Mapping[str, Any] = memory.provenance.metadata.get(_TAG) or {}
    return place


def _namespace(memory: Memory) -> tuple[str, ...]:
    return tuple(_place(memory).get("namespace", ()))


def _value(memory: Memory) -> dict[str, Any]:
    value: dict[str, Any] = getattr(memory.content, "value", {})
    return value


def _fields(memory: Memory) -> dict[str, Any]:
    return {
        "namespace": _namespace(memory),
        "key": str(_place(memory).get("key", "")),
        "value": _value(memory),
        "created_at": memory.created_at,
        "updated_at": memory.updated_at,
    }


def _refuse_other_keys(value: Mapping[Any, Any]) -> None:
    """Raises `InvalidInput` for a key that isn't a string, which JSON would make one. Not recursive: a value may be deep, or
    hold itself, which `put_fact` refuses."""
    waiting, seen = [value], set[int]()
    while waiting:
        one: Any = waiting.pop()
        if id(one) in seen:
            continue
        if isinstance(one, Mapping):
            seen.add(id(one))
            for key in one:
                check_type("value", key, str, "a dict with strings as keys")
            waiting += one.values()
        elif isinstance(one, list | tuple):
            seen.add(id(one))
            waiting += one


# What a filter and a condition choose.


def _matches(value: Any, chosen: Any) -> bool:
    """Whether `value` has what the filter names: each of its fields, the operators of one (`$gt`), else the equal value."""
    if isinstance(chosen, Mapping):
        if any(isinstance(name, str) and name.startswith("$") for name in chosen):
            return all(_compared(value, name, wanted) for name, wanted in chosen.items())
        return isinstance(value, Mapping) and all(_matches(value.get(name), wanted) for name, wanted in chosen.items())
    if isinstance(chosen, list | tuple):
        same = isinstance(value, list | tuple) and len(value) == len(chosen)
        return same and all(_matches(one, wanted) for one, wanted in zip(value, chosen, strict=True))
    return bool(value == chosen)


def _compared(value: Any, operator: str, wanted: Any) -> bool:
    if operator in ("$eq", "$ne"):
        return (value == wanted) is (operator == "$eq")
    if operator not in ("$gt", "$gte", "$lt", "$lte"):
        raise InvalidInput("has no operator {}", operator, path="filter", advice="they are $eq, $ne, $gt, $gte, $lt and $lte")
    numbers = isinstance(value, int | float) and isinstance(wanted, int | float)
    if not numbers and not (isinstance(value, str) and isinstance(wanted, str)):
        return False
    return bool(
        (operator in ("$gte", "$lte") and value == wanted)
        or (operator in ("$gt", "$gte") and value > wanted)
        or (operator in ("$lt", "$lte") and value < wanted)
    )


def _fits(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    """Whether the namespace begins, or ends, with the path, in which `*` stands for any one label."""
    path = tuple(condition.path)
    if len(path) > len(namespace):
        return False
    if condition.match_type not in ("prefix", "suffix"):
        raise InvalidInput("can't be {}", condition.match_type, path="match_type", advice="it is prefix or suffix")
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", one) for one, wanted in zip(part, path, strict=True))
