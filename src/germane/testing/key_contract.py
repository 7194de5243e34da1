"""Key contract: the tests of `StoreContract` about API keys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from germane.access.issue import KeyRequest, issue
from germane.access.key import Key, NewKey, StoredKey
from germane.access.key_token import presented
from germane.access.operations import AddKey, ChangeKey, KeyById
from germane.access.revoke import revoke
from germane.access.usage import used
from germane.errors import Conflict, GermaneError, NotFound, StoreUnavailable
from germane.memories.operations import SetDirective
from germane.store import Store
from germane.testing.stored import NOON, asking, writing
from germane.types.plan import Plan
from germane.types.scope import Scope

__all__ = ["KeyContract", "a_key", "issuing"]


def a_key(id: str = "a" * 16, **fields: Any) -> Key:
    """A key of the org `acme`, created at `NOON`; `fields` are fields of `Key`."""
    given: dict[str, Any] = {"org": "acme", "created_at": NOON}
    return Key(id=id, **given | fields)


def issuing(
    number: int = 1, *, replaces: str | None = None, overlap: timedelta = timedelta(hours=1), **wanted: Any
) -> Plan[NewKey]:
    """The plan that issues a key of `acme` at `NOON`. The same `number` gives the same key every time; `wanted` are fields of
    `Wanted`."""
    asked = KeyRequest(**{"org": "acme", **wanted})
    return issue(asked, replaces=replaces, overlap=overlap, at=NOON, randomness=lambda count: bytes([number]) * count)


class KeyContract:
    """Tests of `store.keys`. Inherit `StoreContract`, which has them all."""

    @pytest.mark.requirement("RPC-5")
    async def test_a_key_comes_back_equal(self, store: Store) -> None:
        """Every field and the digest are stored, times to the microsecond."""
        later = NOON + timedelta(microseconds=1)
        ends: dict[str, Any] = {"expires_at": later, "revoked_at": later, "replaced_by": "b" * 16, "last_used_at": later}
        keys = [a_key(agents=("support", "Näheres 猫"), rights=("read",), note="für Ana", **ends), a_key("b" * 16)]
        for number, key in enumerate(keys):
            stored = StoredKey(key=key, digest=bytes([number]) * 32)
            await store.keys.commit(writing(AddKey(stored)))
            assert await store.keys.find(key.id) == stored
            assert await store.keys.commit(asking(KeyById(key.id))) == key
        assert await store.keys.find("c" * 16) is None
        assert await store.keys.commit(asking(KeyById("c" * 16))) is None

    @pytest.mark.requirement("RPC-5", "SCOPE-2")
    async def test_keys_are_listed_oldest_first_by_org(self, store: Store) -> None:
        """`list` returns the keys of all orgs, or only those of the named org."""
        named = (("b", "acme", 2), ("a", "acme", 2), ("c", "acme", 1), ("d", "other", 0))
        for id, org, hour in named:
            key = a_key(id * 16, org=org, created_at=NOON + timedelta(hours=hour))
            await store.keys.commit(writing(AddKey(StoredKey(key=key, digest=id.encode() * 32))))
        assert [key.id[0] for key in await store.keys.list()] == ["d", "c", "a", "b"]
        assert [key.id[0] for key in await store.keys.list("acme")] == ["c", "a", "b"]
        assert await store.keys.list("nobody") == ()

    @pytest.mark.requirement("RPC-5")
    async def test_a_key_is_changed_and_its_digest_stays(self, store: Store) -> None:
        """A change of an absent key is ignored; adding an existing id raises `Conflict`."""
        stored = StoredKey(key=a_key(), digest=b"d" * 32)
        ended = replace(stored.key, expires_at=NOON, last_used_at=NOON)
        await store.keys.commit(writing(AddKey(stored), ChangeKey(ended), ChangeKey(a_key("b" * 16))))
        assert await store.keys.find(ended.id) == replace(stored, key=ended)
        assert await store.keys.list() == (ended,)
        with pytest.raises(Conflict):
            await store.keys.commit(writing(AddKey(StoredKey(key=a_key(note="another"), digest=b"e" * 32))))
        assert await store.keys.find(ended.id) == replace(stored, key=ended)

    @pytest.mark.requirement("RPC-5")
    async def test_only_a_hash_of_a_token_is_kept(self, store: Store) -> None:
        """The stored digest verifies the token and doesn't contain it."""
        issued = await store.keys.commit(issuing())
        stored = await store.keys.find(issued.key.id)
        assert presented(issued.token).matches(stored)
        assert stored is not None
        assert issued.token.rpartition("_")[2].encode() not in stored.digest
        assert issued.token.rpartition("_")[2] not in repr((stored, issued))

    @pytest.mark.requirement("RPC-5")
    async def test_a_rotation_is_written_whole_or_not_at_all(self, store: Store) -> None:
        """One commit ends the old key and adds the new one. A key of another org can't be rotated."""
        old = await store.keys.commit(issuing(1))
        new = await store.keys.commit(issuing(2, replaces=old.key.id))
        ending, fresh = await store.keys.list()
        if ending.id != old.key.id:
            ending, fresh = fresh, ending
        assert (ending.expires_at, ending.replaced_by) == (NOON + timedelta(hours=1), new.key.id)
        assert fresh == new.key
        with pytest.raises(NotFound):
            await store.keys.commit(issuing(3, replaces=new.key.id, org="other"))
        with pytest.raises(GermaneError):
            await store.keys.commit(issuing(2, replaces=new.key.id))  # the same id a second time
        assert len(await store.keys.list()) == 2
        assert (await store.keys.commit(asking(KeyById(new.key.id)))) == new.key

    @pytest.mark.requirement("RPC-5", "OPS-2")
    async def test_another_handle_sees_a_revocation_at_once(self, store: Store, opening: Callable[[], Store]) -> None:
        """The next `find` of any handle returns the revoked key."""
        second = opening()
        issued = await store.keys.commit(issuing())
        assert presented(issued.token).matches(await second.keys.find(issued.key.id))
        await second.keys.commit(revoke(issued.key.id, at=NOON))
        stored = await store.keys.find(issued.key.id)
        assert stored is not None
        assert stored.key.state(NOON) == "revoked"
        await second.close()

    @pytest.mark.requirement("RPC-5")
    async def test_keys_are_no_content(self, store: Store) -> None:
        """Issuing or using a key doesn't change the journal's revision."""
        scoped = store.within(Scope(org="acme"))
        await scoped.journal.commit(writing(SetDirective("Be kind")))
        before = await scoped.journal.revision()
        issued = await store.keys.commit(issuing())
        assert await store.keys.commit(used({issued.key.id: NOON})) == 1
        assert await store.keys.commit(used({issued.key.id: NOON + timedelta(minutes=59)})) == 0
        assert await scoped.journal.revision() == before

    async def test_a_closed_store_has_no_keys(self, opening: Callable[[], Store]) -> None:
        """Every call raises `StoreUnavailable`."""
        store = opening()
        await store.close()
        with pytest.raises(StoreUnavailable):
            await store.keys.find("a")
        with pytest.raises(StoreUnavailable):
            await store.keys.list()
        with pytest.raises(StoreUnavailable):
            await store.keys.commit(issuing())
