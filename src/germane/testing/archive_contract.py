"""Archive contract: the tests of `StoreContract` about archival entries and blocks, and about forgetting and counting both."""

from __future__ import annotations

from dataclasses import replace

import pytest

from germane.blocks.operations import IdsOfBlocks, PutBlock, PutEntry, PutShare, PutSnapshot, PutVersion
from germane.errors import NotFound
from germane.memories.operations import Forget, ForgetOwner, LeftOf, Select
from germane.store import ScopedStore, Store
from germane.testing.block_contract import OTHER, a_version, archived
from germane.testing.scope_contract import AGENT, ANNA, LATER
from germane.testing.stored import NOON, a_block, an_entry, asking, editing, writing

__all__ = ["ArchiveContract"]


class ArchiveContract:
    """The fixture `scoped` is a store's part for one agent without a user, `store` the whole store."""

    @pytest.mark.requirement("BLK-7")
    async def test_entries_are_found_by_their_words_and_metadata(self, store: Store) -> None:
        """So are archival blocks, and no other ones; an agent's entries are found by its users."""
        agent, anna = store.within(AGENT), store.within(ANNA)
        entry = an_entry(metadata={"source": "manual", "pages": [12, {"chapter": "cooling"}]})
        blocks = [a_block(type, f"tank of {type}", type=type) for type in ("core", "working", "archival", "log")]
        await agent.journal.commit(writing(PutEntry(entry), *map(PutBlock, blocks)))
        await anna.journal.commit(writing(PutEntry(an_entry("her tank", user="anna"))))
        assert await archived(agent, "tank") == [entry.text, "tank of archival"]
        assert await archived(anna, "tank") == [entry.text, "her tank", "tank of archival"]
        assert await archived(agent, "cooling") == [entry.text]
        assert await archived(agent, "manual") == [entry.text]
        assert await agent.blocks.entries([entry.id, "absent"]) == (entry,)
        with pytest.raises(NotFound):
            await agent.journal.commit(writing(PutEntry(replace(entry, text="another"))))

    @pytest.mark.requirement("BLK-2", "BLK-7")
    async def test_the_archive_finds_blocks_as_they_are_now(self, scoped: ScopedStore) -> None:
        """After an edit, a change of the type, a deletion and a restoration."""
        block = a_block("notes", "green tank", type="archival")
        await scoped.journal.commit(writing(PutBlock(block)))
        assert await archived(scoped, "tank") == ["green tank"]
        for change, words, there in (
            ({"text": "blue pump"}, "tank", []),
            ({}, "pump", ["blue pump"]),
            ({"type": "working"}, "pump", []),
            ({"type": "archival"}, "pump", ["blue pump"]),
            ({"deleted_at": LATER}, "pump", []),
            ({"deleted_at": None}, "pump", ["blue pump"]),
        ):
            block = replace(block, **change)
            await scoped.journal.commit(editing(block.id, PutBlock(block)))
            assert await archived(scoped, words) == there, change

    @pytest.mark.requirement("BLK-7", "MEM-3")
    async def test_forgotten_blocks_and_entries_leave_nothing(self, store: Store) -> None:
        """By id or with their owner: history, snapshot, shares, requests and search rows go too; a tombstone stays."""
        owner, other = store.within(AGENT), store.within(OTHER)
        block, entry, kept = a_block(type="archival"), an_entry(), a_block("kept")
        put = (
            *(PutBlock(block), PutEntry(entry), PutBlock(kept)),
            PutVersion(id=block.id, entry=a_version(0), delta=b"d"),
            PutSnapshot(id=block.id, number=0, data=b"s", first=0),
            PutShare(id=block.id, agent="other", permission="append", at=NOON),
        )
        await owner.journal.commit(writing(*put))
        selected = await owner.journal.commit(asking(Select(ids=(block.id, entry.id, "absent"))))
        assert selected.block_ids == (block.id, entry.id)
        await owner.journal.commit(writing(Forget(block_ids=selected.block_ids, at=LATER, by="me")))
        remains = await owner.journal.commit(asking(LeftOf(selected.block_ids)))
        assert (remains.holding, "histories of blocks" in remains.checked) == ((), True)
        assert await archived(owner, "calm tank") == []
        assert [block.label for block in await owner.blocks.list()] == ["kept"]
        assert await other.blocks.list() == ()
        stone = await owner.inventory.tombstone(block.id)
        assert stone is not None
        assert (stone.what, stone.by) == ("block", "me")
        use = await owner.journal.commit(asking(IdsOfBlocks((block.id, entry.id, kept.id))))
        assert (use.forgotten, set(use.blocks), use.elsewhere) == (frozenset(selected.block_ids), {kept.id}, frozenset())
        assert await owner.journal.commit(asking(Select(everything=True))) == replace(selected, block_ids=(kept.id,))
        await owner.journal.commit(writing(ForgetOwner(at=LATER)))
        assert [block.label for block in await owner.blocks.list()] == []

    @pytest.mark.requirement("MEM-3", "BLK-6")
    async def test_a_forgotten_agent_loses_its_shares_and_requests(self, store: Store) -> None:
        """Of others' blocks, which stay."""
        owner, other = store.within(AGENT), store.within(OTHER)
        block = a_block()
        share = PutShare(id=block.id, agent="other", permission="append", at=NOON)
        await owner.journal.commit(writing(PutBlock(block), share))
        await other.journal.commit(writing(PutEntry(an_entry())))
        await other.journal.commit(writing(ForgetOwner(at=LATER)))
        assert await owner.blocks.shares() == ()
        assert await owner.blocks.named(["persona"]) == (block,)

    async def test_blocks_and_entries_are_counted(self, scoped: ScopedStore) -> None:
        """Deleted ones aren't."""
        gone = a_block("gone", deleted_at=LATER)
        await scoped.journal.commit(writing(PutBlock(a_block()), PutBlock(gone), PutEntry(an_entry())))
        stats = await scoped.inventory.stats(at=LATER)
        assert (stats.blocks, stats.archival_entries, stats.text_bytes) == (1, 1, 9 + len(an_entry().text))
