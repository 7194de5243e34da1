"""Injection contract: the tests of `StoreContract` about the records of what was injected."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from germane.blocks.operations import DropShare, PutBlock, PutEntry, PutShare
from germane.blocks.shown import block_hash, entry_hash, shown_id
from germane.events.operations import PutEvent
from germane.injections.injection import Injection, InjectionHead, KeptInjections, WantedInjections
from germane.injections.operations import MAX_AGE_DAYS, MAX_BOUND_RECORDS, MAX_CHARACTERS, MAX_RECORDS, PutInjection
from germane.memories.forget import forget
from germane.memories.memory import Memory
from germane.memories.operations import EndMemory, Forget, ForgetOwner, PutMemory
from germane.store import Store
from germane.testing.stored import NOON, a_block, a_memory, an_entry, an_event, editing, writing
from germane.types.earlier import InjectedItem
from germane.types.plan import Change
from germane.types.query import Filters
from germane.types.scope import Scope

__all__ = ["InjectionContract", "all_records", "an_injection", "head_of"]

ANNA = Scope(agent="a", user="anna", session="s")
_ALL = Filters(sensitivities=("public", "private", "sensitive"))


def an_injection(*memories: Memory, turn: str = "turn", **fields: Any) -> Injection:
    """A record whose text holds these memories."""
    items = tuple(
        InjectedItem(handle=f"m{number}", id=memory.id, content_hash=memory.content_hash, source="memories")
        for number, memory in enumerate(memories, start=1)
    )
    given: dict[str, Any] = {
        "turn": turn,
        "said": "said",
        "occurrence": 1,
        "text": "\n".join(memory.text for memory in memories),
        "tokens": 7,
        "tokenizer": "o200k",
        "last_handle": len(items),
        "items": items,
        "created_at": NOON,
    }
    return Injection(**given | fields)


def head_of(record: Injection) -> InjectionHead:
    return InjectionHead(**{each.name: getattr(record, each.name) for each in fields(InjectionHead)})


async def _kept(store: Store, scope: Scope = ANNA, also: Sequence[str] = (), filters: Filters = _ALL) -> KeptInjections:
    wanting = partial(all_records, ids=frozenset(also))
    return await store.within(scope).injections(wanting, at=NOON + timedelta(days=1), filters=filters)


def all_records(heads: Sequence[InjectionHead], ids: frozenset[str] = frozenset()) -> WantedInjections:
    """Wants all records whole, and these ids besides."""
    return WantedInjections({head.key for head in heads}, ids)


async def _write(store: Store, *changes: Change, scope: Scope = ANNA) -> None:
    await store.within(scope).journal.commit(writing(*changes))


def _shown(id: str, version: int, content_hash: int) -> InjectedItem:
    return InjectedItem(handle="block:common", id=shown_id(id, version), content_hash=content_hash, source="blocks")


class InjectionContract:
    """Tests of the records of injections. Inherit `StoreContract`, which has them all."""

    @pytest.mark.requirement("INJECT-6")
    async def test_records_come_back_equal_and_in_order(self, store: Store, opening: Callable[[], Store]) -> None:
        """Every field, for the scope's own session alone, also in another handle; the content's revision stays."""
        memory, event = a_memory("Näheres \ud800 zu 猫", user="anna"), an_event("said", user="anna")
        await _write(store, PutMemory(memory), PutEvent(event))
        revision = await store.within(ANNA).journal.revision()
        foreign = InjectedItem(handle="x", id="\ud800", content_hash=0, source="own", sensitivity="sensitive", stored=False)
        said = InjectedItem(handle="a2", id=event.id, content_hash=event.content_hash, source="messages")
        first = an_injection(memory)
        first = replace(first, items=(*first.items, said, foreign), created_at=NOON + timedelta(microseconds=1))
        empty = an_injection(turn="other", relies_on=("m1", "x"))
        await _write(store, PutInjection("s", first), PutInjection("s", empty))
        other = opening()
        for each in (store, other):
            kept = await _kept(each)
            assert kept.records == (first, empty)
            assert kept.allowed == {memory.id: memory.content_hash, event.id: event.content_hash}
        await other.close()
        assert await store.within(ANNA).journal.revision() == revision
        for scope in (replace(ANNA, session="t"), replace(ANNA, session=None), replace(ANNA, user="ben"), Scope(agent="a")):
            assert (await _kept(store, scope)).records == ()

    @pytest.mark.requirement("INJECT-6")
    async def test_only_the_wanted_records_are_read_whole(self, store: Store) -> None:
        """`wanting` sees the heads of all, oldest first; of the others the store tells nothing more."""
        tea, coffee, milk = (a_memory(text, user="anna") for text in ("tea", "coffee", "milk"))
        one, two = an_injection(tea, turn="one"), an_injection(coffee, turn="two", occurrence=2, withdrawn="")
        await _write(store, *map(PutMemory, (tea, coffee, milk)), PutInjection("s", one), PutInjection("s", two))
        seen = list[Sequence[InjectionHead]]()

        def wanting(heads: Sequence[InjectionHead]) -> WantedInjections:
            seen.append(tuple(heads))
            return WantedInjections({two.key, ("unknown", 1)}, {milk.id})

        kept = await store.within(ANNA).injections(wanting, at=NOON, filters=_ALL)
        heads = (head_of(one), head_of(two))
        assert seen == [heads]
        assert (kept.heads, kept.records, set(kept.allowed)) == (heads, (two,), {coffee.id, milk.id})
        nothing = await store.within(replace(ANNA, user="ben")).injections(wanting, at=NOON, filters=_ALL)
        assert (seen[1:], nothing) == ([()], KeptInjections())

    @pytest.mark.requirement("INJECT-6")
    async def test_the_first_record_of_a_turn_stays(self, store: Store) -> None:
        """Unless the new one replaces it."""
        one, two = an_injection(text="one"), an_injection(text="two")
        await _write(store, PutInjection("s", one))
        await _write(store, PutInjection("s", two), PutInjection("s", replace(two, occurrence=2)))
        assert (await _kept(store)).records == (one, replace(two, occurrence=2))
        await _write(store, PutInjection("s", two, replaces=True))
        assert (await _kept(store)).records == (two, replace(two, occurrence=2))

    @pytest.mark.requirement("INJECT-6", "PACK-8")
    async def test_what_may_be_shown_follows_the_rules_of_allowed(self, store: Store) -> None:
        """Validity, sensitivity, and the ids asked for besides."""
        kept, ended, secret = (a_memory(text, user="anna") for text in ("kept", "ended", "secret"))
        secret = replace(secret, sensitivity="sensitive")
        await _write(store, *map(PutMemory, (kept, ended, secret)), EndMemory(id=ended.id, at=NOON + timedelta(hours=1)))
        await _write(store, PutInjection("s", an_injection(kept, ended)))
        assert (await _kept(store, also=[secret.id], filters=Filters())).allowed == {kept.id: kept.content_hash}
        assert (await _kept(store, also=[secret.id])).allowed.keys() == {kept.id, secret.id}

    @pytest.mark.requirement("BLK-2", "BLK-6", "INJECT-6", "PACK-8")
    async def test_a_block_may_be_shown_in_its_current_version_and_by_whom_it_is_shared_with(self, store: Store) -> None:
        """Archival entries too; both are private. What a share permits belongs to what is shown."""
        block = a_block("common", user="anna", agent="a", version=3)
        entry = an_entry(user="anna")
        share = PutShare(id=block.id, agent="b", permission="append", at=NOON)
        await _write(store, PutBlock(block), PutEntry(entry), share)
        other = Scope(agent="b", user="anna", session="s")
        asked = [f"{block.id}@3", f"{block.id}@2", f"{block.id}@4", block.id, entry.id, f"{entry.id}@0"]
        own = (await _kept(store, also=asked)).allowed
        assert own == {f"{block.id}@3": block_hash(block.id, 3), entry.id: entry_hash(entry.id)}
        assert await store.within(ANNA).allowed(asked, at=NOON, filters=Filters()) == own.keys()
        for levels in (("public",), ("public", "sensitive"), ()):
            assert (await _kept(store, also=asked, filters=Filters(sensitivities=levels))).allowed == {}
        shared = (await _kept(store, other, also=asked)).allowed
        assert list(shared) == [f"{block.id}@3"]
        assert shared != own
        await store.within(ANNA).journal.commit(editing(block.id, replace(share, permission="read_only")))
        again = (await _kept(store, other, also=asked)).allowed
        assert (list(again), again == shared) == ([f"{block.id}@3"], False)
        for scope in (replace(ANNA, user="ben"), Scope(agent="a", session="s"), Scope(agent="c", user="anna", session="s")):
            assert (await _kept(store, scope, also=asked)).allowed == {}
        await store.within(ANNA).journal.commit(editing(block.id, DropShare(id=block.id, agent="b")))
        assert (await _kept(store, other, also=asked)).allowed == {}
        await store.within(ANNA).journal.commit(editing(block.id, PutBlock(replace(block, deleted_at=NOON))))
        assert (await _kept(store, also=asked)).allowed == {entry.id: entry_hash(entry.id)}

    @pytest.mark.requirement("INJECT-10", "MEM-3")
    async def test_a_record_with_a_prefix_outlives_changes_and_goes_with_what_is_forgotten(self, store: Store) -> None:
        """Also one that is written after the change. `present` tells what may go on standing, where it is asked for."""
        changed, ended, secret = (a_memory(text, user="anna") for text in ("changed", "ended", "secret"))
        block, deleted = (
            a_block("common", user="anna", agent="a", version=1),
            a_block("gone", user="anna", agent="a", version=1),
        )
        await _write(store, *map(PutMemory, (changed, ended, secret)), PutBlock(block), PutBlock(deleted))
        bound = an_injection(changed, prefix="hash")
        await _write(store, PutInjection("s", bound))
        await _write(store, PutMemory(replace(changed, content_hash=5)), PutMemory(replace(secret, sensitivity="sensitive")))
        await _write(store, EndMemory(id=ended.id, at=NOON + timedelta(hours=1)))
        for one in (replace(block, version=2), replace(deleted, version=2, deleted_at=NOON)):
            await store.within(ANNA).journal.commit(editing(one.id, PutBlock(one)))
        late = an_injection(changed, ended, turn="late", prefix="hash")
        await _write(store, PutInjection("s", late))
        assert (await _kept(store)).records == (bound, late)
        ids = {changed.id, ended.id, secret.id, f"{block.id}@1", f"{deleted.id}@1", "unknown", "unknown@1"}

        async def present(filters: Filters, *, asked: bool = True, scope: Scope = ANNA) -> set[str]:
            wanted = WantedInjections(ids=frozenset(ids), presence=asked)
            kept = await store.within(scope).injections(lambda _: wanted, at=NOON + timedelta(days=1), filters=filters)
            return set(kept.present)

        assert await present(_ALL) == {changed.id, ended.id, secret.id, f"{block.id}@1"}
        assert await present(Filters()) == {changed.id, ended.id, f"{block.id}@1"}
        assert await present(Filters(sensitivities=("public",))) == set()
        assert await present(_ALL, asked=False) == set()
        assert await present(_ALL, scope=replace(ANNA, user="ben")) == set()
        await _write(store, Forget(memory_ids=(changed.id,), at=NOON))
        gone: dict[str, Any] = {"text": "", "items": (), "tokens": 0}
        expected = (replace(bound, withdrawn="m1", **gone), replace(late, withdrawn="m1", **gone))
        assert (await _kept(store)).records == expected
        assert await present(_ALL) == {ended.id, secret.id, f"{block.id}@1"}
        await _write(store, PutInjection("s", replace(late, turn="after")))
        assert (await _kept(store)).records == expected

    @pytest.mark.requirement("BLK-2", "INJECT-6", "MEM-3")
    async def test_a_record_holds_the_version_of_a_block_and_goes_with_the_block(self, store: Store) -> None:
        """It is written where that is the current version, and withdrawn when the block is forgotten, everywhere."""
        block, entry = a_block("common", user="anna", agent="a"), an_entry(user="anna")
        await _write(store, PutBlock(block), PutEntry(entry), PutShare(id=block.id, agent="b", permission="append", at=NOON))
        scope = Scope(agent="b", user="anna", session="s")
        seen = replace(block, shared_from="a", granted="append")
        theirs = an_injection(items=(_shown(block.id, 0, block_hash(block.id, 0, seen)),))
        own = an_injection(items=(_shown(block.id, 0, block_hash(block.id, 0)),), turn="own")
        old = an_injection(items=(_shown(block.id, 1, block_hash(block.id, 1)),), turn="old")
        archived = InjectedItem(handle="m1", id=entry.id, content_hash=entry_hash(entry.id), source="archive")
        entries = an_injection(items=(archived,), turn="entries")
        await _write(store, *(PutInjection("s", each) for each in (own, old, entries)))
        await _write(store, PutInjection("s", theirs), PutInjection("s", replace(own, turn="no")), scope=scope)
        assert (await _kept(store)).records == (own, entries)
        assert (await _kept(store, scope)).records == (theirs,)
        await _write(store, Forget(block_ids=(block.id, entry.id), at=NOON))
        gone: dict[str, Any] = {"text": "", "items": (), "tokens": 0}
        assert (await _kept(store)).records == (
            replace(own, withdrawn="an item", **gone),
            replace(entries, withdrawn="m1", **gone),
        )
        assert (await _kept(store, scope)).records == (replace(theirs, withdrawn="an item", **gone),)

    @pytest.mark.requirement("INJECT-6", "MEM-3")
    async def test_what_is_forgotten_or_changed_withdraws_every_record_that_holds_it(self, store: Store) -> None:
        """In every session and of every user; the row without content says which items, and a new record takes its place."""
        shared = a_memory("shared")
        other, changed = a_memory("other", user="anna"), a_memory("changed", user="anna")
        await _write(store, PutMemory(shared), scope=Scope(agent="a"))
        await _write(store, PutMemory(other), PutMemory(changed))
        both, alone, stale = (
            an_injection(other, shared),
            an_injection(other, turn="alone"),
            an_injection(changed, turn="stale"),
        )
        await _write(store, *(PutInjection("s", each) for each in (both, alone, stale)))
        await _write(store, Forget(memory_ids=(shared.id,), at=NOON), scope=Scope(agent="a"))
        await _write(store, PutMemory(replace(changed, content_hash=5)))
        gone: dict[str, Any] = {"text": "", "items": (), "tokens": 0}
        expected = (replace(both, withdrawn="m2", **gone), alone, replace(stale, withdrawn="m1", **gone))
        assert (await _kept(store)).records == expected
        await _write(store, PutInjection("s", replace(both, text="anew", items=both.items[:1])))
        assert (await _kept(store)).records[0].text == "anew"

    @pytest.mark.requirement("INJECT-6", "MEM-3")
    async def test_nothing_forgotten_is_written_afterwards(self, store: Store) -> None:
        """A record that was made before the forgetting, and written after it, isn't kept."""
        memory = a_memory("gone", user="anna")
        await _write(store, PutMemory(memory))
        await _write(store, Forget(memory_ids=(memory.id,), at=NOON))
        await _write(store, PutInjection("s", an_injection(memory)))
        assert (await _kept(store)).records == ()

    @pytest.mark.requirement("INJECT-6", "MEM-3")
    async def test_records_go_with_their_session_and_with_their_owner(self, store: Store) -> None:
        """Also of a session of which nothing else is stored."""
        for scope in (ANNA, replace(ANNA, session="t")):
            await _write(store, PutInjection(scope.session or "", an_injection()), scope=scope)
        await store.within(ANNA).journal.commit(forget(session="s", scope=ANNA, at=NOON))
        assert (await _kept(store)).records == ()
        assert len((await _kept(store, replace(ANNA, session="t"))).records) == 1
        await _write(store, ForgetOwner(at=NOON))
        assert (await _kept(store, replace(ANNA, session="t"))).records == ()

    @pytest.mark.requirement("INJECT-6")
    async def test_a_session_keeps_a_limited_number_of_records(self, store: Store) -> None:
        """The oldest go: beyond 512 records, or 2,048 with a prefix, beyond half a million bytes, and after 30 days."""
        many = [PutInjection("s", an_injection(turn=str(number))) for number in range(MAX_RECORDS + 3)]
        await _write(store, *many)
        assert [record.turn for record in (await _kept(store)).records] == [str(n) for n in range(3, MAX_RECORDS + 3)]
        large = "x" * (MAX_CHARACTERS // 2)
        session = replace(ANNA, session="t")
        await _write(store, *(PutInjection("t", an_injection(turn=str(n), text=large)) for n in range(3)), scope=session)
        assert [record.turn for record in (await _kept(store, session)).records] == ["1", "2"]
        bound = replace(ANNA, session="bound")
        many = [PutInjection("bound", an_injection(turn=str(number), prefix="hash")) for number in range(MAX_BOUND_RECORDS + 2)]
        await _write(store, *many, scope=bound)
        assert [record.turn for record in (await _kept(store, bound)).heads] == [
            str(n) for n in range(2, MAX_BOUND_RECORDS + 2)
        ]
        later = an_injection(turn="later", created_at=NOON + timedelta(days=MAX_AGE_DAYS, seconds=1))
        await _write(store, PutInjection("t", later), scope=session)
        assert (await _kept(store)).records == ()
        assert (await _kept(store, session)).records == (later,)
