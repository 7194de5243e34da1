"""Cursors of listings: encrypted, so that they tell nothing of other orgs' writes."""

from __future__ import annotations

from base64 import urlsafe_b64decode

import hypothesis.strategies as st
import pytest
from hypothesis import given

from germane.clock import Clock
from germane.errors import InvalidInput
from germane.kinds.memories.reads import ListMemories, PutMemory
from germane.stores.sql.listing import Listing
from germane.stores.sqlite import SqliteStore
from germane.types.query import Filters
from germane.types.scope import Scope
from germane_testing.builders import NOON, Hashed, a_memory, writing

SECRET = bytes(range(32))
WHOLE = st.integers(-(2**63), 2**63 - 1)
LISTING = Listing(SECRET, Scope(), Filters())


@given(WHOLE, WHOLE)
def test_a_place_comes_back_from_its_cursor(created_at: int, key: int) -> None:
    """Always as long, in characters that go into any address."""
    cursor = LISTING.cursor(created_at, key)
    assert LISTING.position(cursor) == (created_at, key)
    assert len(cursor) == 43
    assert set(cursor) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


@given(st.text(max_size=60) | st.text("ABCdef-_=", min_size=43, max_size=44))
def test_no_other_text_is_a_cursor(text: str) -> None:
    """Whatever is in it."""
    with pytest.raises(InvalidInput, match="begin again"):
        LISTING.position(text)


@given(st.integers(0, 2**40), st.integers(0, 2**40))
def test_neighbouring_rows_have_nothing_in_common_to_be_seen(created_at: int, key: int) -> None:
    """About half of all bits differ: neither how many rows lie between two nor which came first can be told."""
    one, other = (int.from_bytes(urlsafe_b64decode(LISTING.cursor(created_at, each) + "=")) for each in (key, key + 1))
    assert 64 < (one ^ other).bit_count() < 192


@pytest.mark.requirement("SCOPE-2")
async def test_a_cursor_tells_nothing_of_what_other_orgs_write() -> None:
    """The row's number is nowhere in it; another store's is of no use here."""
    stores = [SqliteStore.open(":memory:", embedder=Hashed(), clock=Clock()) for _ in range(2)]
    cursors = []
    for store, others in zip(stores, (3, 300), strict=True):
        strangers = [a_memory(f"cat {n}") for n in range(others)]
        await store.within(Scope(org="other")).commit(writing(*map(PutMemory, strangers)))
        mine = store.within(Scope(org="mine"))
        await mine.commit(writing(*(PutMemory(a_memory(f"dog {n}")) for n in range(3))))
        cursor = (await mine.ask(ListMemories(Filters(), at=NOON, limit=2))).cursor
        assert cursor is not None
        plain = urlsafe_b64decode(f"{cursor}=")
        for number in (others + 2, int(NOON.timestamp() * 1e6)):
            assert number.to_bytes(8) not in plain
            assert number.to_bytes(8, "little") not in plain
        cursors.append(cursor)
    with pytest.raises(InvalidInput):
        await stores[0].within(Scope(org="mine")).ask(ListMemories(Filters(), at=NOON, limit=2, cursor=cursors[1]))
    for store in stores:
        await store.close()
