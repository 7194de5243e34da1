"""Answers: what the local service answers to the events of coding agents, and what it records of them.

With a prompt goes what is known for it, at most 1,500 tokens, and nothing where nothing is needed. After the client has made
its conversation shorter, the user's constraints and the ledger of the work come back. At the start there is a brief. The texts
are written by the engine, as those of assemblies are: as data, which no stored text can leave.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from germane.api.agent import Agent
from germane.api.arguments import read_message
from germane.api.germane import Germane
from germane.api.strategies import DEFAULT
from germane.compaction.exchanges import divide
from germane.compaction.reading.exchange import read_exchange
from germane.compaction.summary_text import extractive_summary
from germane.errors import GermaneError, InvalidInput
from germane.integrations.transcripts.transcript import project_session
from germane.kinds.events.value import Event
from germane.service.hooks.events import MAX_CHARACTERS, HookEvent, Moment
from germane.service.hooks.following import FollowedTranscripts, forget_old_positions, own_transcript
from germane.service.hooks.projects import PERSON, Project, project_of
from germane.text.private import without_private, without_private_in
from germane.types.caches import LruCache
from germane.types.message import Message, Text
from germane.types.query import Filters

DEADLINES: Mapping[Moment, float] = MappingProxyType(
    {"prompt": 0.15, "start": 0.6, "step": 0.1, "turn": 0.1, "compacting": 0.1, "other": 0.1}
)
"""Seconds after which the answer to an event adds nothing."""
_RECALL_SECONDS = 0.05
"""For the search and the writing of what goes with a prompt."""
_BRIEF_SECONDS = 0.4
_TOKENS = (1_500, 900, 500, 250)
"""Tokens that are tried one after the other, until a text has no more characters than a client takes."""
_NOTED_TOKENS, _BRIEF_TOKENS = 1_100, 400
"""Tokens of constraints and ledger: after a compaction, and at the start."""
_PAGE, _MAX_MESSAGES, _MAX_BRIEF_MESSAGES = 500, 10_000, 200
"""Messages of a session that are read at once, and the newest that constraints and ledger are made of."""
_BYTES_PER_TOKEN = 3
_MAX_SESSIONS, _MAX_KNOWN = 1_000, 2_000
"""Sessions that are remembered, and the ids of each that the client's window holds already."""
_MAX_PROMPT = 100_000
"""Characters of a prompt that are searched with."""
_MAX_RECORDING = 64

_STANDING = frozenset({"profile", "continuity", "directive"})
WITH_PROMPT = replace(
    DEFAULT, name="hooks", profile=0, sources=tuple(one for one in DEFAULT.sources if one.name not in _STANDING)
)
"""Of what `default` finds, what a prompt asks for: the profile stands in the brief, and the client has the conversation."""
_AT_START = "open tasks, decisions, constraints and preferences in {}"
_AFTER = "constraints, decisions and open tasks of this session in {}"


@dataclass(slots=True)
class _Session:
    """One session of a client. `known` are ids of what its window holds: what was recorded of it, and what it was given."""

    agent: Agent
    project: Project
    name: str
    known: dict[str, None] = field(default_factory=dict)
    notes: asyncio.Task[str] | None = None

    def note(self, ids: Iterable[str]) -> None:
        self.known.update(dict.fromkeys(ids))
        while len(self.known) > _MAX_KNOWN:
            del self.known[next(iter(self.known))]


