"""Secrets at write: what the whole library does with a secret, from the call to the bytes in the files."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from germane import Germane, InvalidInput, Message
from germane.cli.imports.rows import read_jsonl
from germane.cli.imports.store_rows import ImportTally, store_rows
from germane.types.candidate import LONG_TEXT
from germane.types.query import Filters
from germane_testing.builders import Hashed
from support.calendar import Opening

pytestmark = pytest.mark.requirement("MEM-7")

AWS = "AKIA" + "Q3EGVCFDTZ7XN2LM"
"""Nobody's."""
PASSWORD = "Zinnober-7719"
TALK: list[dict[str, Any]] = [
    {"role": "user", "content": f"Deploy with {AWS} please"},
    {"role": "assistant", "content": "Done.", "tool_calls": []},
    {"role": "user", "content": f"Thanks. My password is {PASSWORD}, don't tell"},
]
MARKED = "Deploy with [redacted: AWS access key] please"


class Recorder(Hashed):
    """An embedder that keeps what it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def embed_now(self, texts: Sequence[str]) -> Any:
        self.seen += texts
        return super().embed_now(texts)

    async def embed(self, texts: Sequence[str]) -> Any:
        self.seen += texts
        return await super().embed(texts)


def read_all(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir())


async def contents(germane: Germane) -> list[str]:
    exported = [one async for one in germane.agent().export() if one["type"] in ("memory", "message")]
    return [
        str(one.get("content") or one.get("body") or one.get("value"))
        for one in exported
        if one["type"] in ("memory", "message")
    ]


async def test_nothing_of_a_secret_reaches_a_file_an_embedder_or_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever was called: the database, its log and what lies beside it hold markers."""
    caplog.set_level(logging.DEBUG)
    embedder = Recorder()
    async with Germane.open(tmp_path / "a.db", embedder=embedder, freeze=False) as germane:
        agent = germane.agent()
        raw = {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {"password": PASSWORD}}]}
        recorded = await agent.record([*TALK, raw, Message.of("user", "hi", name=f"x {AWS}")], session="s")
        await agent.record([{"role": "user", "content": f"{AWS} {index}"} for index in range(200)], session="long")
        memory = await agent.remember(f"The key is {AWS}", title=f"password: {PASSWORD}")
        await agent.remember(kind="fact", key="db", value={"password": PASSWORD, "key": [AWS]})
        await agent.memories.update(memory.id, f"The key was {AWS}")
        context = await agent.assemble([{"role": "user", "content": "Which key?"}], model="gpt-4o", session="s", deadline=None)
        files = read_all(tmp_path)
    files += read_all(tmp_path)
    assert recorded.secrets == {"AWS access key": 2, "password": 2}
    assert "[redacted: AWS access key]" in context.added
    for secret in (AWS, PASSWORD):
        assert secret.encode() not in files
        assert not [text for text in embedder.seen if secret in text]
        assert secret not in caplog.text
    assert b"[redacted: AWS access key]" in files
    assert embedder.seen


async def test_a_conversation_sent_again_is_known_although_it_was_redacted(opening: Opening) -> None:
    """As a whole, its end, and with new turns; under another policy too."""
    async with opening() as germane:
        agent = germane.agent()
        assert len((await agent.record(TALK, session="s")).added) == 3
        assert (await agent.record(TALK, session="s")).added == ()
        assert (await agent.record(TALK[2:], session="s")).added == ()
        more = {"role": "assistant", "content": "I won't."}
        again = await agent.record([*TALK, more], session="s")
        assert (len(again.added), again.skipped, again.secrets) == (1, 3, {})
        await agent.record([{"id": "m1", "role": "user", "content": AWS}], session="ids")
        assert (await agent.record([{"id": "m1", "role": "user", "content": AWS}], session="ids")).added == ()
    async with opening(secrets="off") as germane:
        assert (await germane.agent().record([*TALK, more], session="s")).added == ()


@pytest.mark.parametrize("ids", [True, False], ids=["ids", "no ids"])
async def test_what_was_exported_comes_back_as_known(opening: Opening, ids: bool) -> None:
    """The export holds the redacted text, which is known as well as the text that was sent."""
    talk = [{**said, "id": f"m{index}"} if ids else said for index, said in enumerate(TALK)]
    async with opening() as germane:
        agent = germane.agent()
        await agent.record(talk, session="s")
        await agent.remember(f"The key is {AWS}")
        lines = "\n".join([json.dumps(one) async for one in agent.export()])
        before = await contents(germane)
        tally = ImportTally()
        await store_rows(list(read_jsonl(lines.encode(), "x")), agent, agent, lambda _: agent, tally, lambda count: None)
        assert (tally.messages, tally.known_messages, tally.broken) == (0, 3, [])
        assert await contents(germane) == before


