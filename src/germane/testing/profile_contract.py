"""Profile contract: what every store must keep of what users tell and of marked lines: `StoreContract` includes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from germane.errors import InvalidInput, NotFound
from germane.events.event import Event, ReplacementLink
from germane.events.operations import PutEvent, PutReplacement
from germane.injections.operations import PutInjection
from germane.memories.operations import EndMemory, Forget, ForgetOwner, LeftOf, PutMemory
from germane.profile.marking import LinesNamed, MarkedLine, MarkLine, NamedLines, mark_line
from germane.profile.reader import ToldClause
from germane.profile.shown_clause import clause_hash, shown_clause
from germane.profile.telling import TellingClause
from germane.store import ScopedStore, Store
from germane.testing.injection_contract import all_records, an_injection
from germane.testing.scope_contract import AGENT, ALL, ANNA, BEN, LATER
from germane.testing.stored import NOON, a_memory, an_event, asking, writing
from germane.transfer.restore import restore_marks
from germane.types.candidate import Outdated, Provenance
from germane.types.earlier import InjectedItem
from germane.types.query import Filters

__all__ = ["ProfileContract"]

RULE, NOTE = "Keep it to three lines", "my kiln is at home"
TEXT = f"{RULE}, {NOTE}."
TOLD = (TellingClause(0, len(RULE), 0.9, 0.3), TellingClause(len(RULE) + 2, len(TEXT) - 1, 0.1, 0.7))
HERS = replace(ANNA, session="s1")


def _said(position: int = 0, *clauses: TellingClause, text: str = TEXT, **fields: Any) -> PutEvent:
    """A message of ANNA's, unless `fields` name another user, that tells these clauses (default: `TOLD`)."""
    return PutEvent(an_event(text, position=position, **{"user": ANNA.user} | fields), telling=clauses or TOLD)


def _line(event: Event, clause: TellingClause = TOLD[0]) -> str:
    return shown_clause(event.id, clause.start, clause.end)


