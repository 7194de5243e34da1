"""Everything: after all of a scope was forgotten no file knows whose it was, and no process remembers."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from germane.clock import Clock
from germane.kinds.events.reads import ListSessions, PutEvent
from germane.kinds.keys.reads import NonceKey
from germane.kinds.memories.directive import CurrentDirective, SetDirective
from germane.kinds.memories.forgetting import forget
from germane.kinds.memories.reads import CountRetrievals, Forget, ForgetOwner, ListMemories, PutMemory, Select
from germane.kinds.memories.value import Receipt
from germane.kinds.profile.reads import MarkLine
from germane.kinds.profile.telling import TellingClause
from germane.stores.contract import ScopedStore
from germane.stores.sqlite import SqliteStore, erasure
from germane.types.plan import Plan
from germane.types.query import Filters
from germane.types.scope import Scope
from germane_testing.builders import NOON, Hashed, a_memory, an_event, asking, question, writing

pytestmark = pytest.mark.requirement("MEM-3", "OPS-2")

NAMES = ("canary-org", "canary-agent", "canary-user")
ANNA = Scope(org=NAMES[0], agent=NAMES[1], user=NAMES[2])
WIDE = Scope(org=NAMES[0], agent=NAMES[1])
SAID = ("canary-text", "canary-name", "canary-session", "canary-message", "canary-key", "canary-tag", "canary-directive")


def opened(folder: Path) -> SqliteStore:
    return SqliteStore.open(folder / "a.db", embedder=Hashed(), clock=Clock())


def held(folder: Path, *words: str) -> set[str]:
    everything = b"\0".join(path.read_bytes() for path in folder.iterdir())
    return {word for word in words if word.encode() in everything}


async def lived_in(scoped: ScopedStore) -> None:
    """Something in every table, and something forgotten before by a person of that name."""
    user = scoped.scope.user
    fact = a_memory("canary-text", "fact", key="canary-key", tags=("canary-tag",), user=user)
    said: dict[str, Any] = {"session": "canary-session", "name": "canary-name", "user": user}
    events = [an_event(f"canary-text {n}", position=n, message_id=f"canary-message{n}", **said) for n in range(3)]
    told = (TellingClause(0, 11, 0.5, 0.5),)
    await scoped.commit(writing(PutMemory(fact), *(PutEvent(event, telling=told) for event in events)))
    marks = [MarkLine(f"{event.id}@0-11", "pin", NOON) for event in events]
    await scoped.commit(writing(SetDirective("canary-directive"), *marks, MarkLine(fact.id, "hide", NOON)))
    gone = Forget(event_ids=(events[0].id,), at=NOON, by="canary-user", reason="canary-reason")
    await scoped.commit(writing(gone))


def rows_of(folder: Path, table: str) -> list[tuple[object, ...]]:
    with closing(apsw.Connection(str(folder / "a.db"))) as connection:
        return list(connection.execute(f"SELECT * FROM {table}"))


def all_of(scope: Scope, *, user: str | None = None, by: str = "", reason: str = "") -> Plan[Receipt]:
    """Of a user, where one is named, else of the scope."""
    return forget(user=user, everything=user is None, scope=scope, at=NOON, by=by, reason=reason)


async def test_everything_takes_directive_sessions_names_and_ids_of_the_scope(tmp_path: Path) -> None:
    """Nothing that was said, nobody's name, and not whose it was: in no file."""
    store = opened(tmp_path)
    scoped = store.within(ANNA)
    await lived_in(scoped)
    assert held(tmp_path, *NAMES, *SAID) == {*NAMES, *SAID}
    receipt = await scoped.commit(all_of(ANNA, by="canary-user", reason="asked by Canary-User"))
    assert len(receipt) == 3
    assert await scoped.scrub() == ""
    assert held(tmp_path, *NAMES, *SAID, "canary-reason", "Canary-User") == set()
    assert (await scoped.ask(CurrentDirective())).text == ""
    assert (await scoped.ask(ListSessions(9))).sessions == ()
    await store.close()
    assert held(tmp_path, *NAMES, *SAID, "canary-reason", "Canary-User") == set()


async def test_nothing_of_a_profile_is_left(tmp_path: Path) -> None:
    """Neither clauses nor marks of a session, of a source or of everything; and what stays before is whole."""
    store = opened(tmp_path)
    tables = ("telling_clauses", "profile_marks", "untold")
    for wanted in ({"session": "canary-session"}, {"source_kind": "user"}, {"everything": True}):
        scoped = store.within(ANNA)
        await lived_in(scoped)
        assert {table: len(rows_of(tmp_path, table)) for table in tables} == {
            "telling_clauses": 2,
            "profile_marks": 3,
            "untold": 0,
        }
        assert ("orphans", "every row belongs to something", True) in (await store.verify()).findings
        await scoped.commit(forget(**wanted, scope=ANNA, at=NOON))
        assert rows_of(tmp_path, "telling_clauses") == []
        assert len(rows_of(tmp_path, "profile_marks")) == (wanted == {"session": "canary-session"})
        await scoped.commit(all_of(ANNA))
        assert rows_of(tmp_path, "profile_marks") == []
    await store.close()