@pytest.mark.requirement("GATHER-2a")
@pytest.mark.parametrize("length", [40, 3 * LONG_TEXT], ids=["short", "long"])
async def test_a_redacted_message_in_the_request_is_no_candidate(opening: Opening, length: int) -> None:
    """It is recognised by what was sent, without a search for secrets in the request."""
    filler = "The greyhound Biscuit sleeps near the river and dreams of rabbits. " * 400
    said = {"role": "user", "content": f"{filler[:length]} Biscuit: {AWS} {filler[:length]}"}
    other = {"role": "user", "content": f"Biscuit was born in June; his key is {AWS[:-1]}8."}
    async with opening() as germane:
        agent = germane.agent()
        await agent.record([said, other], session="s")
        asked = [said, {"role": "assistant", "content": "ok"}, {"role": "user", "content": "What about Biscuit and his key?"}]
        context = await agent.assemble(asked, model="gpt-4o", session=None, deadline=None)
        shown = [item.text for item in context.items]
        assert any("born in June" in text for text in shown)
        assert not any("sleeps" in text for text in shown)
        alone = await agent.assemble(asked[-1:], model="gpt-4o", session=None, deadline=None)
        assert any("sleeps" in item.text for item in alone.items)


async def test_an_assembly_never_looks_for_secrets(opening: Opening, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its time belongs to the answer."""
    async with opening() as germane:
        agent = germane.agent()
        await agent.record(TALK, session="s")
        for name in ("germane.text.secrets.detection.find_secrets", "germane.kinds.messages.prepared.find_secrets"):
            monkeypatch.setattr(name, lambda *given: pytest.fail("searched"))
        await agent.assemble(TALK, model="gpt-4o", session="s", deadline=None)
        await agent.search(AWS)


async def test_a_tagged_secret_stays_out_of_contexts_unless_it_is_asked_for(opening: Opening) -> None:
    """The text is kept, its sensitivity keeps it back."""
    async with opening(secrets="tag") as germane:
        agent = germane.agent()
        recorded = await agent.record(TALK, session="s")
        assert recorded.secrets == {"AWS access key": 1, "password": 1}
        memory = await agent.remember(f"The deploy key is {AWS}")
        assert (memory.sensitivity, memory.tags) == ("sensitive", ("secret",))
        assert TALK[0]["content"] in await contents(germane)
        asked = [{"role": "user", "content": "Which deploy key?"}]
        context = await agent.assemble(asked, model="gpt-4o", session="t", deadline=None)
        assert AWS not in str(context.messages)
        allowed = Filters(sensitivities=("public", "private", "sensitive"))
        context = await agent.assemble(asked, model="gpt-4o", session="u", deadline=None, filters=allowed)
        assert AWS in context.added


@pytest.mark.parametrize("length", [3, 300], ids=["short", "in slices"])
async def test_a_refused_recording_writes_nothing(opening: Opening, length: int) -> None:
    """The message is named by its place, and nothing of the call is stored."""
    talk: list[dict[str, Any]] = [{"role": "user", "content": f"turn {index}"} for index in range(length)]
    talk.append(TALK[0])
    async with opening(secrets="refuse") as germane:
        agent = germane.agent()
        with pytest.raises(InvalidInput, match=rf"messages\[{length}\] holds a secret \(AWS access key\)") as refused:
            await agent.record(talk, session="s")
        assert AWS not in str(refused.value)
        with pytest.raises(InvalidInput, match=r"body holds a secret"):
            await agent.remember(f"The key is {AWS}")
        with pytest.raises(InvalidInput, match=r"the directive holds a secret"):
            await agent.directive(f"Use {AWS}")
        assert await contents(germane) == []


async def test_off_stores_what_was_sent(opening: Opening) -> None:
    """As before."""
    async with opening(secrets="off") as germane:
        recorded = await germane.agent().record(TALK, session="s")
        assert recorded.secrets == {}
        assert await contents(germane) == [one["content"] for one in TALK]


async def test_an_unknown_policy_is_refused_on_opening() -> None:
    """With the policies that there are."""
    with pytest.raises(InvalidInput, match="secrets must be one of redact, tag, refuse, off, not 'hide'"):
        Germane.open(":memory:", secrets="hide")  # type: ignore[arg-type]


@pytest.mark.parametrize("format", ["compact", "xml"])
@pytest.mark.requirement("FORMAT-4")
async def test_a_marker_is_readable_in_every_format(opening: Opening, format: str) -> None:
    """Escaping leaves it as it is."""
    from germane import derive
    from germane.api.strategies import DEFAULT

    async with opening() as germane:
        agent = germane.agent()
        await agent.record(TALK, session="s")
        strategy = derive(DEFAULT, {"name": "mine", "format": format})
        asked = [{"role": "user", "content": "What do I deploy with?"}]
        context = await agent.assemble(asked, model="gpt-4o", session="t", strategy=strategy, max_tokens=500, deadline=None)
        assert MARKED in context.added