class HookAnswers:
    """Answers on the engine's loop. `folder` is the service's own."""

    def __init__(self, germane: Germane, folder: Path) -> None:
        positions = folder / "transcripts"
        self._germane, self._folder = germane, folder
        self._sessions: LruCache[tuple[str, str], _Session] = LruCache(_MAX_SESSIONS)
        self._by_name: LruCache[tuple[str, str], _Session] = LruCache(_MAX_SESSIONS)
        self._followed = FollowedTranscripts(positions, self._noted)
        self._recording = set[asyncio.Task[None]]()
        forget_old_positions(positions)

    @property
    def busy(self) -> bool:
        """Whether anything is still being recorded."""
        return bool(self._recording) or self._followed.busy

    async def close(self) -> None:
        """Ends what is being recorded from transcripts; it is read again after the next event."""
        await self._followed.close()
        if self._recording:
            await asyncio.wait(self._recording)

    async def answer(self, event: HookEvent) -> dict[str, Any]:
        """Returns the answer to an event. Raises what the engine raises."""
        if event.moment == "other":
            return event.answer()
        session = await self._session(event)
        match event.moment:
            case "prompt":
                return event.answer(await self._recall(session, event))
            case "start":
                return event.answer(await self._begin(session, event))
            case "compacting":
                session.notes = asyncio.create_task(self._notes_now(session, event))
            case _:
                self._follow(session, event)
        return event.answer()

    async def _session(self, event: HookEvent) -> _Session:
        """The session keeps the project that it began in, wherever the client goes later."""
        key = (event.client.name, event.session)
        if (known := self._sessions.get(key)) is not None:
            return known
        project = await asyncio.to_thread(project_of, event.folder)
        agent = self._germane.agent(project.agent, user=PERSON)
        made = _Session(agent, project, project_session(str(project.root), event.session))
        if event.moment != "start" or event.source == "resume":
            page = await agent.messages(made.name, limit=_PAGE, whole=False)
            made.note(one.id for one in reversed(page.messages))
        if (known := self._sessions.get(key)) is not None:  # another event of the session came meanwhile
            return known
        self._sessions.put(key, made)
        self._by_name.put((project.agent, made.name), made)
        return made

    def _noted(self, agent: str, name: str, ids: Sequence[str]) -> None:
        if (session := self._by_name.get((agent, name))) is not None:
            session.note(ids)

    # With a prompt.

    async def _recall(self, session: _Session, event: HookEvent) -> str:
        asked = without_private(event.prompt)[:_MAX_PROMPT].strip()
        if not asked:
            return ""
        return await self._written(session, event, asked, strategy=WITH_PROMPT, seconds=_RECALL_SECONDS)

    async def _written(
        self, session: _Session, event: HookEvent, asked: str, *, strategy: Any, seconds: float, beside: str = ""
    ) -> str:
        """The text of a context, within the characters that a client takes."""
        for tokens in _TOKENS:
            built = await session.agent.build(
                asked,
                session=session.name,
                max_tokens=tokens,
                strategy=strategy,
                additional_context=beside or None,
                filters=Filters(exclude=frozenset(session.known)),
                model=event.client.model,
                deadline=seconds,
            )
            if len(built.content) <= MAX_CHARACTERS:
                session.note(item.id.partition("@")[0] for item in built.items)
                return built.content
        return ""

    # At the start, and after the client's own compaction.

    async def _begin(self, session: _Session, event: HookEvent) -> str:
        asked, beside = _AT_START, ""
        if event.source in ("compact", "clear"):
            session.known.clear()
        if event.source == "compact":
            asked, beside = _AFTER, await self._kept_notes(session, event)
        else:
            beside = await self._last_notes(session)
        directive = await session.agent.directive()
        asked = asked.format(session.project.name)
        known = await self._written(session, event, asked, strategy=DEFAULT, seconds=_BRIEF_SECONDS, beside=beside)
        whole = "\n\n".join(part for part in (directive, known) if part)
        return whole if len(whole) <= MAX_CHARACTERS else known

    async def _notes_now(self, session: _Session, event: HookEvent) -> str:
        """Records what the client is about to take out of its window, and returns the constraints and the ledger of it; empty
        where the store can't say."""
        await self._follow(session, event)
        try:
            return await _notes_of(session.agent, session.name, _MAX_MESSAGES, _NOTED_TOKENS)
        except GermaneError:
            return ""

    async def _kept_notes(self, session: _Session, event: HookEvent) -> str:
        if session.notes is None:
            session.notes = asyncio.create_task(self._notes_now(session, event))
        notes = await asyncio.shield(session.notes)
        session.notes = None
        return notes

    async def _last_notes(self, session: _Session) -> str:
        """The constraints and the ledger of the project's latest session other than this one."""
        found = await session.agent.sessions(limit=2)
        last = next((one for one in found.sessions if one.id != session.name), None)
        return "" if last is None else await _notes_of(session.agent, last.id, _MAX_BRIEF_MESSAGES, _BRIEF_TOKENS)

    # What is recorded.

    async def _nothing(self) -> None:
        """Nothing is recorded."""

    def _follow(self, session: _Session, event: HookEvent) -> asyncio.Future[None]:
        """Has what is new recorded; returns what is done when it is."""
        if event.said and len(self._recording) < _MAX_RECORDING:
            task = asyncio.create_task(self._record(session, event.said))
            self._recording.add(task)
            task.add_done_callback(self._recording.discard)
            return task
        path = own_transcript(event.transcript, *event.client.folders(os.environ, Path.home(), self._folder))
        if path is None:
            return asyncio.ensure_future(self._nothing())
        whole, again = event.moment != "step", event.moment == "turn"
        return asyncio.ensure_future(
            self._followed.follow(path, event.client.format, session.agent, session.name, whole=whole, again=again)
        )

    async def _record(self, session: _Session, said: Sequence[Mapping[str, Any]]) -> None:
        kept = [one for one in map(without_private_in, said) if one["content"].strip()]
        try:
            recorded = await session.agent.record(kept, session=session.name)
        except GermaneError:
            return
        session.note((*recorded.added, *recorded.extracted))


async def _notes_of(agent: Agent, name: str, limit: int, tokens: int) -> str:
    """The constraints and the ledger of a session's newest messages, as a text; empty for none."""
    events, cursor = list[Event](), None
    while len(events) < limit:
        page = await agent.messages(name, limit=min(_PAGE, limit - len(events)), cursor=cursor, whole=False)
        events += page.messages
        cursor = page.cursor
        if cursor is None:
            break
    return await asyncio.to_thread(notes_text, events[::-1], tokens)


def notes_text(events: Sequence[Event], tokens: int) -> str:
    """Returns what these messages, the oldest first, leave behind: constraints, then files, errors, decisions and tasks."""
    messages = [_message(event) for event in events]
    _, exchanges = divide(messages)
    notes = [read_exchange(messages[one.start : one.end]) for one in exchanges]
    return extractive_summary(notes, tokens, lambda text: len(text.encode()) // _BYTES_PER_TOKEN + 1)


def _message(event: Event) -> Message:
    """The message as it was sent, where that can be read; else its text alone."""
    raw = event.raw
    if raw:
        provider = "openai-responses" if "type" in raw else "anthropic"
        try:
            return read_message(raw, provider)
        except InvalidInput:
            pass
    role = event.role if event.role in ("user", "assistant", "tool") else "assistant"
    return Message(role=role, parts=(Text(event.text),))  # type: ignore[arg-type]
