"""Permissions: every operation on a block, under every permission, by its owner and through a share."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from germane import ConsentNeeded, Germane, InvalidInput, NotFound, NotPermitted
from germane.kinds.blocks.handle import AgentBlocks
from germane.kinds.blocks.mutation import MUTATIONS, OPERATIONS, parse_mutation
from germane.kinds.blocks.permission import PERMISSIONS, Needs, Permission
from germane_testing.builders import Hashed

pytest.importorskip("loro")
pytestmark = pytest.mark.requirement("BLK-5", "BLK-6")

ALLOWED: Mapping[Permission, set[Needs]] = {
    "read_only": set(),
    "append": {"append"},
    "read_write": {"append", "overwrite"},
    "admin": {"append", "overwrite", "delete"},
}
"""What each permission allows without asking; `partner` and `human` always ask."""
FIELDS = [{"name": "name"}, {"name": "count", "type": "counter"}]
SCHEMAS: Mapping[str, Any] = {
    "text": "text",
    "map": {"type": "map", "fields": FIELDS},
    "list": {"type": "list", "checkboxes": True},
    "log": "log",
}
FIRST: Mapping[str, Any] = {"text": "one", "map": {"name": "Ann"}, "list": ["one", "two"], "log": None}
SAMPLES: Mapping[str, tuple[str, dict[str, Any]]] = {
    "set_text": ("text", {"text": "new"}),
    "append_text": ("text", {"text": "more"}),
    "replace_text": ("text", {"old": "one", "new": "two"}),
    "insert_lines": ("text", {"line": 0, "text": "first"}),
    "set_field": ("map", {"field": "name", "value": "Ben"}),
    "append_to_field": ("map", {"field": "name", "value": "a"}),
    "increment": ("map", {"field": "count", "by": 2}),
    "push_item": ("list", {"value": "three"}),
    "insert_item": ("list", {"index": 0, "value": "zero"}),
    "update_item": ("list", {"index": 0, "value": "1"}),
    "check_item": ("list", {"index": 0}),
    "move_item": ("list", {"index": 0, "to": 1}),
    "delete_item": ("list", {"index": 0}),
    "append_entry": ("log", {"text": "it rained"}),
    "set_value": ("text", {"value": "new"}),
}
"""A mutation of each kind that changes something, with the kind of block that it fits."""
Do = Callable[[AgentBlocks, str], Awaitable[object]]
OTHERS: Mapping[str, Do] = {
    "rewrite": lambda blocks, name: blocks.set_text(name, "one and more", base=0),
    "undo": lambda blocks, name: blocks.undo(name),
    "redo": lambda blocks, name: blocks.redo(name),
    "pin": lambda blocks, name: blocks.pin(name),
    "describe": lambda blocks, name: blocks.change(name, description="new"),
    "change_type": lambda blocks, name: blocks.change(name, type="core"),
    "change_schema": lambda blocks, name: blocks.change(name, schema="list"),
    "change_limit": lambda blocks, name: blocks.change(name, limit=99),
    "change_permission": lambda blocks, name: blocks.change(name, permission="read_only"),
    "share": lambda blocks, name: blocks.share(name, "z", "read_only"),
    "unshare": lambda blocks, name: blocks.unshare(name, "w"),
    "delete": lambda blocks, name: blocks.delete(name),
    "restore": lambda blocks, name: blocks.restore(name),
}
"""The operations on a block itself."""
OWNERS = {"pin", "describe", "change_type", "change_schema", "change_limit", "change_permission", "share", "unshare"}
"""What a share never grants: the settings belong to the owner."""


@pytest.fixture
async def germane(tmp_path: Path) -> AsyncIterator[Germane]:
    async with Germane.open(tmp_path / "a.db", embedder=Hashed()) as opened:
        yield opened


async def test_a_block_is_shared_with_a_hundred_others_at_most(germane: Germane) -> None:
    """And never with its owner; who has a share already may get another permission."""
    owner = germane.agent("x").blocks
    await owner.create("notes", permission="admin")
    with pytest.raises(InvalidInput, match="owns the block"):
        await owner.share("notes", "x")
    for number in range(100):
        await owner.share("notes", f"a{number}")
    with pytest.raises(InvalidInput, match="shared with 100 agents, which is the most"):
        await owner.share("notes", "one more")
    assert (await owner.share("notes", "a7", "read_only")).permission == "read_only"
    assert len(await owner.shares("notes")) == 100


async def test_who_only_shares_a_block_is_no_system_of_its_owner(germane: Germane) -> None:
    """`system=True` of another agent doesn't write what its schema keeps read-only: not on the newest version, nor from an
    earlier one. The owner's does, and the other's undo doesn't take it back."""
    owner, other = germane.agent("x").blocks, germane.agent("y").blocks
    fields = [{"name": "plan", "read_only": True}, {"name": "note"}]
    parts = [{"name": "fixed", "read_only": True}, {"name": "free"}]
    await owner.create("facts", schema={"type": "map", "fields": fields}, permission="admin")
    await owner.create("page", schema={"type": "composite", "sections": parts}, permission="admin")
    for label in ("facts", "page"):
        await owner.share(label, "y", "admin")
    setting = {"op": "set_field", "field": "plan", "value": "gold"}
    writing = {"op": "set_text", "text": "new", "section": "fixed"}
    with pytest.raises(InvalidInput, match="read-only"):
        await other.edit("facts", setting, system=True)
    with pytest.raises(InvalidInput, match="read-only"):
        await other.edit("page", writing, system=True)
    await owner.edit("page", {"op": "set_text", "text": "more", "section": "free"})
    with pytest.raises(InvalidInput, match="read-only"):
        await other.edit("page", writing, base=0, system=True)
    await owner.edit("facts", setting, system=True)
    with pytest.raises(InvalidInput, match="read-only"):
        await other.undo("facts", system=True)
    assert await owner.value("facts") == {"plan": "gold", "note": ""}
    assert (await owner.undo("facts", system=True)).version == 2


