"""Injection contract: the tests of `StoreContract` about records of what was injected, the profile, and API keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from germane.errors import Conflict, GermaneError, InvalidInput, NotFound, StoreUnavailable
from germane.kinds.blocks.reads import DropShare, PutBlock, PutEntry, PutShare
from germane.kinds.blocks.value import block_hash, entry_hash, shown_id
from germane.kinds.events.reads import PutEvent, PutReplacement, SeenEvents
from germane.kinds.events.value import Event, ReplacementLink
from germane.kinds.injections import (
    MAX_AGE_DAYS,
    MAX_BOUND_RECORDS,
    MAX_CHARACTERS,
    MAX_RECORDS,
    Injection,
    InjectionHead,
    KeptInjections,
    PutInjection,
    SessionInjections,
    WantedInjections,
)
from germane.kinds.inventory import AllowedIds, ScopeStats
from germane.kinds.keys.plans import KeyRequest, issue, revoke
from germane.kinds.keys.reads import AddKey, ChangeKey, KeyById, ListKeys
from germane.kinds.keys.value import Key, NewKey, StoredKey, parse_token
from germane.kinds.keys.verifier import note_uses
from germane.kinds.memories.directive import SetDirective
from germane.kinds.memories.forgetting import forget
from germane.kinds.memories.reads import EndMemory, Forget, ForgetOwner, LeftOf, PutMemory
from germane.kinds.memories.value import Memory
from germane.kinds.profile.reads import (
    ChatsWithAssistant,
    LineMarks,
    LinesNamed,
    MarkedLine,
    MarkLine,
    NamedLines,
    StillHolding,
    TellingClauses,
    ToldClause,
    clause_hash,
    clause_name,
    mark_line,
)
from germane.kinds.profile.telling import TellingClause
from germane.stores.contract import ScopedStore, Store
from germane.transfer.restore import restore_marks
from germane.types.candidate import Outdated, Provenance
from germane.types.plan import Change, StorePlan, store_change
from germane.types.query import EVERY_SENSITIVITY, Filters
from germane.types.scope import Scope
from germane.types.trace import InjectedItem
from germane_testing.builders import NOON, a_block, a_memory, an_entry, an_event, asking, editing, writing
from germane_testing.scope_contract import AGENT, ALL, ANNA, BEN, LATER

ANNAS_SESSION = Scope(agent="a", user="anna", session="s")
_ALL = EVERY_SENSITIVITY


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


async def _kept(
    store: Store, scope: Scope = ANNAS_SESSION, also: Sequence[str] = (), filters: Filters = _ALL
) -> KeptInjections:
    wanting = partial(all_records, ids=frozenset(also))
    return await store.within(scope).ask(SessionInjections(wanting, NOON + timedelta(days=1), filters))


def all_records(heads: Sequence[InjectionHead], ids: frozenset[str] = frozenset()) -> WantedInjections:
    """Wants all records whole, and these ids besides."""
    return WantedInjections({head.key for head in heads}, ids)


async def _write(store: Store, *changes: Change, scope: Scope = ANNAS_SESSION) -> None:
    await store.within(scope).commit(writing(*changes))


def _shown(id: str, version: int, content_hash: int) -> InjectedItem:
    return InjectedItem(handle="block:common", id=shown_id(id, version), content_hash=content_hash, source="blocks")


class InjectionContract:
    """Tests of the records of injections. Inherit `StoreContract`, which has them all."""

    @pytest.mark.requirement("INJECT-6")
    async def test_records_come_back_equal_and_in_order(self, store: Store, opening: Callable[[], Store]) -> None:
        """Every field, for the scope's own session alone, also in another handle; the content's revision stays."""
        memory, event = a_memory("Näheres \ud800 zu 猫", user="anna"), an_event("said", user="anna")
        await _write(store, PutMemory(memory), PutEvent(event))
        revision = await store.within(ANNAS_SESSION).revision()
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
        assert await store.within(ANNAS_SESSION).revision() == revision
        for scope in (
            replace(ANNAS_SESSION, session="t"),
            replace(ANNAS_SESSION, session=None),
            replace(ANNAS_SESSION, user="ben"),
            Scope(agent="a"),
        ):
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

        kept = await store.within(ANNAS_SESSION).ask(SessionInjections(wanting, NOON, _ALL))
        heads = (head_of(one), head_of(two))
        assert seen == [heads]
        assert (kept.heads, kept.records, set(kept.allowed)) == (heads, (two,), {coffee.id, milk.id})
        nothing = await store.within(replace(ANNAS_SESSION, user="ben")).ask(SessionInjections(wanting, NOON, _ALL))
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
        assert await store.within(ANNAS_SESSION).ask(AllowedIds(asked, NOON, Filters())) == own.keys()
        for levels in (("public",), ("public", "sensitive"), ()):
            assert (await _kept(store, also=asked, filters=Filters(sensitivities=levels))).allowed == {}
        shared = (await _kept(store, other, also=asked)).allowed
        assert list(shared) == [f"{block.id}@3"]
        assert shared != own
        await store.within(ANNAS_SESSION).commit(editing(block.id, replace(share, permission="read_only")))
        again = (await _kept(store, other, also=asked)).allowed
        assert (list(again), again == shared) == ([f"{block.id}@3"], False)
        for scope in (
            replace(ANNAS_SESSION, user="ben"),
            Scope(agent="a", session="s"),
            Scope(agent="c", user="anna", session="s"),
        ):
            assert (await _kept(store, scope, also=asked)).allowed == {}
        await store.within(ANNAS_SESSION).commit(editing(block.id, DropShare(id=block.id, agent="b")))
        assert (await _kept(store, other, also=asked)).allowed == {}
        await store.within(ANNAS_SESSION).commit(editing(block.id, PutBlock(replace(block, deleted_at=NOON))))
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
            await store.within(ANNAS_SESSION).commit(editing(one.id, PutBlock(one)))
        late = an_injection(changed, ended, turn="late", prefix="hash")
        await _write(store, PutInjection("s", late))
        assert (await _kept(store)).records == (bound, late)
        ids = {changed.id, ended.id, secret.id, f"{block.id}@1", f"{deleted.id}@1", "unknown", "unknown@1"}

        async def present(filters: Filters, *, asked: bool = True, scope: Scope = ANNAS_SESSION) -> set[str]:
            wanted = WantedInjections(ids=frozenset(ids), presence=asked)
            kept = await store.within(scope).ask(SessionInjections(lambda _: wanted, NOON + timedelta(days=1), filters))
            return set(kept.present)

        assert await present(_ALL) == {changed.id, ended.id, secret.id, f"{block.id}@1"}
        assert await present(Filters()) == {changed.id, ended.id, f"{block.id}@1"}
        assert await present(Filters(sensitivities=("public",))) == set()
        assert await present(_ALL, asked=False) == set()
        assert await present(_ALL, scope=replace(ANNAS_SESSION, user="ben")) == set()
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
        for scope in (ANNAS_SESSION, replace(ANNAS_SESSION, session="t")):
            await _write(store, PutInjection(scope.session or "", an_injection()), scope=scope)
        await store.within(ANNAS_SESSION).commit(forget(session="s", scope=ANNAS_SESSION, at=NOON))
        assert (await _kept(store)).records == ()
        assert len((await _kept(store, replace(ANNAS_SESSION, session="t"))).records) == 1
        await _write(store, ForgetOwner(at=NOON))
        assert (await _kept(store, replace(ANNAS_SESSION, session="t"))).records == ()

    @pytest.mark.requirement("INJECT-6")
    async def test_a_session_keeps_a_limited_number_of_records(self, store: Store) -> None:
        """The oldest go: beyond 512 records, or 2,048 with a prefix, beyond half a million bytes, and after 30 days."""
        many = [PutInjection("s", an_injection(turn=str(number))) for number in range(MAX_RECORDS + 3)]
        await _write(store, *many)
        assert [record.turn for record in (await _kept(store)).records] == [str(n) for n in range(3, MAX_RECORDS + 3)]
        large = "x" * (MAX_CHARACTERS // 2)
        session = replace(ANNAS_SESSION, session="t")
        await _write(store, *(PutInjection("t", an_injection(turn=str(n), text=large)) for n in range(3)), scope=session)
        assert [record.turn for record in (await _kept(store, session)).records] == ["1", "2"]
        bound = replace(ANNAS_SESSION, session="bound")
        many = [PutInjection("bound", an_injection(turn=str(number), prefix="hash")) for number in range(MAX_BOUND_RECORDS + 2)]
        await _write(store, *many, scope=bound)
        assert [record.turn for record in (await _kept(store, bound)).heads] == [
            str(n) for n in range(2, MAX_BOUND_RECORDS + 2)
        ]
        later = an_injection(turn="later", created_at=NOON + timedelta(days=MAX_AGE_DAYS, seconds=1))
        await _write(store, PutInjection("t", later), scope=session)
        assert (await _kept(store)).records == ()
        assert (await _kept(store, session)).records == (later,)


# What every store must keep of what users tell, and of marked lines.


RULE, NOTE = "Keep it to three lines", "my kiln is at home"
TEXT = f"{RULE}, {NOTE}."
TOLD = (TellingClause(0, len(RULE), 0.9, 0.3), TellingClause(len(RULE) + 2, len(TEXT) - 1, 0.1, 0.7))
ANNA_IN_S1 = replace(ANNA, session="s1")


def _said(position: int = 0, *clauses: TellingClause, text: str = TEXT, **fields: Any) -> PutEvent:
    """A message of ANNA's, unless `fields` name another user, that tells these clauses (default: `TOLD`)."""
    return PutEvent(an_event(text, position=position, **{"user": ANNA.user} | fields), telling=clauses or TOLD)


