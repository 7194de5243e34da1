"""Forget: by provenance, a whole org, and what the receipt says was checked."""

from __future__ import annotations

import math

import pytest

from germane import Agent, Germane, InvalidInput
from germane.types.candidate import Provenance

pytestmark = pytest.mark.requirement("MEM-3")
SAID = [{"role": "user", "content": "I went to Lisbon"}, {"role": "assistant", "content": "How was it?"}]


async def test_what_an_import_or_a_channel_brought_is_forgotten_by_provenance(agent: Agent) -> None:
    """Memories and messages; nothing else."""
    await agent.record(SAID, session="a", source_kind="import")
    await agent.record(SAID, session="b", channel="mail")
    own = await agent.remember("Stated by the user")
    imported = await agent.remember("From an import", provenance=Provenance(source_kind="import", channel="mail"))
    assert len(await agent.forget(source_kind="import", dry_run=True)) == 3
    assert len(await agent.forget(source_kind="import", channel="mail", dry_run=True)) == 1
    receipt = await agent.forget(source_kind="import")
    assert (receipt.memory_ids, len(receipt.event_ids)) == ((imported.id,), 2)
    receipt = await agent.forget(channel="mail")
    assert (receipt.memory_ids, len(receipt.event_ids)) == ((), 2)
    assert (await agent.memories.get(own.id)).text == own.text
    assert len(await agent.forget(source_kind="operator")) == 0


async def test_the_receipt_says_where_nothing_is_left(agent: Agent) -> None:
    """After a dry run nothing was checked; something absent is forgotten again and again."""
    memory = await agent.remember("Went to Lisbon", tags=["travel"])
    await agent.record(SAID, session="a")
    assert (await agent.forget([memory.id], dry_run=True)).checked == ()
    receipt = await agent.forget(everything=True)
    assert {"memories", "tags", "links", "derivations", "messages", "search rows and vectors", "injected texts"} <= set(
        receipt.checked
    )
    assert receipt.scrubbed
    for _ in range(2):
        assert len(await agent.forget([memory.id])) == 0


async def test_a_whole_org_is_forgotten_and_no_other(germane: Germane) -> None:
    """Users, what is agent-wide, directives; a dry run counts the same."""
    for org in ("acme", "umbrella"):
        for name in ("support", "sales"):
            shared = germane.agent(name, org=org)
            await shared.remember("Borrow five books")
            await shared.directive("Be brief.")
            for user in ("caroline", "melanie"):
                await germane.agent(name, org=org, user=user).record(SAID, session="s")
    planned = await germane.forget("acme", dry_run=True)
    assert (len(planned.memory_ids), len(planned.event_ids), planned.scrubbed) == (2, 8, False)
    one = await germane.forget("acme", agent="sales")
    assert (len(one.memory_ids), len(one.event_ids), one.scrubbed) == (1, 4, True)
    rest = await germane.forget("acme", reason="the contract ended")
    assert (len(rest.memory_ids), len(rest.event_ids)) == (1, 4)
    assert "messages" in rest.checked
    assert (await germane.agents("acme")).agents == ()
    assert len((await germane.agents("umbrella")).agents) == 2
    assert await germane.agent("support", org="acme").directive() == ""
    assert len(await germane.forget("acme")) == 0


@pytest.mark.parametrize("confidence", [math.nan, math.inf, -0.1, "1"])
async def test_a_confidence_that_is_no_share_is_refused(agent: Agent, confidence: object) -> None:
    """Before anything is stored."""
    with pytest.raises(InvalidInput, match="confidence"):
        await agent.remember("x", confidence=confidence)
    assert (await agent.memories.list()).memories == ()


async def test_an_end_before_the_beginning_is_refused(agent: Agent) -> None:
    """Of validity and of expiry, at first and in an update."""
    for name in ("valid_to", "expires_at"):
        with pytest.raises(InvalidInput, match=f"{name} .* is not after the beginning"):
            await agent.remember("x", valid_from="2024-05-02T00:00Z", **{name: "2024-05-01T00:00Z"})  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=r"valid_to .*: give valid_from too, where it held before"):
        await agent.remember("x", valid_to="2024-05-01T00:00Z")
    memory = await agent.remember("x", valid_from="2024-05-02T00:00Z")
    with pytest.raises(InvalidInput, match="valid_to"):
        await agent.memories.update(memory.id, valid_to="2024-05-01T00:00Z")


@pytest.mark.parametrize("first", [True, False])
async def test_of_two_messages_that_state_the_same_forgetting_one_leaves_the_others(agent: Agent, first: bool) -> None:
    """It is found in the other message then, and so it is forgotten with that one."""
    await agent.record([{"role": "user", "content": "I live in Oslo. From now on always answer in Norwegian."}], session="s1")
    await agent.record([{"role": "user", "content": "As I said, I live in Oslo."}], session="s2")
    await agent.record([{"role": "user", "content": "From now on always answer in Norwegian!"}], session="s2")
    stated = {memory.text for memory in (await agent.memories.list()).memories}
    assert len(stated) == 2
    await agent.forget(session="s1" if first else "s2")
    left = (await agent.memories.list()).memories
    assert {memory.text for memory in left} == stated
    assert {memory.provenance.session for memory in left} == {"s2" if first else "s1"}
    assert [line.text for line in (await agent.profile()).lines] != []
    await agent.forget(session="s2" if first else "s1")
    assert (await agent.memories.list()).memories == ()
    assert (await agent.profile()).lines == ()


async def test_a_memory_that_is_forgotten_does_not_come_back_from_a_message_that_repeats_it(agent: Agent) -> None:
    """The user said what should go."""
    for session in ("s1", "s2", "s3"):
        await agent.record([{"role": "user", "content": "I live in Oslo."}], session=session)
    (memory,) = (await agent.memories.list()).memories
    assert len((await agent.forget([memory.id])).memory_ids) == 3
    assert (await agent.memories.list()).memories == ()