async def prepared(owner: AgentBlocks, op: str, permission: Permission, shared: Permission | None = None) -> str:
    """A block on which the operation could be done; with `shared` it was made for agent y to see what is done to it, too."""
    kind = SAMPLES[op][0] if op in SAMPLES else "text"
    given: dict[str, Any] = {"schema": SCHEMAS[kind], "value": FIRST[kind], "permission": permission}
    block = await owner.create(f"{op}-{permission}", **given)
    if shared is not None:
        await owner.share(block.id, "y", shared, system=True)
    if op in ("undo", "redo"):
        await owner.edit(block.id, {"op": "append_text", "text": " two"}, system=True)
    if op == "redo":
        await owner.undo(block.id, system=True)
    if op == "rewrite":
        await owner.edit(block.id, {"op": "set_text", "text": "zero and one"}, system=True)
    if op == "unshare":
        await owner.share(block.id, "w", "read_only", system=True)
    if op == "restore":
        await owner.delete(block.id, system=True)
    return block.id


def asked(op: str, permission: Permission) -> Do:
    if op in SAMPLES:
        mutation = parse_mutation({"op": op, **SAMPLES[op][1]})
        return lambda blocks, name: blocks.edit(name, mutation)
    if op == "change_permission":
        return lambda blocks, name: blocks.change(name, permission="append" if permission == "read_only" else "read_only")
    return OTHERS[op]


async def outcome(work: Awaitable[object]) -> str:
    try:
        await work
    except ConsentNeeded as needed:
        return needed.asked_of
    except NotPermitted:
        return "refused"
    except NotFound:
        return "absent"
    return "done"


def expected(op: str, permission: Permission) -> str:
    if permission in ("partner", "human"):
        return permission
    return "done" if OPERATIONS[op] in ALLOWED[permission] else "refused"


def test_every_operation_is_in_the_table() -> None:
    """A new mutation can't be forgotten."""
    assert SAMPLES.keys() == MUTATIONS.keys()
    assert {*SAMPLES, *OTHERS} == OPERATIONS.keys()


@pytest.mark.parametrize("permission", PERMISSIONS)
async def test_what_the_owners_agent_may_do(germane: Germane, permission: Permission) -> None:
    """The permission decides, undo included; the owner's application (`system`) does anything."""
    blocks = germane.agent("x").blocks
    for op in OPERATIONS:
        id = await prepared(blocks, op, permission)
        assert await outcome(asked(op, permission)(blocks, id)) == expected(op, permission), op