def _line(event: Event, clause: TellingClause = TOLD[0]) -> str:
    return clause_name(event.id, clause.start, clause.end)


async def _texts(scoped: ScopedStore, limit: int = 99, **filters: Any) -> list[str]:
    return [clause.text for clause in await scoped.ask(TellingClauses(limit, filters=Filters(**filters)))]


class ProfileContract:
    """Telling clauses are found by how much they tell, marks stand beside them, and both go with their message."""

    @pytest.fixture
    def opening(self) -> Callable[[], Store]:
        raise NotImplementedError

    @pytest.mark.requirement("PERSON-1")
    async def test_a_clause_is_read_from_its_message(self, opening: Callable[[], Store]) -> None:
        """With all that is known of it, in the order of how much they tell; also in another handle, and of long messages."""
        store, other = opening(), opening()
        put = _said(name="Anna", message_id="m1", sensitivity="public")
        await store.within(ANNA).commit(writing(put))
        event, (rule, note) = put.event, TOLD
        for each in (store, other):
            found = await each.within(ANNA).ask(TellingClauses(9, filters=Filters()))
            assert found[0] == ToldClause(
                id=event.id,
                start=0,
                end=len(RULE),
                text=RULE,
                rule=rule.rule,
                matters=rule.matters,
                session="s1",
                created_at=event.created_at,
                speaker="Anna",
                message_id="m1",
                sensitivity="public",
                content_hash=event.content_hash,
            )
            assert [(one.text, one.matters) for one in found[1:]] == [(NOTE, note.matters)]
            assert found[0].line == f"{event.id}@0-{len(RULE)}"
        long = "é\0" * 4_000 + RULE
        clause = TellingClause(8_000, len(long), 0.95, 0.0)
        await store.within(ANNA).commit(writing(_said(1, clause, text=long)))
        assert await _texts(store.within(ANNA), 2) == [RULE, RULE]
        await other.close()
        await store.close()

    @pytest.mark.requirement("PERSON-1")
    async def test_the_most_telling_come_first(self, store: Store) -> None:
        """By the greater of the two probabilities; of equal ones those that were said last; and no more than are asked for."""
        mine = store.within(ANNA)
        ranked = [(0.2, 0.5), (0.9, 0.0), (0.1, 0.8), (0.5, 0.2), (0.0, 0.95)]
        for place, (rule, matters) in enumerate(ranked):
            clause = TellingClause(0, 2, rule, matters)
            await mine.commit(writing(_said(place, clause, text=f"{place}!")))
        assert await _texts(mine) == ["4!", "1!", "2!", "3!", "0!"]
        assert await _texts(mine, 2) == ["4!", "1!"]
        assert await _texts(mine, 0) == []

    @pytest.mark.requirement("PERSON-1", "SCOPE-2")
    async def test_which_sessions_are_chats_with_an_assistant(self, store: Store) -> None:
        """Of the scope's own."""
        mine = store.within(ANNA)
        for place, (session, role) in enumerate((("chat", "user"), ("chat", "assistant"), ("people", "user"))):
            event = _said(place, text=f"{place}!").event._replace(session=session, position=place, role=role)
            await mine.commit(writing(PutEvent(event)))
        assert await mine.ask(ChatsWithAssistant(["chat", "people", "none"])) == {"chat"}
        assert await mine.ask(ChatsWithAssistant([])) == frozenset()
        assert await store.within(BEN).ask(ChatsWithAssistant(["chat"])) == frozenset()

    @pytest.mark.requirement("PERSON-1", "SCOPE-2")
    async def test_a_scope_reads_only_its_own(self, store: Store) -> None:
        """A user's clauses are the user's, and the agent-wide ones the agent's; so are the marks."""
        for scope in (AGENT, ANNA):
            put = _said(text=f"{scope.user} {TEXT}", user=scope.user)
            scoped = store.within(scope)
            await scoped.commit(writing(put, MarkLine(_line(put.event), "pin", NOON)))
        assert (await _texts(store.within(ANNA)))[0].startswith("anna")
        assert (await _texts(store.within(AGENT)))[0].startswith("None")
        assert await _texts(store.within(BEN)) == []
        assert await store.within(BEN).ask(LineMarks()) == {}
        assert len(await store.within(ANNA).ask(LineMarks())) == len(await store.within(AGENT).ask(LineMarks())) == 1

    @pytest.mark.requirement("PERSON-1")
    async def test_clauses_pass_the_filters_as_messages_do(self, store: Store) -> None:
        """Sensitivity, times, session, and the ids that are excluded; what no message has lets none pass."""
        mine, clause = store.within(ANNA), TellingClause(0, 1, 0.5, 0.0)
        fields: tuple[dict[str, Any], ...] = ({"sensitivity": "sensitive"}, {"message_id": "m"}, {"session": "s2"}, {})
        puts = [_said(place, clause, text=f"{place}", **given) for place, given in enumerate(fields)]
        await mine.commit(writing(*puts))
        assert await _texts(mine) == ["3", "2", "1"]
        assert await _texts(mine, sensitivities=ALL.sensitivities) == ["3", "2", "1", "0"]
        assert await _texts(mine, until=NOON + timedelta(seconds=2)) == ["2", "1"]
        assert await _texts(mine, since=NOON + timedelta(seconds=2)) == ["3", "2"]
        assert await _texts(mine, session="s2") == ["2"]
        assert await _texts(mine, 1, exclude=frozenset({puts[3].event.id, "m"})) == ["2"]
        for wrong in ({"kinds": ("fact",)}, {"sensitivities": ()}):
            assert await _texts(mine, **wrong) == []

    @pytest.mark.requirement("PERSON-1", "PERSON-4")
    async def test_a_clause_knows_what_was_replaced_since(self, store: Store) -> None:
        """As the message does that it stands in."""
        mine, put = store.within(ANNA), _said()
        old = a_memory("yes", "fact", key="user.kiln", user="anna", provenance=Provenance(refs=(put.event.id,)))
        old = replace(old, derived_from=(put.event.id,))
        new = a_memory("no", "fact", key="user.kiln", user="anna")
        ended = EndMemory(id=old.id, at=LATER, superseded_by=new.id)
        await mine.commit(writing(put, PutMemory(old), PutMemory(new), ended))
        first, *_ = await mine.ask(TellingClauses(9, filters=Filters()))
        assert first.outdated == (Outdated(LATER, ("kiln",)),)

    @pytest.mark.requirement("PERSON-4")
    async def test_what_a_later_message_ended_is_noted_afterwards(self, store: Store) -> None:
        """Once, between two messages of the scope's own; both know it, until one of them is forgotten."""
        mine, older, newer = store.within(ANNA), _said(), _said(1, created_at=LATER)
        others = _said(user="ben")
        await mine.commit(writing(older, newer))
        await store.within(BEN).commit(writing(others))
        ids = {older.event.id, newer.event.id}
        noted = PutReplacement(older=older.event.id, newer=newer.event.id)
        wrong = [replace(noted, newer="absent"), replace(noted, older="absent"), replace(noted, newer=noted.older)]
        strange = [replace(noted, older=others.event.id), replace(noted, newer=others.event.id)]
        await mine.commit(writing(*wrong, *strange))
        await store.within(BEN).commit(writing(noted))
        assert [event.replaces for event in await store.within(BEN).ask(SeenEvents([others.event.id]))] == [()]
        assert await mine.ask(StillHolding({*ids, others.event.id, "absent"}, LATER)) == ids
        for _ in range(2):
            await mine.commit(writing(noted))
        clauses = await mine.ask(TellingClauses(9, filters=Filters()))
        assert {clause.id: clause.outdated for clause in clauses} == {noted.older: (Outdated(LATER, ()),), noted.newer: ()}
        (ended,) = [event for event in await mine.ask(SeenEvents(sorted(ids))) if event.replaces]
        assert (ended.id, ended.replaces) == (noted.newer, (ReplacementLink(noted.older, True),))
        assert await mine.ask(StillHolding(ids, LATER)) == {noted.newer}
        assert await mine.ask(StillHolding(ids, LATER - timedelta(seconds=1))) == ids
        assert await store.within(BEN).ask(StillHolding(ids, LATER)) == frozenset()
        await mine.commit(writing(Forget(event_ids=(noted.newer,), at=LATER)))
        assert await mine.ask(StillHolding(ids, LATER)) == {noted.older}

    @pytest.mark.requirement("PERSON-1", "PACK-8", "INJECT-6")
    async def test_a_clause_may_be_shown_while_its_message_may(self, store: Store) -> None:
        """By its place and the message's content, to those who see the message; a text that holds it goes with the message."""
        mine, put, secret = store.within(ANNA_IN_S1), _said(), _said(1, sensitivity="sensitive")
        await mine.commit(writing(put, secret))
        lines = [_line(put.event), _line(put.event, TOLD[1]), _line(secret.event), "absent@0-3", f"{put.event.id}@0-x"]
        assert await mine.ask(AllowedIds(lines, LATER, Filters())) == set(lines[:2])
        assert await mine.ask(AllowedIds(lines, LATER, ALL)) == set(lines[:3])
        assert await mine.ask(AllowedIds([lines[0], put.event.id], LATER, ALL)) == {lines[0], put.event.id}
        assert await store.within(BEN).ask(AllowedIds(lines, LATER, ALL)) == frozenset()
        hashed = clause_hash(put.event.content_hash, 0, len(RULE))
        item = InjectedItem(handle="p1", id=lines[0], content_hash=hashed, source="profile")
        kept = an_injection(items=(item,), text=RULE)
        await mine.commit(writing(PutInjection("s1", kept)))
        wrong = replace(kept, turn="other", items=(replace(item, content_hash=hashed + 1),))
        await mine.commit(writing(PutInjection("s1", wrong)))
        found = await mine.ask(SessionInjections(all_records, LATER, Filters()))
        assert (found.records, found.allowed) == ((kept,), {lines[0]: hashed})
        await mine.commit(writing(Forget(event_ids=(put.event.id,), at=LATER)))
        found = await mine.ask(SessionInjections(all_records, LATER, Filters()))
        assert [(one.text, one.items, one.withdrawn) for one in found.records] == [("", (), "p1")]

    @pytest.mark.requirement("PERSON-1")
    async def test_a_line_is_pinned_hidden_and_freed(self, store: Store) -> None:
        """Each once; what is no line here can't be marked, and nothing but a mark can be given."""
        mine, put = store.within(ANNA), _said()
        memory, theirs = a_memory(user="anna"), _said(user="ben")
        shared = a_memory("Opens at nine")
        await store.within(BEN).commit(writing(theirs))
        await store.within(AGENT).commit(writing(PutMemory(shared)))
        await mine.commit(writing(put, PutMemory(memory)))
        line = _line(put.event)
        for mark, changes in (("pin", True), ("pin", False), ("hide", True), (None, True), (None, False)):
            before = await mine.revision()
            assert await mine.commit(mark_line(line, mark, at=NOON)) is changes  # type: ignore[arg-type]
            assert (await mine.revision() > before) is changes
            assert await mine.ask(LineMarks()) == ({} if mark is None else {line: mark})
        for one in (memory, shared):
            await mine.commit(mark_line(one.id, "hide", at=NOON))
        assert await mine.ask(LineMarks()) == {memory.id: "hide", shared.id: "hide"}
        for absent in ("", "absent", put.event.id, f"{put.event.id}@1-2", _line(theirs.event)):
            with pytest.raises(NotFound):
                await mine.commit(mark_line(absent, "pin", at=NOON))
        for wrong, mark in ((line, "keep"), (5, "pin")):
            with pytest.raises(InvalidInput):
                await mine.commit(mark_line(wrong, mark, at=NOON))  # type: ignore[arg-type]

    @pytest.mark.requirement("PERSON-1")
    async def test_a_mark_keeps_the_time_at_which_it_was_made(self, store: Store) -> None:
        """Repeating a change changes nothing; and names are told apart by what they are of."""
        mine, put = store.within(ANNA), _said()
        line = _line(put.event)
        for at in (NOON, LATER):
            await mine.commit(writing(*([put] if at == NOON else []), MarkLine(line, "pin", at)))
        named = await mine.commit(asking(LinesNamed((line, f"{put.event.id}@1-2", "absent"))))
        assert named == NamedLines(frozenset({line}), frozenset({put.event.id}), {line: "pin"})
        assert await mine.commit(restore_marks([MarkedLine(line, "hide", LATER)], strict=True))
        assert await mine.ask(LineMarks()) == {line: "pin"}

    @pytest.mark.requirement("PERSON-1", "MEM-3")
    async def test_what_is_forgotten_tells_nothing(self, store: Store) -> None:
        """Neither clauses nor marks are left of a message or memory, whoever marked it, and none of a user."""
        mine, put, kept = store.within(ANNA), _said(), _said(1)
        shared = a_memory("Opens at nine")
        await store.within(AGENT).commit(writing(PutMemory(shared)))
        marks = (MarkLine(_line(put.event), "pin", NOON), MarkLine(shared.id, "hide", NOON))
        await mine.commit(writing(put, kept, *marks, MarkLine(_line(kept.event), "hide", NOON)))
        await mine.commit(writing(Forget(event_ids=(put.event.id,), at=LATER)))
        await store.within(AGENT).commit(writing(Forget(memory_ids=(shared.id,), at=LATER)))
        assert {clause.id for clause in await mine.ask(TellingClauses(9, filters=ALL))} == {kept.event.id}
        assert await mine.ask(LineMarks()) == {_line(kept.event): "hide"}
        left = await mine.commit(asking(LeftOf((put.event.id, shared.id))))
        assert left.holding == ()
        assert {"telling clauses", "marks of profiles"} <= {*left.checked}
        stats = await mine.ask(ScopeStats(LATER))
        assert (stats.telling_clauses, stats.profile_marks) == (2, 1)
        await mine.commit(writing(ForgetOwner(at=LATER)))
        assert (await _texts(mine), await mine.ask(LineMarks())) == ([], {})


