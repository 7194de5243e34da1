"""agent.conversations: compaction with a store: what leaves the prompt can be shown again, and nothing the store does can fail
it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from germane import Agent, Germane, InvalidInput, NotFound
from germane.compaction.strategy import Summarise, Truncate
from germane.dialects.registry import dialect
from germane.errors import StoreUnavailable
from germane.integrations import compact
from germane.types.message import Wire
from germane_testing.builders import Hashed

pytestmark = pytest.mark.requirement("HIST-2", "HIST-5")

S = "long"
MODEL = "gpt-4o"
SECRET = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"


def talk(turns: int, *, secret: str = "") -> list[dict[str, Any]]:
    """A conversation with tool calls, of about 120 tokens per turn."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": "You are a careful engineer."}]
    for number in range(turns):
        call = {"id": f"c{number}", "type": "function", "function": {"name": "read_file", "arguments": '{"path": "a.py"}'}}
        output = f"line {number} of the file " * 12 + (secret if number == 1 else "")
        messages += [
            {"role": "user", "content": f"Please look at step {number} of the plan for the harbour office, and report."},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": output},
            {"role": "assistant", "content": f"Step {number} is done: the crane of quay {number} was moved to the north."},
        ]
    return [*messages, {"role": "user", "content": "And what is next?"}]


@pytest.fixture
async def germane(tmp_path: Path) -> AsyncIterator[Germane]:
    async with Germane.open(tmp_path / "a.db", embedder=Hashed(), warm=False) as germane:
        yield germane


@pytest.fixture
def agent(germane: Germane) -> Agent:
    return germane.agent(user="anna")


async def short(agent: Agent, messages: Sequence[dict[str, Any]], session: str = S, **given: Any) -> Any:
    return await agent.conversations.compact(messages, session=session, model=MODEL, max_tokens=900, **given)


def held(folder: Path, *words: bytes) -> list[bytes]:
    """Those of the words that stand in any file."""
    everything = b"".join(path.read_bytes() for path in folder.iterdir())
    return [word for word in words if word in everything]


async def test_what_leaves_is_shown_again_by_its_handle(agent: Agent) -> None:
    """The prompt is that of a compaction with any archive; a span leads to the one before it; the handle is expanded too."""
    messages = talk(30)
    made = await short(agent, messages)
    assert made.fits
    assert made.compacted
    assert dialect("openai").problems(Wire(messages=made.messages)) == ()
    assert made.trace.reasons == ()
    assert set(made.cited) <= set(made.entries)
    newest = await agent.conversations.show(made.cited[0], session=S)
    assert (newest.kind, newest.session, newest.provider) == ("span", S, "openai")
    assert newest.messages == made.entries[newest.handle].messages
    first = newest
    while first.previous:
        first = await agent.conversations.show(first.previous)
    assert "user: Please look at step 0 " in first.text
    assert "→ read_file" in first.text
    assert (await agent.tasks.expand(newest.handle)).text == newest.text
    masked = next((handle for handle in made.cited if made.entries[handle].kind == "output"), None)
    if masked is not None:
        assert (await agent.conversations.show(masked)).text.startswith("line ")


async def test_the_whole_conversation_is_rebuilt(agent: Agent) -> None:
    """From the compacted messages alone, in one compaction or in one of a compacted one."""
    messages = talk(30)
    once = await short(agent, messages)
    assert await agent.conversations.rebuild(once.messages, session=S) == messages
    more = talk(20)[1:]
    twice = await short(agent, [*once.messages, *more])
    assert await agent.conversations.rebuild(twice.messages, session=S) == [*messages, *more]
    assert await agent.conversations.rebuild(twice.messages, session="another") == twice.messages


