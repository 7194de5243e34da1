"""Delegating: what a delegated agent gets of what it needs, and for how many tokens, by mode: isolated, brief, fork."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from bench.session_entries import KINDS, Entry, Handover, Move, SessionEvent
from bench.session_replay import SESSION, SessionReplay, holds, told
from germane import Message
from germane.kinds.tasks.handle import Delegation
from germane.models.tokenizers import open_tokenizer

__all__ = ["WAYS", "DelegationTally", "delegated", "delegation_report"]

_WINDOW = 40
"""Messages that a parent's window holds where it has been compacted."""
WAYS: tuple[str, ...] = ("isolated", "brief 500", "brief 1000", "brief 2000", f"fork, last {_WINDOW}", "fork, all")


@dataclass(slots=True)
class DelegationTally:
    """Needs that were met, and all, by kind; tokens of the messages that the other agent gets, its task included."""

    met: Counter[str] = field(default_factory=Counter)
    all: Counter[str] = field(default_factory=Counter)
    tokens: int = 0
    points: int = 0

    def share(self, *kinds: str) -> float:
        """The share of needs of these kinds (default: all) that were met."""
        chosen = kinds or tuple(self.all)
        total = sum(self.all[kind] for kind in chosen)
        return sum(self.met[kind] for kind in chosen) / total if total else 0.0

    def note(self, point: Handover, text: str, tokens: int) -> None:
        self.points += 1
        self.tokens += tokens
        for need in point.needs:
            self.all[need.kind] += 1
            self.met[need.kind] += holds(text, need)


async def delegated(entries: Sequence[Entry]) -> dict[str, DelegationTally]:
    """Replays the session and gives each task away in every way, without a trace in what follows: the delegated task is
    forgotten. A fork gets what a plain agent's messages would be: all, or the last 40."""
    tallies = {way: DelegationTally() for way in WAYS}
    count = open_tokenizer("o200k").count
    heard = list[Message]()
    async with SessionReplay("structured") as replay:
        for entry in entries:
            await replay.play(entry)
            if isinstance(entry, SessionEvent | Move):
                heard.append(told(entry, replay.now))
            if not isinstance(entry, Handover):
                continue
            for way, tally in tallies.items():
                mode, _, size = way.replace(",", "").partition(" ")
                given = await _begun(replay, entry, mode, size, heard)
                text = "\n".join(_texts(given))
                tally.note(entry, text, count(text))
                await replay.agent.forget([given.id])
    return tallies


async def _begun(replay: SessionReplay, point: Handover, mode: str, size: str, heard: Sequence[Message]) -> Delegation:
    delegate = replay.agent.delegate
    if mode == "fork":
        prefix = heard if size == "all" else heard[-_WINDOW:]
        return await delegate(point.task, "fork", model="gpt-4o", session=SESSION, messages=prefix, deadline=None)
    if mode == "brief":
        return await delegate(point.task, model="gpt-4o", session=SESSION, max_tokens=int(size), deadline=None)
    return await delegate(point.task, "isolated", model="gpt-4o", session=SESSION, deadline=None)


def _texts(given: Delegation) -> Iterable[str]:
    for message in given.messages:
        yield message.text if isinstance(message, Message) else str(message.get("content") or "")


async def delegation_report(entries: Sequence[Entry]) -> str:
    """Returns the table: share of what the other agents needed, by kind, and tokens at each point."""
    tallies = await delegated(entries)
    kinds = [kind for kind in KINDS if kind != "failures"]
    head = f"{'':16}{'all':>7}" + "".join(f"{kind:>12}" for kind in kinds) + f"{'tokens':>9}"
    lines = [f"{tallies[WAYS[0]].points} points: share of what the other agent needed, %", head]
    for way, tally in tallies.items():
        cells = "".join(f"{100 * tally.share(kind):12.1f}" for kind in kinds)
        lines.append(f"{way:16}{100 * tally.share():7.1f}{cells}{tally.tokens / tally.points:9.0f}")
    return "\n".join(lines)