# API keys.


def a_key(id: str = "a" * 16, **fields: Any) -> Key:
    """A key of the org `acme`, created at `NOON`; `fields` are fields of `Key`."""
    given: dict[str, Any] = {"org": "acme", "created_at": NOON}
    return Key(id=id, **given | fields)


def issuing(
    number: int = 1, *, replaces: str | None = None, overlap: timedelta = timedelta(hours=1), **wanted: Any
) -> StorePlan[NewKey]:
    """The plan that issues a key of `acme` at `NOON`. The same `number` gives the same key every time; `wanted` are fields of
    `Wanted`."""
    asked = KeyRequest(**{"org": "acme", **wanted})
    return issue(asked, replaces=replaces, overlap=overlap, at=NOON, randomness=lambda count: bytes([number]) * count)


class KeyContract:
    """Tests of the keys. Inherit `StoreContract`, which has them all."""

    @pytest.mark.requirement("RPC-5")
    async def test_a_key_comes_back_equal(self, store: Store) -> None:
        """Every field and the digest are stored, times to the microsecond."""
        later = NOON + timedelta(microseconds=1)
        ends: dict[str, Any] = {"expires_at": later, "revoked_at": later, "replaced_by": "b" * 16, "last_used_at": later}
        keys = [a_key(agents=("support", "Näheres 猫"), rights=("read",), note="für Ana", **ends), a_key("b" * 16)]
        for number, key in enumerate(keys):
            stored = StoredKey(key=key, digest=bytes([number]) * 32)
            await store.commit(store_change(AddKey(stored)))
            assert await store.ask(KeyById(key.id)) == stored
            assert await store.commit(asking(KeyById(key.id))) == stored
        assert await store.ask(KeyById("c" * 16)) is None
        assert await store.commit(asking(KeyById("c" * 16))) is None

    @pytest.mark.requirement("RPC-5", "SCOPE-2")
    async def test_keys_are_listed_oldest_first_by_org(self, store: Store) -> None:
        """`ListKeys` answers with the keys of all orgs, or only those of the named org."""
        named = (("b", "acme", 2), ("a", "acme", 2), ("c", "acme", 1), ("d", "other", 0))
        for id, org, hour in named:
            key = a_key(id * 16, org=org, created_at=NOON + timedelta(hours=hour))
            await store.commit(store_change(AddKey(StoredKey(key=key, digest=id.encode() * 32))))
        assert [key.id[0] for key in await store.ask(ListKeys())] == ["d", "c", "a", "b"]
        assert [key.id[0] for key in await store.ask(ListKeys("acme"))] == ["c", "a", "b"]
        assert await store.ask(ListKeys("nobody")) == ()

    @pytest.mark.requirement("RPC-5")
    async def test_a_key_is_changed_and_its_digest_stays(self, store: Store) -> None:
        """A change of an absent key is ignored; adding an existing id raises `Conflict`."""
        stored = StoredKey(key=a_key(), digest=b"d" * 32)
        ended = replace(stored.key, expires_at=NOON, last_used_at=NOON)
        await store.commit(store_change(AddKey(stored), ChangeKey(ended), ChangeKey(a_key("b" * 16))))
        assert await store.ask(KeyById(ended.id)) == replace(stored, key=ended)
        assert await store.ask(ListKeys()) == (ended,)
        with pytest.raises(Conflict):
            await store.commit(store_change(AddKey(StoredKey(key=a_key(note="another"), digest=b"e" * 32))))
        assert await store.ask(KeyById(ended.id)) == replace(stored, key=ended)

    @pytest.mark.requirement("RPC-5")
    async def test_only_a_hash_of_a_token_is_kept(self, store: Store) -> None:
        """The stored digest verifies the token and doesn't contain it."""
        issued = await store.commit(issuing())
        stored = await store.ask(KeyById(issued.key.id))
        assert parse_token(issued.token).matches(stored)
        assert stored is not None
        assert issued.token.rpartition("_")[2].encode() not in stored.digest
        assert issued.token.rpartition("_")[2] not in repr((stored, issued))

    @pytest.mark.requirement("RPC-5")
    async def test_a_rotation_is_written_whole_or_not_at_all(self, store: Store) -> None:
        """One commit ends the old key and adds the new one. A key of another org can't be rotated."""
        old = await store.commit(issuing(1))
        new = await store.commit(issuing(2, replaces=old.key.id))
        ending, fresh = await store.ask(ListKeys())
        if ending.id != old.key.id:
            ending, fresh = fresh, ending
        assert (ending.expires_at, ending.replaced_by) == (NOON + timedelta(hours=1), new.key.id)
        assert fresh == new.key
        with pytest.raises(NotFound):
            await store.commit(issuing(3, replaces=new.key.id, org="other"))
        with pytest.raises(GermaneError):
            await store.commit(issuing(2, replaces=new.key.id))  # the same id a second time
        assert len(await store.ask(ListKeys())) == 2
        kept = await store.commit(asking(KeyById(new.key.id)))
        assert kept is not None
        assert kept.key == new.key

    @pytest.mark.requirement("RPC-5", "OPS-2")
    async def test_another_handle_sees_a_revocation_at_once(self, store: Store, opening: Callable[[], Store]) -> None:
        """The next `KeyById` of any handle returns the revoked key."""
        second = opening()
        issued = await store.commit(issuing())
        assert parse_token(issued.token).matches(await second.ask(KeyById(issued.key.id)))
        await second.commit(revoke(issued.key.id, at=NOON))
        stored = await store.ask(KeyById(issued.key.id))
        assert stored is not None
        assert stored.key.state(NOON) == "revoked"
        await second.close()

    @pytest.mark.requirement("RPC-5")
    async def test_keys_are_no_content(self, store: Store) -> None:
        """Issuing or using a key doesn't change the scope's revision."""
        scoped = store.within(Scope(org="acme"))
        await scoped.commit(writing(SetDirective("Be kind")))
        before = await scoped.revision()
        issued = await store.commit(issuing())
        assert await store.commit(note_uses({issued.key.id: NOON})) == 1
        assert await store.commit(note_uses({issued.key.id: NOON + timedelta(minutes=59)})) == 0
        assert await scoped.revision() == before

    async def test_a_closed_store_has_no_keys(self, opening: Callable[[], Store]) -> None:
        """Every call raises `StoreUnavailable`."""
        store = opening()
        await store.close()
        with pytest.raises(StoreUnavailable):
            await store.ask(KeyById("a"))
        with pytest.raises(StoreUnavailable):
            await store.ask(ListKeys())
        with pytest.raises(StoreUnavailable):
            await store.commit(issuing())
