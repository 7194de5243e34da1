"""Handle of memories: reading and correcting single memories, as `agent.memories`, and one call of `agent.forget`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from germane.api.arguments import identifiers, normalise_filters, remarks
from germane.api.contents import check_page, memory_id, no_memory
from germane.api.wiring import Parts
from germane.clock import Clock
from germane.errors import InvalidInput, NotFound
from germane.kinds.memories.conflicts import Contradiction
from germane.kinds.memories.directive import CurrentDirective, set_directive
from germane.kinds.memories.fields import check_provenance, json_value, label, tag_names
from germane.kinds.memories.forgetting import forget, left_of
from germane.kinds.memories.plans import new_memory, put_fact, remember, resolve, update
from germane.kinds.memories.reads import FactsOnKey, ListMemories, OpenConflicts, Page, SeenMemories, VersionsOfMemory
from germane.kinds.memories.value import Fact, Memory, Receipt
from germane.stores.contract import ScopedStore, scrub_files
from germane.text.secrets.detection import SecretPolicy
from germane.types.candidate import Provenance
from germane.types.checks import check_flags, check_optional_text, check_text
from germane.types.limits import DIRECTIVE, ID, LABEL, NAME, TAG
from germane.types.operation import operation
from germane.types.query import EVERY_SENSITIVITY, Filters
from germane.types.scope import Scope


class AgentMemories:
    """The memories of one scope. The beginning of an id stands for it; `InvalidInput` names the ids where several begin so."""

    def __init__(self, store: ScopedStore, scope: Scope, clock: Clock, secrets: SecretPolicy) -> None:
        self._store, self._scope, self._clock, self._secrets = store, scope, clock, secrets

    @operation("read")
    async def get(self, id: str) -> Memory:
        """Returns one memory. Raises `NotFound`, also for a memory of another scope (SCOPE-3)."""
        found = await self._store.ask(SeenMemories([await self._whole(id)]))
        if not found:
            raise no_memory(id)
        return found[0]

    @operation("read")
    async def list(self, filters: Filters | None = None, *, limit: int = 50, cursor: str | None = None) -> Page:
        """Returns a page of `limit` (1 to 1,000) memories, newest first; its `cursor` asks for the next page. Without `filters`
        every sensitivity is listed. Raises `InvalidInput`."""
        check_page(limit, cursor)
        chosen = normalise_filters(filters, self._scope.zone) or EVERY_SENSITIVITY
        return await self._store.ask(ListMemories(chosen, at=self._clock.now(), limit=limit, cursor=cursor))

    @operation("write")
    async def update(self, id: str, text: str | None = None, **changes: Any) -> Memory:
        """Changes fields of a memory and returns it. Raises `NotFound`, and `InvalidInput` for fields that its kind doesn't
        have."""
        at, whole = self._clock.now(), await self._whole(id)
        plan = update(whole, changes, text=text, at=at, scope=self._scope, secrets=self._secrets)
        return await self._store.commit(plan)

    async def fact(self, key: str) -> Memory:
        """Returns the fact of the scope's own user that holds now under `key` (of several, the one that began last). Raises
        `NotFound`."""
        at = self._clock.now()
        held = [one for one in await self._store.ask(FactsOnKey(label("key", key), at)) if one.holds(at)]
        if not held:
            raise NotFound("no fact {} here", key)
        return held[-1]

    async def put_fact(self, key: str, value: Any, *, provenance: Provenance | None = None, **fields: Any) -> Memory:
        """Stores a fact in the place of the one that holds under `key`, whose id stays and whose value is gone, and returns it.
        `remember` keeps the earlier value as a version instead. `value` is any JSON value; `fields` are as in `remember`.
        Raises `InvalidInput`, also where the value can't be stored exactly as it is given, such as for a secret that the policy
        would redact; and `Conflict` where the key has a fact without any of the `tags` given."""
        if provenance is not None:
            provenance = check_provenance(provenance)
        given, now = {**fields, "key": key, "value": value}, self._clock.now()
        memory = new_memory(kind="fact", scope=self._scope, now=now, provenance=provenance, given=given, secrets=self._secrets)
        tags = tag_names(fields.get("tags", ()))
        _refuse_changed(memory, Fact(key=label("key", key), value=json_value("value", value)), tags, provenance)
        return await self._store.commit(put_fact(memory))

    @operation("read")
    async def review(self, *, limit: int = 50) -> tuple[Contradiction, ...]:
        """Returns at most `limit` (1 to 1,000) open conflicts between the scope's own memories, oldest first: what superseding
        and linking couldn't decide. Raises `InvalidInput`."""
        check_page(limit, None)
        return await self._store.ask(OpenConflicts(at=self._clock.now(), limit=limit))

    @operation("write")
    async def resolve(self, id: str, *, keep: str) -> Contradiction:
        """Closes a conflict and returns it. `keep` is the id of the memory to keep, or `both`; the other memory ends.
        Idempotent. Raises `NotFound`, and `InvalidInput` for another `keep` or another decision than before."""
        plan = resolve(check_text("id", id, ID), check_text("keep", keep, ID), at=self._clock.now())
        return await self._store.commit(plan)

    @operation("read")
    async def versions(self, id: str) -> tuple[Memory, ...]:
        """Returns the memory with everything that superseded it or that it superseded, oldest first. Raises `NotFound`."""
        found = await self._store.ask(VersionsOfMemory(await self._whole(id)))
        if not found:
            raise no_memory(id)
        return found

    async def _whole(self, id: str) -> str:
        return await memory_id(self._store, check_text("id", id, ID))

    def __repr__(self) -> str:
        return f"<AgentMemories {self._scope}>"


