"""Block contract: the tests of `StoreContract` about blocks, shares, consents and the archive.

To a store a document is bytes.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from germane.errors import GermaneError, InvalidInput, NotFound
from germane.kinds.blocks.permission import ConsentRequest
from germane.kinds.blocks.reads import (
    AllIndexed,
    BlocksNamed,
    BlocksToIndex,
    BlocksUnder,
    ConsentById,
    ConsentsOn,
    DocumentOf,
    DropShare,
    FirstNamed,
    IdsOfBlocks,
    IndexBlock,
    ListBlocks,
    ListConsents,
    PutBlock,
    PutConsent,
    PutEntry,
    PutShare,
    PutSnapshot,
    PutVersion,
    SeenEntries,
    SharesOf,
    StandingBlocks,
    TakeBack,
    VersionsOf,
)
from germane.kinds.blocks.value import KeptVersion, Version, content_hash_of
from germane.kinds.inventory import ScopeStats, TombstoneOf
from germane.kinds.memories.reads import Forget, ForgetOwner, LeftOf, Select
from germane.stores.contract import ScopedStore, Store
from germane.types.plan import Decision, Plan, read, uuid7
from germane.types.scope import Scope
from germane_testing.builders import NOON, a_block, an_entry, asking, editing, question, writing
from germane_testing.scope_contract import AGENT, ANNA, BEN, LATER

OTHER = Scope(agent="other")
_STRANGER = Scope(org="acme")


def a_version(number: int, **fields: Any) -> KeptVersion:
    version = Version(
        number=number,
        kind="edit" if number else "create",
        at=NOON,
        operation="set_text",
        by="me",
        characters=9,
        content_hash=content_hash_of("I am calm"),
    )
    given: dict[str, Any] = {"version": version, "frontiers": b"f%d" % number, "size": 2}
    return KeptVersion(**given | fields)


async def archived(scoped: ScopedStore, words: str) -> list[str]:
    asked = replace(question(words), filters=replace(question(words).filters, kinds=("entry", "archival")))
    found = await scoped.blocks.search(asked, 9, keywords=True, vectors=False, wait=True)
    return sorted(hit.thing.text for hit in found.hits)


class BlockContract:
    """The fixture `scoped` is a store's part for one agent without a user, `store` the whole store."""

    @pytest.mark.requirement("BLK-1", "BLK-2")
    async def test_a_block_comes_back_as_it_was(self, scoped: ScopedStore) -> None:
        """Every field; by label, by id and in lists."""
        block = a_block(
            type="core", description="who I am", permission="human", limit=77, pinned=True, granted="human", version=3
        )
        await scoped.commit(writing(PutBlock(block)))
        assert await scoped.ask(FirstNamed(["persona", block.id, "absent"])) == (block,)
        assert await scoped.ask(ListBlocks()) == (block,)
        assert await scoped.ask(ListBlocks("core")) == (block,)
        assert await scoped.ask(ListBlocks("log")) == ()
        changed = replace(block, text="I am bold", content_hash=content_hash_of("I am bold"), version=4, updated_at=LATER)
        await scoped.commit(editing("persona", PutBlock(changed)))
        assert await scoped.ask(FirstNamed([block.id])) == (changed,)

    @pytest.mark.requirement("BLK-1", "BLK-6")
    async def test_standing_blocks_are_core_and_pinned_ones(self, store: Store) -> None:
        """Own ones by label, then shared ones; a user's block hides the agent's with its label, and both a shared one."""
        agent, anna, other = store.within(AGENT), store.within(ANNA), store.within(OTHER)
        wide = [
            a_block("b", type="core"),
            a_block("a", pinned=True),
            a_block("c"),
            a_block("d", type="archival", pinned=True),
            a_block("e", type="core", deleted_at=LATER),
        ]
        mine = [a_block("b", "hers", type="core", user="anna"), a_block("z", type="core", user="anna")]
        theirs = [a_block(label, type="core", agent="other") for label in ("aa", "b")]
        await agent.commit(writing(*map(PutBlock, wide)))
        await anna.commit(writing(*map(PutBlock, mine)))
        for block in theirs:
            share = PutShare(id=block.id, agent="default", permission="append", at=NOON)
            await other.commit(writing(PutBlock(block), share))
        assert [(one.label, one.text, one.shared_from) for one in await anna.ask(StandingBlocks())] == [
            ("a", "I am calm", None),
            ("b", "hers", None),
            ("z", "I am calm", None),
            ("aa", "I am calm", "other"),
        ]
        assert [one.label for one in await agent.ask(StandingBlocks())] == ["a", "b", "aa"]
        assert await store.within(_STRANGER).ask(StandingBlocks()) == ()

    @pytest.mark.requirement("BLK-8")
    async def test_a_folder_is_what_labels_begin_with(self, store: Store) -> None:
        """And a slash; in the order of listings, without deleted ones. A plan may write what it has found so."""
        anna, other = store.within(ANNA), store.within(replace(OTHER, user="anna"))
        mine = [a_block(label, user="anna") for label in ("n/b", "n/a/c", "n", "n0/x", "n-/x", "N/x")]
        gone = a_block("n/gone", user="anna", deleted_at=LATER)
        theirs = a_block("n/theirs", agent="other", user="anna")
        await anna.commit(writing(*map(PutBlock, (*mine, gone))))
        share = PutShare(id=theirs.id, agent="default", permission="append", at=NOON)
        await other.commit(writing(PutBlock(theirs), share))
        assert [block.label for block in await anna.ask(BlocksUnder("n"))] == ["n/a/c", "n/b", "n/theirs"]
        assert [block.label for block in await anna.ask(BlocksUnder("n/a"))] == ["n/a/c"]
        assert await store.within(BEN).ask(BlocksUnder("n")) == () == await store.within(_STRANGER).ask(BlocksUnder("n"))

        def renaming() -> Plan[None]:
            found = yield from read(BlocksUnder("n/a"))
            return Decision(tuple(PutBlock(replace(block, label="m")) for block in found), None)

        await anna.commit(renaming())
        assert [block.label for block in await anna.ask(FirstNamed(["m"]))] == ["m"]

    @pytest.mark.requirement("BLK-2")
    async def test_the_label_of_a_deleted_block_can_be_used_again(self, scoped: ScopedStore) -> None:
        """And of one that isn't deleted it can't."""
        old, new = a_block(), a_block(text="another")
        await scoped.commit(writing(PutBlock(old)))
        with pytest.raises(GermaneError):
            await scoped.commit(writing(PutBlock(new)))
        gone = replace(old, deleted_at=LATER)
        await scoped.commit(editing(old.id, PutBlock(gone)))
        await scoped.commit(writing(PutBlock(new)))
        assert await scoped.ask(FirstNamed(["persona"])) == (new,)
        assert await scoped.ask(FirstNamed([old.id])) == (gone,)
        assert await scoped.ask(ListBlocks()) == (new,)
        assert await scoped.ask(ListBlocks(deleted=True)) == (gone,)

    @pytest.mark.requirement("BLK-4")
    async def test_a_document_is_its_snapshot_and_what_follows(self, scoped: ScopedStore) -> None:
        """Changes after a version that the plan has; else the whole. A snapshot takes the place of the changes before it once
        the oldest version goes, and until then the document can be made from its changes alone."""
        block = a_block()
        versions = [PutVersion(id=block.id, entry=a_version(number), delta=b"d%d" % number) for number in range(4)]
        await scoped.commit(writing(PutBlock(block), *versions))
        document = await scoped.ask(DocumentOf(block.id))
        assert (document.whole, document.snapshot, document.deltas) == (True, None, (b"d0", b"d1", b"d2", b"d3"))
        assert (document.waiting, document.waiting_size, document.size) == (4, 8, 8)

        async def asked(since: int) -> tuple[bool, bytes | None, tuple[bytes, ...]]:
            def plan() -> Plan[Any]:
                yield from read(BlocksNamed(block.id))
                found = yield from read(DocumentOf(block.id, since=since))
                return Decision((), (found.whole, found.snapshot, found.deltas))

            answer: tuple[bool, bytes | None, tuple[bytes, ...]] = await scoped.commit(plan())
            return answer

        assert await asked(1) == (False, None, (b"d2", b"d3"))
        await scoped.commit(editing("persona", PutSnapshot(id=block.id, number=2, data=b"snap", first=0)))
        assert await asked(-1) == (True, b"snap", (b"d3",))
        assert await asked(2) == (False, None, (b"d3",))
        assert await asked(1) == (True, b"snap", (b"d3",))
        assert (await scoped.ask(DocumentOf(block.id, rebuild=True))).deltas == (b"d0", b"d1", b"d2", b"d3")
        await scoped.commit(editing("persona", PutSnapshot(id=block.id, number=3, data=b"more", first=2)))
        assert [kept.version.number for kept in await scoped.ask(VersionsOf(block.id))] == [2, 3]
        assert await asked(-1) == (True, b"more", ())
        assert (await scoped.ask(DocumentOf(block.id, rebuild=True))).deltas == ()

    @pytest.mark.requirement("BLK-2")
    async def test_the_versions_say_what_is_undone(self, scoped: ScopedStore) -> None:
        """`TakeBack` marks an edit, and takes the mark away; the last versions can be read alone."""
        block = a_block()
        versions = [PutVersion(id=block.id, entry=a_version(number), delta=b"d") for number in range(3)]
        await scoped.commit(writing(PutBlock(block), *versions, TakeBack(id=block.id, number=1, by=2)))
        listed = await scoped.ask(VersionsOf(block.id))
        assert [(kept.version.undone, kept.undone_by) for kept in listed] == [(False, None), (True, 2), (False, None)]
        await scoped.commit(editing(block.id, TakeBack(id=block.id, number=1, by=None, span=3)))
        listed = await scoped.ask(VersionsOf(block.id))
        assert (listed[1], listed[2]) == (a_version(1, span=3), a_version(2))

        def plan() -> Plan[Any]:
            yield from read(BlocksNamed(block.id))
            found = yield from read(VersionsOf(block.id, 2))
            return Decision((), [kept.version.number for kept in found])

        assert await scoped.commit(plan()) == [1, 2]

    @pytest.mark.requirement("BLK-6", "SCOPE-2", "SCOPE-3")
    async def test_nobody_reaches_a_block_of_another_scope(self, store: Store) -> None:
        """Neither by label nor by id, neither to read nor to write: other users, agents and orgs."""
        block, entry = a_block(user="anna"), an_entry(user="anna")
        put = (PutBlock(block), PutVersion(id=block.id, entry=a_version(0), delta=b"d"), PutEntry(entry))
        await store.within(ANNA).commit(writing(*put))
        for scope in (AGENT, BEN, Scope(agent="other", user="anna"), Scope(org="acme", user="anna")):
            stranger = store.within(scope)
            assert await stranger.ask(FirstNamed([block.id, "persona"])) == ()
            assert await stranger.ask(ListBlocks()) == ()
            assert await stranger.ask(VersionsOf(block.id)) == ()
            assert (await stranger.ask(DocumentOf(block.id))).deltas == ()
            assert await stranger.ask(SeenEntries([entry.id])) == ()
            assert await archived(stranger, "tank litres") == []
            stolen = replace(block, user=scope.user, text="stolen", version=9)
            for change in (
                PutBlock(stolen),
                PutVersion(id=block.id, entry=a_version(1), delta=b"x"),
                PutSnapshot(id=block.id, number=0, data=b"x", first=0),
                PutShare(id=block.id, agent="thief", permission="admin", at=NOON),
                TakeBack(id=block.id, number=0, by=0),
            ):
                with pytest.raises((NotFound, InvalidInput)):
                    await stranger.commit(editing(block.id, change))
            await stranger.commit(asking(Select(ids=(block.id, entry.id))))
            await stranger.commit(writing(Forget(block_ids=(block.id, entry.id), at=LATER)))
        assert await store.within(ANNA).ask(FirstNamed(["persona"])) == (block,)
        assert (await store.within(ANNA).ask(DocumentOf(block.id))).deltas == (b"d",)

    @pytest.mark.requirement("BLK-6")
    async def test_a_shared_block_is_seen_and_edited_as_far_as_granted(self, store: Store) -> None:
        """With its owner; a user's for the same user; what is granted is never more than the block's own permission. It ends
        with `DropShare`, and with the block."""
        owner, other = store.within(ANNA), store.within(Scope(agent="other", user="anna"))
        block = a_block(user="anna")
        before = await other.revision()
        share = PutShare(id=block.id, agent="other", permission="read_write", at=NOON)
        await owner.commit(writing(PutBlock(block), share))
        (seen,) = await other.ask(FirstNamed(["persona"]))
        assert seen == replace(block, shared_from="default", granted="read_write")
        for change in (replace(share, agent="third"), DropShare(id=block.id, agent="other")):
            with pytest.raises(NotFound):
                await other.commit(editing("persona", change))
        with pytest.raises(InvalidInput):
            await owner.commit(writing(PutBlock(a_block(user="ben"))))
        assert await other.revision() > before
        assert await store.within(Scope(agent="other", user="ben")).ask(ListBlocks()) == ()
        assert await store.within(OTHER).ask(ListBlocks()) == ()
        before = await other.revision()
        edit = (PutBlock(replace(seen, text="shared", version=1)), PutVersion(id=block.id, entry=a_version(0), delta=b"d"))
        await other.commit(editing("persona", *edit))
        assert await other.revision() > before
        (mine,) = await owner.ask(FirstNamed(["persona"]))
        assert (mine.text, mine.agent, mine.user, mine.shared_from) == ("shared", "default", "anna", None)
        await owner.commit(editing("persona", PutBlock(replace(mine, permission="append"))))
        assert [one.granted for one in await other.ask(ListBlocks())] == ["append"]
        assert [one.agent for one in await owner.ask(SharesOf())] == ["other"]
        await owner.commit(editing("persona", DropShare(id=block.id, agent="other")))
        assert await other.ask(ListBlocks()) == ()
        assert await owner.ask(SharesOf(block.id)) == ()

    @pytest.mark.requirement("BLK-6")
    async def test_an_agent_wide_block_is_read_only_for_users(self, store: Store) -> None:
        """The agent's own users and those of the agents that share it: what one user's conversation writes, others don't
        read."""
        block = a_block(permission="admin")
        share = PutShare(id=block.id, agent="other", permission="admin", at=NOON)
        await store.within(AGENT).commit(writing(PutBlock(block), share))
        granted = [
            (await store.within(scope).ask(ListBlocks()))[0].granted
            for scope in (AGENT, ANNA, OTHER, Scope(agent="other", user="ben"))
        ]
        assert granted == ["admin", "read_only", "admin", "read_only"]
        for scope in (ANNA, Scope(agent="other", user="ben")):
            with pytest.raises(NotFound):
                await store.within(scope).commit(editing(block.id, PutBlock(replace(block, user=scope.user))))

    @pytest.mark.requirement("SEARCH-1")
    async def test_a_block_is_indexed_as_it_is_now(self, store: Store) -> None:
        """Each change of a block takes its search row back, until `IndexBlock`. A user's scope indexes agent-wide blocks too;
        nobody indexes what is shared, deleted, or of another scope."""
        owner, anna = store.within(AGENT), store.within(ANNA)
        block = a_block(permission="admin")
        share = PutShare(id=block.id, agent="other", permission="admin", at=NOON)

        def indexing(limit: int = 9) -> Plan[list[str]]:
            found = yield from read(BlocksToIndex(limit))
            return Decision(tuple(IndexBlock(one.id) for one in found), [one.id for one in found])

        assert await owner.ask(AllIndexed())
        await owner.commit(writing(PutBlock(block), share))
        assert (await owner.ask(AllIndexed()), await anna.ask(AllIndexed())) == (False, False)
        assert await store.within(OTHER).ask(AllIndexed())
        assert await store.within(OTHER).commit(indexing()) == []
        with pytest.raises(NotFound):
            await store.within(OTHER).commit(editing("persona", IndexBlock(block.id)))
        assert await anna.commit(indexing()) == [block.id]
        assert (await owner.ask(AllIndexed()), await owner.commit(indexing())) == (True, [])
        for change in ({"text": "another"}, {"label": "new"}, {"text": "shared", "version": 1}):
            block = replace(block, **change)
            await owner.commit(editing(block.id, PutBlock(block)))
            assert not await anna.ask(AllIndexed())
            assert await owner.commit(indexing(1)) == [block.id]
        await owner.commit(editing(block.id, PutBlock(replace(block, deleted_at=NOON))))
        assert (await owner.ask(AllIndexed()), await owner.commit(indexing())) == (True, [])

    @pytest.mark.requirement("BLK-5")
    async def test_requests_for_consent_are_kept_and_answered(self, store: Store) -> None:
        """The requester finds its own; the owner finds all on its blocks; nobody else any."""
        owner, other = store.within(AGENT), store.within(OTHER)
        block = a_block(permission="human")
        share = PutShare(id=block.id, agent="other", permission="human", at=NOON)
        await owner.commit(writing(PutBlock(block), share))
        request = ConsentRequest(
            id=uuid7(1),
            block_id=block.id,
            label=block.label,
            asked_of="human",
            operation="set_text",
            needs="overwrite",
            digest=b"x" * 32,
            requested_by="other",
            requested_at=NOON,
            expires_at=NOON + timedelta(minutes=5),
        )
        await other.commit(editing("persona", PutConsent(request)))

        def asked() -> Plan[Any]:
            yield from read(BlocksNamed("persona"))
            found = yield from read(ConsentsOn(block.id))
            return Decision((), found)

        assert await other.commit(asked()) == (request,)
        assert await owner.commit(asked()) == ()
        assert await owner.ask(ListConsents(at=NOON, pending=True, limit=9)) == (request,)
        assert await owner.ask(ListConsents(at=request.expires_at, pending=True, limit=9)) == ()
        assert await owner.ask(ListConsents(at=request.expires_at, pending=False, limit=9)) == (request,)
        assert await other.ask(ListConsents(at=NOON, pending=True, limit=9)) == ()
        assert await other.commit(asking(ConsentById(request.id))) is None
        approved = replace(request, state="approved", scope="until", until=LATER, answered_at=NOON)

        def answer() -> Plan[Any]:
            held = yield from read(ConsentById(request.id))
            return Decision((PutConsent(approved),), held)

        assert await owner.commit(answer()) == request
        assert await other.commit(asked()) == (approved,)


