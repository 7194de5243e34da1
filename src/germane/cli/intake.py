"""Intake: rows of an imported file, stored: each once, however often the file is imported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from rich.progress import Progress, TaskID

from germane.cli.codec import decode
from germane.cli.imports import Broken, Directed, Remembered, Row, Shared, Turn
from germane.cli.imports.turn import moment
from germane.errors import InvalidInput
from germane.types.candidate import Provenance

if TYPE_CHECKING:
    from germane.api.agent import Agent

__all__ = ["Tally", "take"]

_BATCH = 200
_FIELDS = ("kind", "key", "value", "title", "tags", "sensitivity", "confidence", "pinned")
_TIMES = ("observed_at", "occurred_at", "expires_at", "valid_from", "valid_to")


@dataclass(slots=True)
class Tally:
    """What became of a file's rows."""

    format: str = ""
    messages: int = 0
    skipped: int = 0
    memories: int = 0
    known: int = 0
    directives: int = 0
    system: int = 0
    broken: list[str] = field(default_factory=list)

    @property
    def empty(self) -> bool:
        """Nothing of the file could be used."""
        return not (self.messages or self.skipped or self.memories or self.known or self.directives)


async def take(handles: tuple[Agent, Agent], rows: Sequence[Row], tally: Tally, shown: Progress, task: TaskID) -> None:
    """Store the rows with the agent's handle, what is shared with the agent-wide one. Messages go in batches of one session;
    a batch that is refused is tried again row by row."""
    agent, wide = handles
    for batch in _batches(rows):
        await _record(wide if isinstance(batch[0], Shared) else agent, batch[0].session, batch, tally)
        shown.advance(task, len(batch))
    for row in rows:
        if not isinstance(row, Turn | Shared):
            await _keep(agent, row, tally)
            shown.advance(task)


async def _record(agent: Agent, session: str, turns: Sequence[Turn | Shared], tally: Tally) -> None:
    try:
        recorded = await agent.record([row.message for row in turns], session=session, source_kind="import")
    except InvalidInput as error:
        if len(turns) == 1:
            tally.broken.append(f"session {session}, message {turns[0].message.id}: {error}")
            return
        for row in turns:
            await _record(agent, session, [row], tally)
        return
    system = sum(row.message.role == "system" for row in turns)
    tally.messages += len(recorded.added)
    tally.system += system
    tally.skipped += recorded.skipped - system


async def _keep(agent: Agent, row: Row, tally: Tally) -> None:
    try:
        match row:
            case Remembered(fields):
                began = datetime.now(UTC)
                memory = await agent.remember(_said(fields), **_kept(fields))
                tally.memories += memory.created_at >= began
                tally.known += memory.created_at < began
            case Directed(text):
                await agent.directive(text)
                tally.directives += 1
            case Broken(where, why):
                tally.broken.append(f"{where}: {why}")
    except (InvalidInput, TypeError) as error:
        tally.broken.append(f"{type(row).__name__.lower()}: {error}")


def _said(fields: Mapping[str, Any]) -> str | None:
    said = [fields[name] for name in ("text", "body", "summary") if isinstance(fields.get(name), str)]
    return said[0] if said and fields.get("kind") != "fact" else None


def _kept(fields: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: fields[name] for name in _FIELDS if fields.get(name) not in (None, "")}
    kept |= {name: moment(fields[name]) for name in _TIMES if fields.get(name) is not None}
    source = fields.get("provenance")
    kept["provenance"] = decode(Provenance, source) if isinstance(source, dict) else Provenance(source_kind="import")
    return kept | ({"agent_wide": True} if "user" in fields and fields["user"] is None else {})


def _batches(rows: Sequence[Row]) -> Iterator[list[Turn | Shared]]:
    """By session, in the order of the file. Messages without ids are known by their neighbours, so that a session of such
    ones stays together."""
    sessions: dict[tuple[type[Row], str], list[Turn | Shared]] = {}
    for row in rows:
        if isinstance(row, Turn | Shared):
            sessions.setdefault((type(row), row.session), []).append(row)
    for turns in sessions.values():
        size = len(turns) if any(row.message.id is None for row in turns) else _BATCH
        for start in range(0, len(turns), size):
            yield turns[start : start + size]