def _refuse_changed(memory: Memory, given: Fact, tags: Sequence[str], provenance: Provenance | None) -> None:
    """Raises `InvalidInput` where a new fact doesn't hold exactly what was given: the policy on secrets replaced a part of it,
    or a text that germane had written was left out."""
    kept = memory.content
    changed = {
        "key": not isinstance(kept, Fact) or kept.key != given.key,
        "value": not isinstance(kept, Fact) or kept.value != given.value,
        "tags": not set(tags) <= set(memory.tags),
        "provenance": provenance is not None and memory.provenance != provenance,
    }
    for name in (name for name, differs in changed.items() if differs):
        what = f"a secret ({', '.join(sorted(memory.secrets))})" if memory.secrets else "a text that germane wrote"
        raise InvalidInput(f"holds {what}, so that it can't be stored as it is", path=name, advice="leave that out")


# One call of `remember` or `directive`.


async def remember_one(
    parts: Parts, scope: Scope, text: str | None, *, kind: str, provenance: Provenance | None, fields: dict[str, Any]
) -> Memory:
    """See `Agent.remember`. `fields` are those of the memory that have no argument of their own."""
    check_text("kind", kind, NAME)
    if provenance is not None:
        provenance = check_provenance(provenance)
    now = parts.clock.now()
    memory = new_memory(text, kind=kind, scope=scope, now=now, provenance=provenance, given=fields, secrets=parts.secrets)
    outcome = await parts.store.within(scope).commit(remember(memory))
    if not parts.embedder.quick:  # a slow embedder makes its vectors after the commit
        await parts.catch_up.settle()
    return outcome.memory


async def read_directive(parts: Parts, scope: Scope, text: str | None) -> str:
    """See `Agent.directive`."""
    scoped, cache = parts.store.within(scope), parts.engine.directive_cache
    if text is not None:
        check_text("directive", text, DIRECTIVE)
        await scoped.commit(set_directive(text, parts.secrets))
        cache.replace(scope)
    return (await cache.read(scope, partial(scoped.ask, CurrentDirective()))).text


# One call of `forget`: its criteria are checked, the plan is committed, and the files and caches follow.


async def forget_matching(
    parts: Parts,
    scope: Scope,
    *,
    ids: Sequence[str] | None,
    key: str | None,
    tag: str | None,
    session: str | None,
    source_kind: str | None,
    channel: str | None,
    user: str | None,
    everything: bool,
    dry_run: bool,
    by: str,
    reason: str,
) -> Receipt:
    """See `Agent.forget`. Raises `InvalidInput`."""
    check_flags(everything=everything, dry_run=dry_run)
    for name, value, limit in (
        *(("key", key, LABEL), ("tag", tag, TAG), ("session", session, ID), ("user", user, ID)),
        *(("source_kind", source_kind, NAME), ("channel", channel, NAME)),
    ):
        check_optional_text(name, value, limit)
    plan = forget(
        ids=None if ids is None else identifiers(ids),
        key=key,
        tag=tag,
        session=session,
        source_kind=source_kind,
        channel=channel,
        user=user,
        everything=everything,
        dry_run=dry_run,
        scope=scope,
        at=parts.clock.now(),
        **remarks(parts.secrets, by, reason),
    )
    store = parts.store.within(scope)
    receipt = await store.commit(plan)
    if dry_run:
        return receipt
    parts.engine.forget(scope)
    receipt = await store.commit(left_of(receipt))
    unscrubbed = await scrub_files(store)
    waiting_for = receipt.waiting_for or unscrubbed
    return replace(receipt, scrubbed=not waiting_for, waiting_for=waiting_for)