# Archival entries and blocks, and forgetting and counting both.


class ArchiveContract:
    """The fixture `scoped` is a store's part for one agent without a user, `store` the whole store."""

    @pytest.mark.requirement("BLK-7")
    async def test_entries_are_found_by_their_words_and_metadata(self, store: Store) -> None:
        """So are archival blocks, and no other ones; an agent's entries are found by its users."""
        agent, anna = store.within(AGENT), store.within(ANNA)
        entry = an_entry(metadata={"source": "manual", "pages": [12, {"chapter": "cooling"}]})
        blocks = [a_block(type, f"tank of {type}", type=type) for type in ("core", "working", "archival", "log")]
        await agent.commit(writing(PutEntry(entry), *map(PutBlock, blocks)))
        await anna.commit(writing(PutEntry(an_entry("her tank", user="anna"))))
        assert await archived(agent, "tank") == [entry.text, "tank of archival"]
        assert await archived(anna, "tank") == [entry.text, "her tank", "tank of archival"]
        assert await archived(agent, "cooling") == [entry.text]
        assert await archived(agent, "manual") == [entry.text]
        assert await agent.ask(SeenEntries([entry.id, "absent"])) == (entry,)
        with pytest.raises(NotFound):
            await agent.commit(writing(PutEntry(replace(entry, text="another"))))

    @pytest.mark.requirement("BLK-2", "BLK-7")
    async def test_the_archive_finds_blocks_as_they_are_now(self, scoped: ScopedStore) -> None:
        """After an edit, a change of the type, a deletion and a restoration."""
        block = a_block("notes", "green tank", type="archival")
        await scoped.commit(writing(PutBlock(block)))
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
            await scoped.commit(editing(block.id, PutBlock(block)))
            assert await archived(scoped, words) == there, change

    @pytest.mark.requirement("BLK-7", "MEM-3")
    async def test_forgotten_blocks_and_entries_leave_nothing(self, store: Store) -> None:
        """By id or with their owner: versions, snapshot, shares, requests and search rows go too; a tombstone stays."""
        owner, other = store.within(AGENT), store.within(OTHER)
        block, entry, kept = a_block(type="archival"), an_entry(), a_block("kept")
        put = (
            *(PutBlock(block), PutEntry(entry), PutBlock(kept)),
            PutVersion(id=block.id, entry=a_version(0), delta=b"d"),
            PutSnapshot(id=block.id, number=0, data=b"s", first=0),
            PutShare(id=block.id, agent="other", permission="append", at=NOON),
        )
        await owner.commit(writing(*put))
        selected = await owner.commit(asking(Select(ids=(block.id, entry.id, "absent"))))
        assert selected.block_ids == (block.id, entry.id)
        await owner.commit(writing(Forget(block_ids=selected.block_ids, at=LATER, by="me")))
        remains = await owner.commit(asking(LeftOf(selected.block_ids)))
        assert (remains.holding, "versions of blocks" in remains.checked) == ((), True)
        assert await archived(owner, "calm tank") == []
        assert [block.label for block in await owner.ask(ListBlocks())] == ["kept"]
        assert await other.ask(ListBlocks()) == ()
        stone = await owner.ask(TombstoneOf(block.id))
        assert stone is not None
        assert (stone.what, stone.by) == ("block", "me")
        use = await owner.commit(asking(IdsOfBlocks((block.id, entry.id, kept.id))))
        assert (use.forgotten, set(use.blocks), use.elsewhere) == (frozenset(selected.block_ids), {kept.id}, frozenset())
        assert await owner.commit(asking(Select(everything=True))) == replace(selected, block_ids=(kept.id,))
        await owner.commit(writing(ForgetOwner(at=LATER)))
        assert [block.label for block in await owner.ask(ListBlocks())] == []

    @pytest.mark.requirement("MEM-3", "BLK-6")
    async def test_a_forgotten_agent_loses_its_shares_and_requests(self, store: Store) -> None:
        """Of others' blocks, which stay."""
        owner, other = store.within(AGENT), store.within(OTHER)
        block = a_block()
        share = PutShare(id=block.id, agent="other", permission="append", at=NOON)
        await owner.commit(writing(PutBlock(block), share))
        await other.commit(writing(PutEntry(an_entry())))
        await other.commit(writing(ForgetOwner(at=LATER)))
        assert await owner.ask(SharesOf()) == ()
        assert await owner.ask(FirstNamed(["persona"])) == (block,)

    async def test_blocks_and_entries_are_counted(self, scoped: ScopedStore) -> None:
        """Deleted ones aren't."""
        gone = a_block("gone", deleted_at=LATER)
        await scoped.commit(writing(PutBlock(a_block()), PutBlock(gone), PutEntry(an_entry())))
        stats = await scoped.ask(ScopeStats(LATER))
        assert (stats.blocks, stats.archival_entries, stats.text_bytes) == (1, 1, 9 + len(an_entry().text))
