"""Memory contract: the tests of `StoreContract` about memories: fields, replacing, listing, pins and history."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from germane.memories.operations import PutMemory
from germane.store import ScopedStore
from germane.testing.scope_contract import LATER, found
from germane.testing.stored import NOON, a_memory, writing
from germane.types.candidate import Provenance
from germane.types.query import Filters

__all__ = ["MemoryContract"]


class MemoryContract:
    """Tests of memories. Inherit `StoreContract`, which has them all."""

    @pytest.mark.requirement("MEM-2", "MEM-3", "SCOPE-4")
    async def test_a_memory_comes_back_equal(self, scoped: ScopedStore) -> None:
        """Every field of every kind is stored, times to the microsecond."""
        provenance = Provenance(
            source_kind="tool",
            channel="mail",
            session="s",
            message_id="m",
            tool_call_id="t",
            refs=("a", "b"),
            metadata={"x": [1]},
        )
        rich: dict[str, Any] = {
            "tags": ("red", "blue"),
            "sensitivity": "sensitive",
            "confidence": 0.25,
            "pinned": True,
            "provenance": provenance,
        }
        ends: dict[str, Any] = {"expires_at": LATER, "valid_to": NOON + timedelta(microseconds=1), "content_hash": -(1 << 63)}
        kinds = ("fact", "preference", "procedure", "behavior", "episode", "note")
        memories = [a_memory(f"Näheres \x00 zu 猫 {kind}", kind, **rich, **ends) for kind in kinds]
        memories.append(a_memory(kind="fact", helpful=2, harmful=3, retrieval_count=4))
        await scoped.journal.commit(writing(*map(PutMemory, memories)))
        found = await scoped.memories.get([memory.id for memory in memories])
        assert found == tuple(memories)
        assert found[0].provenance.metadata == {"x": [1]}

    async def test_a_replaced_memory_is_found_by_its_new_words_only(self, scoped: ScopedStore) -> None:
        """`PutMemory` with an existing id replaces text, tags and vector."""
        memory = a_memory("likes tea", tags=("drink",))
        await scoped.journal.commit(writing(PutMemory(memory)))
        assert await found(scoped, "tea") == ["likes tea"]
        await scoped.journal.commit(writing(PutMemory(replace(a_memory("likes milk", tags=("white",)), id=memory.id))))
        assert await found(scoped, "tea") == []
        assert await found(scoped, "milk", tags=("white",)) == ["likes milk"]
        assert await found(scoped, "milk", tags=("drink",)) == []

    @pytest.mark.requirement("MEM-3")
    async def test_listing_goes_through_all_pages_newest_first(self, scoped: ScopedStore) -> None:
        """Pages neither skip nor repeat a memory, even where times are equal."""
        memories = [a_memory(f"note {n}", created_at=NOON + timedelta(seconds=n // 2)) for n in range(7)]
        await scoped.journal.commit(writing(*map(PutMemory, memories)))
        texts, cursor = [], None
        while True:
            page = await scoped.memories.list(Filters(), at=LATER, limit=3, cursor=cursor)
            texts += [memory.text for memory in page.memories]
            if (cursor := page.cursor) is None:
                break
        assert texts == [f"note {n}" for n in reversed(range(7))]

    async def test_pinned_gives_pins_then_facts_in_key_order_then_tags(self, scoped: ScopedStore) -> None:
        """`pinned` returns only the newest fact of each key, and no memory twice."""
        pin = a_memory("pin", pinned=True, tags=("t",))
        old, new = (a_memory(text, "fact", key="k1", valid_from=NOON + timedelta(h)) for text, h in (("old", -2), ("new", -1)))
        other, tagged = a_memory("other", "fact", key="k2"), a_memory("tagged", tags=("t",))
        await scoped.journal.commit(writing(*map(PutMemory, (tagged, old, new, other, pin))))
        found = await scoped.memories.pinned(("k2", "k1"), ("t",), at=LATER, filters=Filters())
        assert found == (pin, other, new, tagged)

    async def test_history_is_the_whole_line_of_succession(self, scoped: ScopedStore) -> None:
        """`history` of any memory of the line returns the whole line, oldest first."""
        line = [a_memory(f"v{n}", "fact", valid_from=NOON + timedelta(days=n)) for n in range(3)]
        line[:2] = [replace(old, superseded_by=new.id) for old, new in pairwise(line)]
        await scoped.journal.commit(writing(*map(PutMemory, [*line, a_memory("apart")])))
        for memory in line:
            assert await scoped.memories.history(memory.id) == tuple(line)
        assert await scoped.memories.history("absent") == ()
