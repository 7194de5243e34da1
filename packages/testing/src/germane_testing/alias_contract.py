"""Alias contract: the tests of `StoreContract` about aliases of sessions, and about what was forgotten as a whole."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from germane.kinds.conversations.aliases import (
    MAX_ALIAS_DAYS,
    MAX_ALIASES,
    MAX_FORGOTTEN_DAYS,
    AliasedSessions,
    ForgottenMeanwhile,
    ForgottenSince,
    NoteForgotten,
    SessionAlias,
    put_aliases,
    unless_forgotten,
)
from germane.kinds.events.reads import PutEvent, SessionLength
from germane.kinds.memories.forgetting import forget
from germane.stores.contract import ScopedStore, Store
from germane.types.scope import Scope
from germane_testing.builders import NOON, an_event, asking, writing
from germane_testing.scope_contract import AGENT, ANNA, BEN, LATER


def named(*aliases: str, turns: bytes = b"") -> list[SessionAlias]:
    return [SessionAlias(alias=alias, turns=turns) for alias in aliases]


async def sessions_of(scoped: ScopedStore, *aliases: str, limit: int = 32) -> list[tuple[str, str, bytes]]:
    found = await scoped.ask(AliasedSessions(aliases, limit))
    return [(one.alias, one.session, one.turns) for one in found]


async def forgotten(scoped: ScopedStore, session: str, since: datetime) -> bool:
    return await scoped.ask(ForgottenSince(session, since))


@pytest.mark.requirement("PROXY-4")
class AliasContract:
    """The fixture `scoped` is a store's part for one agent without a user, `store` the whole store."""

    async def test_a_session_is_found_by_each_of_its_aliases(self, scoped: ScopedStore) -> None:
        """The latest session first; an alias that was ended isn't one any more, and a session needs no message."""
        await scoped.commit(put_aliases("s", named("a", "b", turns=b"\x00\xff"), at=NOON))
        await scoped.commit(put_aliases("t", named("a"), at=LATER))
        assert await sessions_of(scoped, "b", "a", "absent") == [
            ("b", "s", b"\x00\xff"),
            ("a", "t", b""),
            ("a", "s", b"\x00\xff"),
        ]
        assert await sessions_of(scoped, "a", limit=1) == [("a", "t", b"")]
        await scoped.commit(put_aliases("s", named("a", turns=b"new"), ended=["b", "absent"], at=LATER + timedelta(days=1)))
        assert await sessions_of(scoped, "a", "b") == [("a", "s", b"new"), ("a", "t", b"")]
        assert await sessions_of(scoped) == []

    async def test_an_alias_leads_to_no_other_owners_session(self, store: Store) -> None:
        anna = store.within(ANNA)
        await anna.commit(put_aliases("s", named("a"), at=NOON))
        others = (AGENT, BEN, Scope(user="anna", agent="other"), Scope(user="anna", org="other"))
        assert [await sessions_of(store.within(scope), "a") for scope in others] == [[]] * 4
        await store.within(BEN).commit(put_aliases("s", [], ended=["a"], at=NOON))
        assert await sessions_of(anna, "a") == [("a", "s", b"")]

    async def test_aliases_are_bounded_by_number_and_age(self, scoped: ScopedStore) -> None:
        for number in range(MAX_ALIASES + 3):
            await scoped.commit(put_aliases("s", named(f"a{number}"), at=NOON + timedelta(seconds=number)))
        kept = await sessions_of(scoped, *(f"a{number}" for number in range(MAX_ALIASES + 3)))
        assert [alias for alias, _, _ in kept] == [f"a{number}" for number in range(3, MAX_ALIASES + 3)]
        await scoped.commit(put_aliases("t", named("b"), at=NOON + timedelta(days=MAX_ALIAS_DAYS, hours=1)))
        assert await sessions_of(scoped, "a5", "b") == [("b", "t", b"")]

    @pytest.mark.requirement("MEM-3")
    @pytest.mark.parametrize("how", ["session", "owner"])
    async def test_aliases_go_with_their_session_and_their_owner(self, store: Store, how: str) -> None:
        anna = store.within(ANNA)
        for session in ("s", "t"):
            await anna.commit(put_aliases(session, named(f"of {session}"), at=NOON))
        await anna.commit(writing(PutEvent(an_event("hi", user="anna"))))
        criteria = {"session": "s"} if how == "session" else {"everything": True}
        await anna.commit(forget(**criteria, scope=ANNA, at=LATER))
        left = await sessions_of(anna, "of s", "of t")
        assert left == ([("of t", "t", b"")] if how == "session" else [])

    @pytest.mark.requirement("MEM-3", "PROXY-1")
    async def test_the_store_knows_what_was_forgotten_as_a_whole(self, store: Store) -> None:
        """A session, an owner, an agent, an org: also where nothing of it was stored. Others aren't."""
        anna, ben, wide = store.within(ANNA), store.within(BEN), store.within(AGENT)
        elsewhere = store.within(Scope(user="anna", org="other"))
        assert not await forgotten(anna, "s", NOON)
        await anna.commit(forget(session="s", scope=ANNA, at=LATER))
        assert [await forgotten(anna, "s", since) for since in (NOON, LATER, LATER + timedelta(microseconds=1))] == [
            True,
            True,
            False,
        ]
        assert not any([await forgotten(anna, "t", NOON), await forgotten(ben, "s", NOON), await forgotten(wide, "s", NOON)])
        await wide.commit(forget(user="ben", scope=AGENT, at=LATER))
        assert [await forgotten(scoped, "t", NOON) for scoped in (ben, anna, wide)] == [True, False, False]
        await wide.commit(forget(everything=True, scope=AGENT, at=LATER))
        assert [await forgotten(scoped, "t", NOON) for scoped in (wide, anna)] == [True, False]
        await wide.commit(writing(NoteForgotten(LATER)))
        assert [await forgotten(scoped, "t", NOON) for scoped in (anna, store.within(Scope(agent="b")))] == [True, False]
        await wide.commit(writing(NoteForgotten(LATER, whole_org=True)))
        assert [await forgotten(scoped, "t", NOON) for scoped in (store.within(Scope(agent="b")), elsewhere)] == [True, False]
        assert not await forgotten(anna, "t", LATER + timedelta(seconds=1))

    async def test_what_was_forgotten_long_ago_is_not_kept(self, store: Store) -> None:
        anna = store.within(ANNA)
        await anna.commit(forget(session="s", scope=ANNA, at=NOON))
        await anna.commit(forget(session="t", scope=ANNA, at=NOON + timedelta(days=MAX_FORGOTTEN_DAYS, hours=1)))
        assert not await forgotten(anna, "s", NOON)

    @pytest.mark.requirement("PROXY-1")
    async def test_a_plan_for_what_was_forgotten_since_writes_nothing(self, store: Store) -> None:
        anna = store.within(ANNA)
        put = PutEvent(an_event("hi", user="anna"))
        await anna.commit(forget(session="s", scope=ANNA, at=LATER))
        for plan in (unless_forgotten(writing(put), "s", NOON), put_aliases("s", named("a"), at=LATER)):
            with pytest.raises(ForgottenMeanwhile):
                await anna.commit(plan)
        assert (await anna.commit(asking(SessionLength("s"))), await sessions_of(anna, "a")) == (0, [])
        await anna.commit(unless_forgotten(writing(put), "s", LATER + timedelta(seconds=1)))
