"""Following: each message of a transcript is recorded once, whatever is cut, resent or replaced; nothing else is read."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given as given_cases
from hypothesis import strategies as st

from germane import Agent, Germane
from germane.service.hooks import following
from germane.service.hooks.following import FollowedTranscripts, Position, own_transcript, read_part
from support.coding_agents import ClaudeCode, Codex
from support.examples import examples

pytestmark = pytest.mark.requirement("HOOK-2")
SESSION = "shop/s1"


@pytest.fixture
async def agent(tmp_path: Path) -> AsyncIterator[Agent]:
    async with Germane.open(tmp_path / "germane.db") as germane:
        yield germane.agent("shop", user="me")


@pytest.fixture
def client(tmp_path: Path) -> ClaudeCode:
    return ClaudeCode(tmp_path / "home", tmp_path / "shop", "s1")


class Follower:
    """Follows one transcript; each call is a service that has just started."""

    def __init__(self, agent: Agent, client: ClaudeCode, folder: Path) -> None:
        self.agent, self.client, self.folder = agent, client, folder
        self.format = "codex" if isinstance(client, Codex) else "claude-code"

    async def __call__(self, *, whole: bool = True) -> list[str]:
        """Returns all that is recorded, the oldest first."""
        followed = FollowedTranscripts(self.folder, lambda agent, session, ids: None)
        await followed.follow(self.client.transcript, self.format, self.agent, SESSION, whole=whole)
        await followed.close()
        page = await self.agent.messages(SESSION, limit=1000)
        return [one.text for one in reversed(page.messages)]


@pytest.fixture
def follow(agent: Agent, client: ClaudeCode, tmp_path: Path) -> Follower:
    return Follower(agent, client, tmp_path / "positions")


async def test_what_is_new_is_recorded_and_nothing_twice(follow: Follower, client: ClaudeCode) -> None:
    """Also by a service that was started anew."""
    client.write("user", {"role": "user", "content": "Where is the config?"})
    assert await follow() == ["Where is the config?"]
    assert await follow() == ["Where is the config?"]
    client.write("assistant", client.message({"type": "text", "text": "In conf."}))
    assert await follow() == ["Where is the config?", "In conf."]
    assert "".join(path.read_text() for path in follow.folder.iterdir()).count("config") == 0


async def test_a_line_that_is_cut_waits(follow: Follower, client: ClaudeCode) -> None:
    """A client may write while the file is read."""
    client.write("user", {"role": "user", "content": "first"})
    line = client.line("user", {"role": "user", "content": "sécond"})
    with client.transcript.open("ab") as file:
        file.write(line[:-9])
    assert await follow() == ["first"]
    with client.transcript.open("ab") as file:
        file.write(line[-9:])
    assert await follow() == ["first", "sécond"]


async def test_a_message_of_several_lines_is_one(follow: Follower, client: ClaudeCode) -> None:
    """While a turn goes on, the model's last message waits for the rest of its lines."""
    client.write("user", {"role": "user", "content": "Look."})
    client.write("assistant", client.message({"type": "text", "text": "I look."}, id="m1"))
    assert await follow(whole=False) == ["Look."]
    call = {"type": "tool_use", "id": "t1", "name": "Grep", "input": {"pattern": "zeppelin"}}
    client.write("assistant", client.message(call, id="m1"))
    client.write("user", {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "found"}]})
    client.write("assistant", client.message({"type": "text", "text": "Done."}, id="m2"))
    found = await follow(whole=False)
    assert len(found) == 3
    assert "I look." in found[1]
    assert "zeppelin" in found[1]
    assert (await follow())[-1] == "Done."


async def test_a_message_that_had_seemed_complete_loses_nothing(follow: Follower, client: ClaudeCode) -> None:
    """Where a turn's end came before its last line, the line is recorded under a name of its own."""
    client.write("assistant", client.message({"type": "text", "text": "I look."}, id="m1"))
    assert await follow() == ["I look."]
    call = {"type": "tool_use", "id": "t1", "name": "Grep", "input": {"pattern": "zeppelin"}}
    client.write("assistant", client.message(call, id="m1"))
    found = await follow()
    assert found[0] == "I look."
    assert "zeppelin" in found[1]


async def test_bad_lines_dont_keep_the_others_out(follow: Follower, client: ClaudeCode) -> None:
    """Invalid UTF-8, no JSON, JSON that is nested too deep, an id that can't be stored."""
    client.write("user", {"role": "user", "content": "first"})
    with client.transcript.open("ab") as file:
        file.write(b'\xff\xfe\n{"type": "user"\n' + b"[" * 200_000 + b"\n\n{}\n7\n")
    client.write("user", {"role": "user", "content": "x"}, uuid="gk_" + "a" * 400)
    client.write("user", {"role": "user", "content": "last"})
    found = await follow()
    assert (found[0], found[-1]) == ("first", "last")


async def test_what_is_private_isnt_stored(follow: Follower, client: ClaudeCode) -> None:
    """Neither in what the person said nor in what a tool returned; what is nothing else isn't a message."""
    client.write("user", {"role": "user", "content": "Open <private>swordfish</private> now"})
    client.write("user", {"role": "user", "content": "<private>swordfish</private>"})
    client.write(
        "assistant", client.message({"type": "tool_use", "id": "t", "name": "Read", "input": {"a": "<private>swordfish"}})
    )
    result = {
        "type": "tool_result",
        "tool_use_id": "t",
        "content": [{"type": "text", "text": "x<private>swordfish</private>y"}],
    }
    client.write("user", {"role": "user", "content": [result]})
    found = await follow()
    assert found[0] == "Open  now"
    assert len(found) == 3
    assert "swordfish" not in str(found)
    exported = [str(one) async for one in follow.agent.export()]
    assert "swordfish" not in "".join(exported)