async def _texts(scoped: ScopedStore, limit: int = 99, **filters: Any) -> list[str]:
    return [clause.text for clause in await scoped.profile.clauses(limit, filters=Filters(**filters))]


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
        await store.within(ANNA).journal.commit(writing(put))
        event, (rule, note) = put.event, TOLD
        for each in (store, other):
            found = await each.within(ANNA).profile.clauses(9, filters=Filters())
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
        await store.within(ANNA).journal.commit(writing(_said(1, clause, text=long)))
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
            await mine.journal.commit(writing(_said(place, clause, text=f"{place}!")))
        assert await _texts(mine) == ["4!", "1!", "2!", "3!", "0!"]
        assert await _texts(mine, 2) == ["4!", "1!"]
        assert await _texts(mine, 0) == []

    @pytest.mark.requirement("PERSON-1", "SCOPE-2")
    async def test_which_sessions_are_chats_with_an_assistant(self, store: Store) -> None:
        """Of the scope's own."""
        mine = store.within(ANNA)
        for place, (session, role) in enumerate((("chat", "user"), ("chat", "assistant"), ("people", "user"))):
            event = _said(place, text=f"{place}!").event._replace(session=session, position=place, role=role)
            await mine.journal.commit(writing(PutEvent(event)))
        assert await mine.profile.with_assistant(["chat", "people", "none"]) == {"chat"}
        assert await mine.profile.with_assistant([]) == frozenset()
        assert await store.within(BEN).profile.with_assistant(["chat"]) == frozenset()

    @pytest.mark.requirement("PERSON-1", "SCOPE-2")
    async def test_a_scope_reads_only_its_own(self, store: Store) -> None:
        """A user's clauses are the user's, and the agent-wide ones the agent's; so are the marks."""
        for scope in (AGENT, ANNA):
            put = _said(text=f"{scope.user} {TEXT}", user=scope.user)
            journal = store.within(scope).journal
            await journal.commit(writing(put, MarkLine(_line(put.event), "pin", NOON)))
        assert (await _texts(store.within(ANNA)))[0].startswith("anna")
        assert (await _texts(store.within(AGENT)))[0].startswith("None")
        assert await _texts(store.within(BEN)) == []
        assert await store.within(BEN).profile.marks() == {}
        assert len(await store.within(ANNA).profile.marks()) == len(await store.within(AGENT).profile.marks()) == 1

    @pytest.mark.requirement("PERSON-1")
    async def test_clauses_pass_the_filters_as_messages_do(self, store: Store) -> None:
        """Sensitivity, times, session, and the ids that are excluded; what no message has lets none pass."""
        mine, clause = store.within(ANNA), TellingClause(0, 1, 0.5, 0.0)
        fields: tuple[dict[str, Any], ...] = ({"sensitivity": "sensitive"}, {"message_id": "m"}, {"session": "s2"}, {})
        puts = [_said(place, clause, text=f"{place}", **given) for place, given in enumerate(fields)]
        await mine.journal.commit(writing(*puts))
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
        await mine.journal.commit(writing(put, PutMemory(old), PutMemory(new), ended))
        first, *_ = await mine.profile.clauses(9, filters=Filters())
        assert first.outdated == (Outdated(LATER, ("kiln",)),)

    @pytest.mark.requirement("PERSON-4")
    async def test_what_a_later_message_ended_is_noted_afterwards(self, store: Store) -> None:
        """Once, between two messages of the scope's own; both know it, until one of them is forgotten."""
        mine, older, newer = store.within(ANNA), _said(), _said(1, created_at=LATER)
        others = _said(user="ben")
        await mine.journal.commit(writing(older, newer))
        await store.within(BEN).journal.commit(writing(others))
        ids = {older.event.id, newer.event.id}
        noted = PutReplacement(older=older.event.id, newer=newer.event.id)
        wrong = [replace(noted, newer="absent"), replace(noted, older="absent"), replace(noted, newer=noted.older)]
        strange = [replace(noted, older=others.event.id), replace(noted, newer=others.event.id)]
        await mine.journal.commit(writing(*wrong, *strange))
        await store.within(BEN).journal.commit(writing(noted))
        assert [event.replaces for event in await store.within(BEN).events.get([others.event.id])] == [()]
        assert await mine.profile.holding({*ids, others.event.id, "absent"}, LATER) == ids
        for _ in range(2):
            await mine.journal.commit(writing(noted))
        clauses = await mine.profile.clauses(9, filters=Filters())
        assert {clause.id: clause.outdated for clause in clauses} == {noted.older: (Outdated(LATER, ()),), noted.newer: ()}
        (ended,) = [event for event in await mine.events.get(sorted(ids)) if event.replaces]
        assert (ended.id, ended.replaces) == (noted.newer, (ReplacementLink(noted.older, True),))
        assert await mine.profile.holding(ids, LATER) == {noted.newer}
        assert await mine.profile.holding(ids, LATER - timedelta(seconds=1)) == ids
        assert await store.within(BEN).profile.holding(ids, LATER) == frozenset()
        await mine.journal.commit(writing(Forget(event_ids=(noted.newer,), at=LATER)))
        assert await mine.profile.holding(ids, LATER) == {noted.older}

    @pytest.mark.requirement("PERSON-1", "PACK-8", "INJECT-6")
    async def test_a_clause_may_be_shown_while_its_message_may(self, store: Store) -> None:
        """By its place and the message's content, to those who see the message; a text that holds it goes with the message."""
        mine, put, secret = store.within(HERS), _said(), _said(1, sensitivity="sensitive")
        await mine.journal.commit(writing(put, secret))
        lines = [_line(put.event), _line(put.event, TOLD[1]), _line(secret.event), "absent@0-3", f"{put.event.id}@0-x"]
        assert await mine.allowed(lines, at=LATER, filters=Filters()) == set(lines[:2])
        assert await mine.allowed(lines, at=LATER, filters=ALL) == set(lines[:3])
        assert await mine.allowed([lines[0], put.event.id], at=LATER, filters=ALL) == {lines[0], put.event.id}
        assert await store.within(BEN).allowed(lines, at=LATER, filters=ALL) == frozenset()
        hashed = clause_hash(put.event.content_hash, 0, len(RULE))
        item = InjectedItem(handle="p1", id=lines[0], content_hash=hashed, source="profile")
        kept = an_injection(items=(item,), text=RULE)
        await mine.journal.commit(writing(PutInjection("s1", kept)))
        wrong = replace(kept, turn="other", items=(replace(item, content_hash=hashed + 1),))
        await mine.journal.commit(writing(PutInjection("s1", wrong)))
        found = await mine.injections(all_records, at=LATER, filters=Filters())
        assert (found.records, found.allowed) == ((kept,), {lines[0]: hashed})
        await mine.journal.commit(writing(Forget(event_ids=(put.event.id,), at=LATER)))
        found = await mine.injections(all_records, at=LATER, filters=Filters())
        assert [(one.text, one.items, one.withdrawn) for one in found.records] == [("", (), "p1")]

    @pytest.mark.requirement("PERSON-1")
    async def test_a_line_is_pinned_hidden_and_freed(self, store: Store) -> None:
        """Each once; what is no line here can't be marked, and nothing but a mark can be given."""
        mine, put = store.within(ANNA), _said()
        memory, theirs = a_memory(user="anna"), _said(user="ben")
        shared = a_memory("Opens at nine")
        await store.within(BEN).journal.commit(writing(theirs))
        await store.within(AGENT).journal.commit(writing(PutMemory(shared)))
        await mine.journal.commit(writing(put, PutMemory(memory)))
        line = _line(put.event)
        for mark, changes in (("pin", True), ("pin", False), ("hide", True), (None, True), (None, False)):
            before = await mine.journal.revision()
            assert await mine.journal.commit(mark_line(line, mark, at=NOON)) is changes  # type: ignore[arg-type]
            assert (await mine.journal.revision() > before) is changes
            assert await mine.profile.marks() == ({} if mark is None else {line: mark})
        for one in (memory, shared):
            await mine.journal.commit(mark_line(one.id, "hide", at=NOON))
        assert await mine.profile.marks() == {memory.id: "hide", shared.id: "hide"}
        for absent in ("", "absent", put.event.id, f"{put.event.id}@1-2", _line(theirs.event)):
            with pytest.raises(NotFound):
                await mine.journal.commit(mark_line(absent, "pin", at=NOON))
        for wrong, mark in ((line, "keep"), (5, "pin")):
            with pytest.raises(InvalidInput):
                await mine.journal.commit(mark_line(wrong, mark, at=NOON))  # type: ignore[arg-type]

    @pytest.mark.requirement("PERSON-1")
    async def test_a_mark_keeps_the_time_at_which_it_was_made(self, store: Store) -> None:
        """Repeating a change changes nothing; and names are told apart by what they are of."""
        mine, put = store.within(ANNA), _said()
        line = _line(put.event)
        for at in (NOON, LATER):
            await mine.journal.commit(writing(*([put] if at == NOON else []), MarkLine(line, "pin", at)))
        named = await mine.journal.commit(asking(LinesNamed((line, f"{put.event.id}@1-2", "absent"))))
        assert named == NamedLines(frozenset({line}), frozenset({put.event.id}), {line: "pin"})
        assert await mine.journal.commit(restore_marks([MarkedLine(line, "hide", LATER)], strict=True))
        assert await mine.profile.marks() == {line: "pin"}

    @pytest.mark.requirement("PERSON-1", "MEM-3")
    async def test_what_is_forgotten_tells_nothing(self, store: Store) -> None:
        """Neither clauses nor marks are left of a message or memory, whoever marked it, and none of a user."""
        mine, put, kept = store.within(ANNA), _said(), _said(1)
        shared = a_memory("Opens at nine")
        await store.within(AGENT).journal.commit(writing(PutMemory(shared)))
        marks = (MarkLine(_line(put.event), "pin", NOON), MarkLine(shared.id, "hide", NOON))
        await mine.journal.commit(writing(put, kept, *marks, MarkLine(_line(kept.event), "hide", NOON)))
        await mine.journal.commit(writing(Forget(event_ids=(put.event.id,), at=LATER)))
        await store.within(AGENT).journal.commit(writing(Forget(memory_ids=(shared.id,), at=LATER)))
        assert {clause.id for clause in await mine.profile.clauses(9, filters=ALL)} == {kept.event.id}
        assert await mine.profile.marks() == {_line(kept.event): "hide"}
        left = await mine.journal.commit(asking(LeftOf((put.event.id, shared.id))))
        assert left.holding == ()
        assert {"telling clauses", "marks of profiles"} <= {*left.checked}
        stats = await mine.inventory.stats(at=LATER)
        assert (stats.telling_clauses, stats.profile_marks) == (2, 1)
        await mine.journal.commit(writing(ForgetOwner(at=LATER)))
        assert (await _texts(mine), await mine.profile.marks()) == ([], {})
