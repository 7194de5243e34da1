"""Erased: whether anything is left of a text after it was forgotten, of all that was made of it, in every way to forget it.

    python -m bench erased [--only NAME …]

Each way to make text of text (`bench/made_texts.py`) is forgotten in each way that should reach it, in a copy of one store.
Then every byte of the database, its log, a backup and an export is searched for the way's word, and so are the answers of all
calls that read, and the requests that would go to a model. Requirement: MEM-3.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Sequence
from pathlib import Path
from typing import Any

from bench.made_texts import ORG, SESSION, WAYS, Room, lived_in, word_of
from germane import Agent, Germane

__all__ = ["bytes_of", "left_by", "main"]

_QUESTION = [{"role": "user", "content": "What do you know of all this?"}]
_STRATEGIES = ("default", "compact", "digest", "coding", "research", "support")


def bytes_of(folder: Path, words: Sequence[str]) -> set[str]:
    """The words that stand in any file of a folder, in either case, in UTF-8 or UTF-16."""
    everything = b"\0".join(path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()).lower()
    forms = {word: (word.lower().encode(), word.lower().encode("utf-16-le")) for word in words}
    return {word for word, each in forms.items() if any(form in everything for form in each)}


async def left_by(germane: Germane, room: Room, how: str) -> list[str]:
    """Forgets a room's text in one way. Returns the faults of the receipt."""
    agent = room.wide if how.startswith("wide ") else room.agent
    receipt = await agent.forget(**room.hows[how])
    faults = [] if receipt.scrubbed else [f"waits for {receipt.waiting_for}"]
    if how == "everything":
        await room.wide.forget(everything=True)
    return faults if "derivations" in receipt.checked else [*faults, "not checked"]


async def _answers(agent: Agent, session: str) -> AsyncIterator[tuple[str, Any]]:
    """What every call that reads answers, with what a model would be sent."""
    calls: dict[str, Awaitable[Any]] = {
        **{
            f"assemble {name}": agent.assemble(_QUESTION, model="gpt-4o", session=session, strategy=name, deadline=None)
            for name in _STRATEGIES
        },
        "fallback": agent.fallback(_QUESTION, model="gpt-4o", session=session),
        "digest": agent.digest("all of it", session=session, deadline=None),
        "search": agent.search("boiler harbour project Initech", 50),
        "messages": agent.messages(limit=1000),
        "sessions": agent.sessions(),
        "stats": agent.stats(),
        "audit": agent.audit(),
        "directive": agent.directive(),
        "blocks": agent.blocks.list(deleted=True),
        "consents": agent.blocks.consents(pending=False),
        "archive": agent.blocks.search_archive("boiler Initech"),
        "tasks": agent.tasks.list(session),
        "branches": agent.tasks.branches(session),
        "delegations": agent.delegations.list(session),
        "graph": agent.graph.list(limit=1000),
        "patterns": agent.graph.patterns.match("call release pytest", limit=50),
        "events": agent.events.list(limit=1000),
        "documents": agent.documents.list(),
        "memories": agent.memories.list(limit=1000),
        "review": agent.memories.review(),
        "summaries": agent.conversations.summaries(session),
        "outline": agent.conversations.outline(session),
    }
    for name, call in calls.items():
        answer = await call
        if name.startswith(("assemble", "fallback")):
            answer = (answer.messages, answer.system, answer.metadata.warnings)
        yield name, answer


async def _run(folder: Path, names: Sequence[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    made = folder / "made"
    made.mkdir()
    async with Germane.open(made / "a.db", freeze=False) as germane:
        hows = {name: dict(room.hows) for name, room in (await lived_in(germane, names)).items()}
    if lost := {name for name in names if word_of(name) not in bytes_of(made, [word_of(name) for name in names])}:
        found["nothing was made by"] = sorted(lost)
    for how in dict.fromkeys(how for each in hows.values() for how in each):
        copy = folder / "copy"
        shutil.copytree(made, copy)
        asked = [name for name in names if how in hows[name]]
        async with Germane.open(copy / "a.db", freeze=False) as germane:
            for name in asked:
                room = Room(germane, name, hows[name])
                if faults := await left_by(germane, room, how):
                    found[f"{name}, by {how}: receipt"] = faults
                for agent in (room.agent, room.wide):
                    async for called, answer in _answers(agent, SESSION):
                        if word_of(name).casefold() in repr(answer).casefold():
                            found.setdefault(f"{name}, by {how}", []).append(called)
            await germane.backup(copy / "backup.db")
            lines = [json.dumps(line) async for line in germane.export(org=ORG)]
            (copy / "export.jsonl").write_text("\n".join(lines))
        words = bytes_of(copy, [word_of(name) for name in asked])
        for name in asked:
            if word_of(name) in words:
                found.setdefault(f"{name}, by {how}", []).append("bytes of files")
        print(f"{how}: {len(asked)} texts forgotten", flush=True)
        shutil.rmtree(copy)
    return found


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench erased", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--only", nargs="*", default=[*WAYS])
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(_run(Path(folder), options.only))
    for what, where in found.items():
        print(f"LEFT {what}: {', '.join(where)}")
    print(f"{len(options.only)} ways to make text of text; {len(found)} left something")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