async def test_steps_of_the_clients_own_arent_recorded(follow: Follower, client: ClaudeCode) -> None:
    """Nobody said them: summaries, reminders, steps of subagents."""
    for mark in ("isMeta", "isSidechain", "isCompactSummary"):
        client.write("user", {"role": "user", "content": mark}, **{mark: True})
    client.write("user", {"role": "user", "content": "mine"})
    assert await follow() == ["mine"]


async def test_codex_is_recorded_though_words_are_said_again(agent: Agent, tmp_path: Path) -> None:
    """Two equal messages are two, and one that is read again is one."""
    client = Codex(tmp_path / "home", tmp_path / "shop", "c1")
    follow = Follower(agent, client, tmp_path / "positions")
    for text in ("yes", "go on", "yes"):
        client.write("user", {"role": "user", "content": text})
        await follow()
    assert await follow() == ["yes", "go on", "yes"]
    for path in follow.folder.iterdir():
        path.unlink()
    assert await follow() == ["yes", "go on", "yes"]


async def test_a_replaced_file_is_read_from_its_beginning(follow: Follower, client: ClaudeCode) -> None:
    """Another file at the same path, and one that has become shorter."""
    client.write("user", {"role": "user", "content": "one, which is rather long"})
    await follow()
    client.transcript.unlink()
    client.write("user", {"role": "user", "content": "two"})
    assert (await follow())[-1] == "two"
    client.transcript.write_bytes(client.line("user", {"role": "user", "content": "3"}))
    assert (await follow())[-1] == "3"


async def test_a_long_transcript_begins_near_its_end(
    follow: Follower, client: ClaudeCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that was never read before; then it is read from where the last reading ended, part by part."""
    monkeypatch.setattr(following, "_MAX_FIRST", 4_000)
    monkeypatch.setattr(following, "_PART", 1_500)
    for number in range(100):
        client.write("user", {"role": "user", "content": f"message {number}"})
    found = await follow()
    assert 5 < len(found) < 30
    assert found[-1] == "message 99"
    assert found == [f"message {number}" for number in range(100 - len(found), 100)]
    for number in range(100, 120):
        client.write("user", {"role": "user", "content": f"message {number}"})
    assert (await follow())[-20:] == [f"message {number}" for number in range(100, 120)]


async def test_a_line_longer_than_any_is_passed_over(
    follow: Follower, client: ClaudeCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And costs no more memory than the longest that is read."""
    monkeypatch.setattr(following, "_PART", 500)
    monkeypatch.setattr(following, "_MAX_LINE", 2_000)
    client.write("user", {"role": "user", "content": "x" * 9_000})
    client.write("user", {"role": "user", "content": "behind"})
    assert await follow() == ["behind"]


def test_only_files_of_the_clients_folder_are_read(tmp_path: Path) -> None:
    """No path out of it, by any way, and nothing that is no transcript."""
    root, other = tmp_path / "projects", tmp_path / "other"
    (root / "p").mkdir(parents=True)
    other.mkdir()
    for path in (root / "p" / "s.jsonl", other / "s.jsonl", root / "p" / "s.txt"):
        path.write_text("{}")
    (root / "link.jsonl").symlink_to(other / "s.jsonl")
    (root / "folder").symlink_to(other)
    assert own_transcript(str(root / "p" / "s.jsonl"), root) == root / "p" / "s.jsonl"
    for given in (
        str(other / "s.jsonl"),
        f"{root}/../other/s.jsonl",
        f"{root}/link.jsonl",
        f"{root}/folder/s.jsonl",
        f"{root}/p/s.txt",
        f"{root}-2/s.jsonl",
        "p/s.jsonl",
        "",
        f"{root}/p/s\0.jsonl",
        str(root),
    ):
        assert own_transcript(given, root) is None, given
    assert own_transcript(str(root / "p" / "s.jsonl")) is None
    assert own_transcript(str(other / "s.jsonl"), root, other) == other / "s.jsonl"


def test_what_is_no_file_isnt_opened(tmp_path: Path) -> None:
    """A pipe would wait for somebody to write into it."""
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    assert read_part(pipe, Position(), "claude-code", whole=True).rows == ()


async def test_transcripts_that_wait_are_bounded(agent: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest waits for its next event."""
    monkeypatch.setattr(following, "_MAX_WAITING", 3)
    followed = FollowedTranscripts(tmp_path / "positions", lambda agent, session, ids: None)
    waiting = [followed.follow(tmp_path / f"{number}.jsonl", "codex", agent, SESSION, whole=True) for number in range(10)]
    ended = await asyncio.gather(*waiting, return_exceptions=True)
    assert sum(isinstance(one, asyncio.CancelledError) for one in ended) == 7
    assert not followed.busy


@given_cases(st.lists(st.integers(1, 400), min_size=1, max_size=20))
@examples(60)
def test_any_way_of_writing_gives_each_message_once(tmp_path_factory: pytest.TempPathFactory, steps: list[int]) -> None:
    """However many bytes of the file are there at each reading."""
    folder = tmp_path_factory.mktemp("any")
    client = ClaudeCode(folder, folder / "shop", "s1")
    data = b"".join(client.line("user", {"role": "user", "content": f"m{number}"}) for number in range(6))
    path, written, position = folder / "t.jsonl", 0, Position()
    found = list[str]()
    for step in (*steps, len(data)):
        written = min(len(data), written + step)
        with path.open("ab") as file:
            file.write(data[path.stat().st_size : written])
        part = read_part(path, position, "claude-code", whole=False)
        position = part.position
        found += [row.message.content for row in part.rows]
    assert found == [f"m{number}" for number in range(6)]
