"""Session replay: a generated session played into a store, plain or structured, and the contexts that it gives."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from html import unescape
from types import TracebackType
from typing import Any, Literal, Self

from bench.session_entries import Entry, Move, Need, SessionEvent
from germane import Agent, Clock, Context, Germane, Message, Strategy
from germane.kinds.events.wording import wording

__all__ = ["SESSION", "Mode", "SessionReplay", "holds", "said", "told"]

SESSION = "work"
Mode = Literal["plain", "structured"]
_BEGIN = datetime(2026, 2, 2, 8, tzinfo=UTC)
_PACE = timedelta(seconds=40)
_ANNOUNCED = {
    "push": "I begin: {text}",
    "branch": "I try on a branch, {name}: {text}",
    "pop": "Done: {goal} → {text}",
    "inject": "Done on the branch {name}: {goal} → {text}",
    "fail": "Failed: {goal} → {text}",
    "block": "Blocked: {text}",
    "resume": "I go on with: {text}",
}
"""What a plain pipeline reads where the stack moves."""


def _bare(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum())


def holds(text: str, need: Need) -> bool:
    """Whether the text says what is needed: its quote, whatever signs a format has put between the letters."""
    return _bare(need.quote) in _bare(unescape(text))


def said(entry: SessionEvent | Move) -> str:
    """The entry's words, as a message would have them."""
    if isinstance(entry, Move):
        return _ANNOUNCED[entry.kind].format(text=entry.text, name=entry.name, goal=entry.goal)
    if entry.role:
        return str(entry.content)
    words = wording(entry.type, entry.content)
    return f"{words}\n[{entry.outcome}]" if entry.outcome else words


def told(entry: SessionEvent | Move, at: datetime) -> Message:
    """The entry as a message."""
    role: Literal["user", "assistant"] = "user" if isinstance(entry, SessionEvent) and entry.role == "user" else "assistant"
    return Message.of(role, said(entry), id=entry.id, created_at=at)


class SessionReplay:
    """Plays entries into a store in memory, each 40 seconds after the one before, and assembles between them."""

    def __init__(self, mode: Mode) -> None:
        self._mode, self._now, self._frames = mode, _BEGIN, dict[str, str]()
        self._waiting = list[dict[str, Any]]()
        self._clock = Clock(now=lambda: self._now)

    async def __aenter__(self) -> Self:
        archetype = "coding" if self._mode == "structured" else None
        self._germane = await Germane.open(":memory:", clock=self._clock, archetype=archetype)
        self.agent: Agent = self._germane.agent("coder", user="ida")
        return self

    @property
    def now(self) -> datetime:
        return self._now

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._germane.close()

    async def play(self, entry: Entry) -> None:
        """Records the entry; what isn't an event or a move does nothing."""
        if not isinstance(entry, SessionEvent | Move):
            return
        self._now += _PACE
        if self._mode == "plain" or (isinstance(entry, SessionEvent) and entry.role):
            await self.agent.record([told(entry, self._now)], session=SESSION)
        elif isinstance(entry, SessionEvent):
            frame = await self.agent.tasks.peek(SESSION)
            await self.agent.events.record(
                entry.type,
                entry.content,
                session=SESSION,
                outcome=entry.outcome,
                task=None if frame is None else frame.id,
                at=self._now,
                id=entry.id,
            )
        else:
            await self._move(entry)

    async def assemble(self, prompt: str, strategy: Strategy, budget: int) -> Context:
        """The context for a request that holds nothing but this prompt."""
        return await self.agent.assemble(
            [{"role": "user", "content": prompt}],
            model="gpt-4o",
            session=SESSION,
            strategy=strategy,
            max_tokens=budget,
            deadline=None,
        )

    async def _move(self, move: Move) -> None:
        tasks = self.agent.tasks
        match move.kind:
            case "push":
                self._frames[move.text] = (await tasks.push(move.text, session=SESSION)).id
            case "branch":
                await tasks.branch(move.name, move.text, session=SESSION)
            case "pop":
                await tasks.pop(move.text, session=SESSION)
            case "fail":
                await tasks.fail(move.text, session=SESSION)
            case "block":
                await tasks.block(move.text, session=SESSION)
            case "resume":
                await tasks.resume(self._frames[move.name], session=SESSION)
            case "inject":
                await tasks.pop(move.text, session=SESSION)
                await tasks.switch("main", session=SESSION)
                await tasks.inject(move.name, session=SESSION)