async def test_the_next_compaction_builds_on_the_stored_summary(agent: Agent) -> None:
    """The same boundary has the same summary, byte for byte; each move adds one, and none replaces another."""
    messages = talk(60)
    prompts = list[str]()
    for turns in range(20, 60, 4):
        made = await short(agent, messages[: 4 * turns + 2])
        prompts.append(made.messages[1]["content"])
        kept = await agent.conversations.summaries(S)
        assert made.summary is not None
        assert made.summary.text == kept[-1].summary.text
        assert made.summary.text in made.messages[1]["content"]
    assert len(kept) == len(dict.fromkeys(prompts))
    assert [one.summary.covers for one in kept] == sorted(one.summary.covers for one in kept)
    assert (await short(agent, messages[: 4 * 56 + 2])).messages[1]["content"] == prompts[-1]


async def test_a_conversation_that_fits_writes_nothing(agent: Agent) -> None:
    made = await short(agent, talk(1))
    assert made.messages == talk(1)
    stats = await agent.stats()
    assert (stats.archived, stats.summaries) == (0, 0)


async def test_two_compactions_at_once_agree(tmp_path: Path) -> None:
    """In one process and in another handle: the same prompts, one entry for each handle, one summary for each boundary."""
    messages = talk(30)
    opened = [Germane.open(tmp_path / "a.db", embedder=Hashed(), warm=False) for _ in range(2)]
    async with opened[0] as one, opened[1] as other:
        agents = [one.agent(user="anna"), one.agent(user="anna"), other.agent(user="anna")]
        made = await asyncio.gather(*(short(agent, messages) for agent in agents * 3))
        assert all(each.messages == made[0].messages for each in made)
        stats = await agents[0].stats()
        assert (stats.archived, stats.summaries) == (len(made[0].entries), 1)


async def test_a_secret_isn_t_kept_in_clear(tmp_path: Path) -> None:
    """Neither in the archive nor in a summary, unless the policy keeps it; where it refuses secrets there is no handle."""
    messages = talk(30, secret=SECRET)
    messages[1]["content"] += f" My token is {SECRET}, keep it."
    for policy in ("redact", "tag", "refuse"):
        path = tmp_path / f"{policy}.db"
        async with Germane.open(path, embedder=Hashed(), warm=False, secrets=policy) as germane:
            agent = germane.agent(user="anna")
            made = await short(agent, messages)
            assert made.fits
            rebuilt = str(await agent.conversations.rebuild(made.messages, session=S))
            assert (SECRET in rebuilt) == (policy == "tag")
            assert any("secret" in reason for reason in made.trace.reasons) == (policy == "refuse")
        assert (SECRET.encode() in path.read_bytes()) == (policy == "tag")


async def test_no_other_scope_is_shown_a_handle(germane: Germane, agent: Agent) -> None:
    """Though it knows it."""
    made = await short(agent, talk(30))
    others = [
        germane.agent(user="ben"),
        germane.agent(),
        germane.agent("another", user="anna"),
        germane.agent(org="x", user="anna"),
    ]
    for other in others:
        with pytest.raises(NotFound):
            await other.conversations.show(made.cited[0])
        with pytest.raises(NotFound):
            await other.tasks.expand(made.cited[0])
        assert await other.conversations.rebuild(made.messages, session=S) == made.messages
        assert await other.conversations.summaries(S) == ()