@pytest.mark.parametrize("permission", PERMISSIONS)
async def test_what_an_agent_may_do_through_a_share(germane: Germane, permission: Permission) -> None:
    """As much as was granted, and never a setting."""
    owner, other = germane.agent("x").blocks, germane.agent("y").blocks
    for op in OPERATIONS:
        id = await prepared(owner, op, "admin", permission)
        if op == "restore":
            assert await outcome(other.restore(id)) == "absent"
            continue
        awaited = "refused" if op in OWNERS else expected(op, permission)
        assert await outcome(asked(op, permission)(other, id)) == awaited, op


@pytest.mark.parametrize("permission", PERMISSIONS)
async def test_an_operation_of_the_system_needs_no_permission(germane: Germane, permission: Permission) -> None:
    """But only on an own block: through a share `system` grants nothing."""
    owner, other = germane.agent("x").blocks, germane.agent("y").blocks
    block = await owner.create("notes", text="one", permission=permission)
    assert (await owner.edit("notes", {"op": "set_text", "text": "two"}, system=True)).text == "two"
    assert (await owner.undo("notes", system=True)).text == "one"
    await owner.share("notes", "y", "read_only", system=True)
    for work in (
        other.edit("notes", {"op": "append_text", "text": "x"}, system=True),
        other.undo("notes", system=True),
        other.delete("notes", system=True),
    ):
        assert await outcome(work) == "refused"
    await owner.delete("notes", system=True)
    assert (await owner.restore(block.id, system=True)).text == "one"


async def test_a_share_never_grants_more_than_the_block_allows(germane: Germane) -> None:
    """Neither when it is made, nor when the block's own permission is lowered later."""
    owner, other = germane.agent("x").blocks, germane.agent("y").blocks
    await owner.create("notes", text="one", permission="append")
    for more in ("read_write", "admin"):
        with pytest.raises(NotPermitted, match="Append"):
            await owner.share("notes", "y", more, system=True)
    share = await owner.share("notes", "y", system=True)
    assert (share.permission, share.agent, share.label) == ("append", "y", "notes")
    assert (await other.get("notes")).shared_from == "x"
    assert await outcome(other.append("notes", " two")) == "done"
    await owner.change("notes", permission="read_only", system=True)
    assert await outcome(other.append("notes", " three")) == "refused"
    assert await owner.unshare("notes", "y", system=True)
    assert not await owner.unshare("notes", "y", system=True)
    assert await outcome(other.append("notes", " four")) == "absent"
    assert await owner.shares() == ()


async def test_a_users_block_is_shared_for_the_same_user_only(germane: Germane) -> None:
    """An agent-wide one for all users of the other agent, who read it."""
    anna = germane.agent("x", user="anna").blocks
    await anna.create("hers", text="one")
    await anna.share("hers", "y", "append", system=True)
    await germane.agent("x").blocks.create("wide", text="all")
    await germane.agent("x").blocks.share("wide", "y", "append", system=True)
    seen = {
        user: [(block.label, block.granted) for block in await germane.agent("y", user=user).blocks.list()]
        for user in (None, "anna", "ben")
    }
    wide = ("wide", "read_only")
    assert seen == {None: [("wide", "append")], "anna": [("hers", "append"), wide], "ben": [wide]}


async def test_several_shared_blocks_with_one_label_are_named_by_their_ids(germane: Germane) -> None:
    """The error tells them; an own block stands before all of them."""
    other = germane.agent("z").blocks
    ids = []
    for agent in ("x", "y"):
        blocks = germane.agent(agent).blocks
        ids.append((await blocks.create("notes", text=agent)).id)
        await blocks.share("notes", "z", system=True)
    with pytest.raises(ValueError, match=ids[1]):
        await other.append("notes", "!")
    assert (await other.append(ids[1], "!")).text == "y!"
    await other.create("notes", text="own")
    assert (await other.append("notes", "!")).text == "own!"


async def test_a_share_cant_be_labelled_as_another_block(germane: Germane) -> None:
    """An id stands for its block, whatever somebody calls a block that he shares."""
    mine = germane.agent("x").blocks
    block = await mine.create("notes", text="mine")
    thief = germane.agent("y").blocks
    await thief.create(block.id, text="a trap", permission="admin")
    await thief.share(block.id, "x", "admin")
    assert (await mine.get(block.id)).text == "mine"
    assert (await mine.append(block.id, "!")).text == "mine!"