async def test_who_says_nothing_of_whom_is_remembered_with_the_tombstones(tmp_path: Path) -> None:
    """Who asked and why stays, where it names nobody that is gone."""
    store = opened(tmp_path)
    scoped = store.within(ANNA)
    await lived_in(scoped)
    await scoped.commit(all_of(ANNA, by="operator-seven", reason="article 17"))
    assert held(tmp_path, "operator-seven", "article 17", *NAMES) == {"operator-seven", "article 17"}
    await store.close()


async def test_names_that_others_share_stay_with_the_others(tmp_path: Path) -> None:
    """The agent's own things are the agent's; only the user is gone."""
    store = opened(tmp_path)
    await lived_in(store.within(ANNA))
    await store.within(WIDE).commit(writing(PutMemory(a_memory("tea")), SetDirective("be kind")))
    await store.within(WIDE).commit(all_of(WIDE, user="canary-user"))
    assert held(tmp_path, *NAMES, *SAID) == {"canary-org", "canary-agent"}
    assert (await store.within(ANNA).ask(CurrentDirective())).text == "be kind"
    assert len((await store.within(ANNA).ask(ListMemories(Filters(), at=NOON, limit=9))).memories) == 1
    await store.close()


async def test_everything_of_a_scope_that_only_has_a_directive_takes_it(tmp_path: Path) -> None:
    """Though the receipt names nothing. Again is fine, and so is a scope that never was."""
    store = opened(tmp_path)
    scoped = store.within(ANNA)
    await scoped.commit(writing(SetDirective("canary-directive")))
    for _ in range(2):
        receipt = await scoped.commit(all_of(ANNA))
        assert len(receipt) == 0
        assert held(tmp_path, *NAMES, "canary-directive") == set()
    await store.close()


async def test_everything_of_a_user_who_never_was_takes_nothing_of_anybody(tmp_path: Path) -> None:
    """Least of all what is agent-wide."""
    store = opened(tmp_path)
    await lived_in(store.within(WIDE))
    await store.within(WIDE).commit(all_of(WIDE, user="nobody"))
    assert (await store.within(WIDE).ask(CurrentDirective())).text == "canary-directive"
    assert len((await store.within(WIDE).ask(ListMemories(Filters(), at=NOON, limit=9))).memories) == 1
    await store.close()


async def test_a_users_scope_takes_nothing_of_another(tmp_path: Path) -> None:
    """Whatever a plan says."""
    store = opened(tmp_path)
    await lived_in(store.within(ANNA))
    bo = Scope(org=NAMES[0], agent=NAMES[1], user="bo")
    for user in (NAMES[2], None):
        await store.within(bo).commit(writing(ForgetOwner(user=user, at=NOON)))
    assert (await store.within(ANNA).ask(CurrentDirective())).text == "canary-directive"
    await store.close()


async def test_nothing_that_comes_late_brings_the_scope_back(tmp_path: Path) -> None:
    """Counts that were still waiting, a directive that is removed, another forgetting: no row with its names is made."""
    store = opened(tmp_path)
    scoped = store.within(ANNA)
    await lived_in(scoped)
    ids = (await scoped.commit(asking(Select(everything=True)))).memory_ids
    await scoped.commit(all_of(ANNA))
    await scoped.commit(writing(CountRetrievals(ids), SetDirective("")))
    await scoped.commit(all_of(ANNA))
    assert held(tmp_path, *NAMES) == set()
    await store.close()


async def test_the_revision_never_goes_back(tmp_path: Path) -> None:
    """A result that was kept for an earlier state isn't taken for one of the state after."""
    store = opened(tmp_path)
    scoped = store.within(ANNA)
    await store.within(WIDE).commit(writing(PutMemory(a_memory("tea"))))
    seen = [await scoped.revision()]
    await lived_in(scoped)
    seen.append(await scoped.revision())
    await scoped.commit(all_of(ANNA))
    seen.append(await scoped.revision())
    assert seen == sorted(set(seen))
    await store.close()


async def test_another_process_finds_it_gone_and_forgets_what_it_had_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At its next question; what it would answer without asking the file goes as soon as it looks."""
    monkeypatch.setattr(erasure, "_POLL", 0.001)
    here, there = opened(tmp_path), opened(tmp_path)
    scoped = there.within(ANNA)
    await lived_in(here.within(ANNA))
    assert len((await scoped.events.search(question("canary text"), 9, keywords=True, vectors=False, wait=True)).hits) == 2
    told: list[str] = []
    there.when_vanished(lambda directive: told.append(directive(*NAMES)))
    await here.within(ANNA).commit(all_of(ANNA))
    assert (await scoped.events.search(question("canary text"), 9, keywords=True, vectors=False, wait=True)).hits == ()
    assert (await scoped.ask(CurrentDirective())).text == ""
    while not told:
        await there.ask(NonceKey())
    assert set(told) == {""}
    assert len(there._partitions) == 0
    await scoped.commit(writing(PutMemory(a_memory("anew", user=ANNA.user))))
    assert len((await here.within(ANNA).ask(ListMemories(Filters(), at=NOON, limit=9))).memories) == 1
    await here.close()
    await there.close()