async def test_a_store_that_fails_leaves_a_prompt_without_handles(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    """Down, slow, or with other content than was written; the messages fit all the same, and the trace says why."""
    messages, scoped = talk(30), type(agent._scoped(agent.scope))
    plain = compact(messages, model=MODEL, max_tokens=900).messages

    async def down(*_: Any) -> Any:
        raise StoreUnavailable("the disk is full")

    async def slow(*_: Any) -> Any:
        await asyncio.Event().wait()

    async def nothing(*_: Any) -> Any:
        return None

    for commit, deadline, why in ((down, 5.0, "StoreUnavailable"), (slow, 0.01, "within"), (nothing, 5.0, "read back")):
        with monkeypatch.context() as patched:
            patched.setattr(scoped, "commit", commit)
            made = await short(agent, messages, deadline=deadline)
        assert made.fits
        assert made.cited == ()
        assert any(why in reason for reason in made.trace.reasons), made.trace.reasons
        assert [message["role"] for message in made.messages] == [message["role"] for message in plain]
        assert "show_earlier" not in str(made.messages)
    assert (await short(agent, messages)).cited


async def test_what_can_t_be_used_is_refused(agent: Agent) -> None:
    """As by `germane.integrations.compact`."""
    bad: list[dict[str, Any]] = [{"deadline": -1}, {"strategy": "all"}, {"provider": "x"}, {"session": ""}, {"tools": "x"}]
    for given in bad:
        with pytest.raises(InvalidInput):
            await agent.conversations.compact(talk(3), **({"session": S, "model": MODEL} | given))
    with pytest.raises(InvalidInput):
        await agent.conversations.compact(talk(3), model=MODEL)
    with pytest.raises(NotFound):
        await agent.conversations.show("h000000000000")


async def test_a_tool_s_output_of_any_size_is_kept_or_named_in_the_trace(agent: Agent) -> None:
    """What is larger than the limit leaves without a handle."""
    messages = talk(30)
    messages[3]["content"] = "x" * 17_000_000
    made = await short(agent, messages, deadline=None)
    assert made.fits
    assert any("too large" in reason for reason in made.trace.reasons)
    assert set(made.cited) < set(made.entries) or made.cited == ()


async def test_an_outline_is_made_with_the_recording(agent: Agent) -> None:
    """A line for each exchange, also of what is sent again with every request; its ids are those of the messages."""
    messages = talk(4)
    for turns in range(1, 5):
        await agent.record(messages[: 4 * turns + 1], session=S)
    page = await agent.conversations.outline(S)
    assert len(page.lines) == 4
    assert "step 2" in page.lines[2].text
    assert "quay 2" in page.lines[2].text
    assert [line.messages for line in page.lines] == [4] * 4
    assert (await agent.find(page.lines[2].first_id)).text == messages[9]["content"]
    assert (await agent.conversations.outline(S, limit=3)).cursor is not None
    await agent.forget([page.lines[2].first_id])
    assert [line.messages for line in (await agent.conversations.outline(S)).lines] == [4, 7, 4]


async def test_forgetting_takes_archive_summaries_and_outline(tmp_path: Path, agent: Agent) -> None:
    """Of a session, by one of its messages, and of the whole scope; the receipt names what went, a dry run what would go."""
    for how in ("session", "message", "everything"):
        session = f"canary-{how}"
        await agent.record(talk(6), session=session)
        made = await short(
            agent,
            [*talk(30), {"role": "assistant", "content": "canary-said"}],
            session=session,
        )
        given: dict[str, Any] = {"session": session} if how == "session" else {"everything": True}
        if how == "message":
            given = {"ids": [(await agent.conversations.outline(session)).lines[0].first_id]}
        would = await agent.forget(**given, dry_run=True)
        receipt = await agent.forget(**given)
        assert len(receipt.compaction_ids) == len(made.entries) + 1 == len(would.compaction_ids)
        assert {"archived messages", "summaries"} <= set(receipt.checked)
        assert receipt.scrubbed
        with pytest.raises(NotFound):
            await agent.conversations.show(made.cited[0])
        assert await agent.conversations.summaries(session) == ()
    assert not held(tmp_path, b"canary", b"harbour office", b"crane of quay")


@pytest.mark.requirement("MEM-3", "HIST-2")
@pytest.mark.parametrize("how", ["session", "message", "everything"])
async def test_a_summary_that_the_caller_kept_brings_nothing_back_once_it_was_forgotten(
    tmp_path: Path, agent: Agent, how: str
) -> None:
    """The caller still sends the summary. Its text is in no later prompt, summary or file; others' summaries stay."""
    await agent.record(talk(6), session=S)
    made, other = [await short(agent, talk(30), session=session) for session in (S, "other")]
    assert "harbour office" in str(made.messages[1])
    given: dict[str, Any] = {"session": S} if how == "session" else {"everything": True}
    if how == "message":
        given = {"ids": [(await agent.conversations.outline(S)).lines[0].first_id]}
    await agent.forget(**given)
    later = [{"role": "user", "content": "And the pumps?"}, {"role": "assistant", "content": "They run. " * 400}] * 3
    kept = [*made.messages[:2], *later, {"role": "user", "content": "Go on."}]
    for again in (await short(agent, kept), await short(agent, kept[:3])):
        assert "harbour office" not in str(again.messages)
        assert "was forgotten" in str(again.trace.reasons)
        assert dialect("openai").problems(Wire(messages=again.messages)) == ()
    if how != "everything":
        assert "harbour office" in str((await short(agent, other.messages, session="other")).messages)
        await agent.forget(session="other")
    if how != "message":  # the other messages are recorded
        assert not held(tmp_path, b"harbour office", b"crane of quay")
    whole = await short(agent, talk(30))  # what is sent in full once more stands again, and can be shown
    assert "harbour office" in str((await short(agent, whole.messages)).messages)


async def test_what_compactions_keep_is_exported_and_restored(tmp_path: Path, agent: Agent) -> None:
    """The same handles stand for the same messages; outlines are made from the messages; what was forgotten stays forgotten."""
    await agent.record(talk(6), session=S)
    made = await short(agent, talk(30))
    lines = [line async for line in agent.export()]
    assert lines[0]["version"] == 5
    async with Germane.open(tmp_path / "b.db", embedder=Hashed(), warm=False) as other:
        moved = other.agent(user="anna")
        restored = await moved.restore(lines)
        assert (restored.archived, restored.summaries) == (len(made.entries), 1)
        assert await moved.conversations.show(made.cited[0]) == await agent.conversations.show(made.cited[0])
        assert await moved.conversations.summaries(S) == await agent.conversations.summaries(S)
        assert await moved.conversations.outline(S) == await agent.conversations.outline(S)
        assert [line async for line in moved.export()] == lines
        again = await moved.restore(lines)
        assert (again.archived, again.summaries) == (0, 0)
        await moved.forget(session=S)
        late = await moved.restore(lines)
        assert (late.archived, late.summaries, late.forgotten) == (0, 0, late.forgotten)
        with pytest.raises(NotFound):
            await moved.conversations.show(made.cited[0])


async def test_a_language_model_sums_up_in_the_background(tmp_path: Path) -> None:
    """What it wrote comes in with the next move and is stored; nothing waits for it."""

    async def llm(prompt: str) -> str:
        return "The user had the assistant look at steps of the plan for the harbour office."

    messages = talk(60)
    async with Germane.open(tmp_path / "a.db", embedder=Hashed(), warm=False, llm=llm) as germane:
        agent, worker = germane.agent(user="anna"), germane._open.summaries
        assert worker is not None
        for turns in range(20, 60, 4):
            made = await short(agent, messages[: 4 * turns + 2])
            assert made.fits
            await worker.drain()
        kept = await agent.conversations.summaries(S)
        assert worker.total.asked > 0
        assert kept[0].summary.method == "extractive"
        if worker.total.accepted:
            assert kept[-1].summary.method == "llm"
            assert "harbour office" in kept[-1].summary.text
    async with Germane.open(tmp_path / "a.db", embedder=Hashed(), warm=False) as germane:
        again = await short(germane.agent(user="anna"), messages[: 4 * 56 + 2])
        assert again.messages == made.messages


async def test_another_strategy_has_a_summary_of_its_own(agent: Agent) -> None:
    """`Truncate` tells nothing but demands; where the same messages have left, that mustn't stand for a summary."""
    messages = [*talk(7)[:1], {"role": "user", "content": "Never commit to main."}, *talk(7)[1:]]
    truncated = await short(agent, messages, strategy=Truncate())
    summed = await short(agent, messages, strategy=Summarise(summary_tokens=60))
    assert truncated.trace.covered_before == summed.trace.covered_before
    assert summed.summary is not None
    assert "a.py" in summed.summary.text


async def test_strategies_are_those_of_the_package(agent: Agent) -> None:
    """With a summary that stays small."""
    made = await short(agent, talk(30), strategy=Summarise(summary_tokens=60))
    assert made.fits
    assert made.summary is not None
    assert made.summary.tokens <= 60
