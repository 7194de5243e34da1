"""Store rows: saves the rows of an imported file; importing a file again adds nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from germane.cli.codec import decode
from germane.cli.imports.message_fields import parse_time
from germane.cli.imports.rows import BrokenRow, DirectiveRow, MemoryRow, MessageRow, Row, SharedMessageRow
from germane.errors import InvalidInput
from germane.transfer.imported import imported_message, imported_name
from germane.types.candidate import Provenance

if TYPE_CHECKING:
    from germane.api.agent import Agent

__all__ = ["ImportTally", "store_rows"]

_BATCH = 200
_FIELDS = ("kind", "key", "value", "title", "tags", "sensitivity", "confidence", "pinned")
_NAMES = ("session", "message_id", "tool_call_id")
"""What of a memory's provenance names something."""
_TIMES = ("observed_at", "occurred_at", "expires_at", "valid_from", "valid_to")


@dataclass(slots=True)
class ImportTally:
    """How many rows of a file were stored, were stored before (`known_…`), or couldn't be used (`broken`: the reasons).
    `contradictions`, `tombstones` and what is `forgotten` here come with exports only."""

    format: str = ""
    messages: int = 0
    known_messages: int = 0
    memories: int = 0
    known_memories: int = 0
    known_things: int = 0
    """Things of an export, of any kind."""
    directives: int = 0
    contradictions: int = 0
    graph: int = 0
    """Entities, relations and patterns."""
    tombstones: int = 0
    forgotten: int = 0
    system: int = 0
    """System messages, which aren't stored: they are instructions, not conversation."""
    broken: list[str] = field(default_factory=list)
    secrets: Counter[str] = field(default_factory=Counter)
    """The secrets that were found in what was stored, by kind."""

    @property
    def known(self) -> int:
        return self.known_messages + self.known_memories + self.known_things

    @property
    def empty(self) -> bool:
        """True where no row of the file could be used."""
        return not (self.messages or self.memories or self.known or self.directives or self.tombstones or self.forgotten)


async def store_rows(
    rows: Sequence[Row],
    agent: Agent,
    agent_wide: Agent,
    of_user: Callable[[str], Agent],
    tally: ImportTally,
    advance: Callable[[int], object],
) -> None:
    """Store the rows and count them in `tally`; shared messages go to `agent_wide`, memories that name a user to `of_user` of
    that user, all other rows to `agent`.

    A name that holds a secret, of a conversation, a message or a call, gives way to one that is made of it; a memory of a user
    with such a name is skipped. Messages are stored in batches of one session; the rows of a rejected batch are stored one by
    one. `advance` is called with the number of rows done."""
    rows = [_named(row, tally.secrets) for row in rows]
    for batch in _batches(rows):
        await _store_messages(agent_wide if isinstance(batch[0], SharedMessageRow) else agent, batch, tally)
        advance(len(batch))
    for row in rows:
        if not isinstance(row, MessageRow | SharedMessageRow):
            await _store_other(agent, of_user, row, tally)
            advance(1)


async def _store_messages(agent: Agent, batch: Sequence[MessageRow | SharedMessageRow], tally: ImportTally) -> None:
    session = batch[0].session
    try:
        recorded = await agent.record([row.message for row in batch], session=session, source_kind="import")
    except InvalidInput as error:
        if len(batch) == 1:
            tally.broken.append(f"session {session}, message {batch[0].message.id}: {error}")
            return
        for row in batch:
            await _store_messages(agent, [row], tally)
        return
    system = sum(row.message.role == "system" for row in batch)
    tally.messages += len(recorded.added)
    tally.secrets.update(recorded.secrets)
    tally.system += system
    tally.known_messages += recorded.skipped - system


async def _store_other(agent: Agent, of_user: Callable[[str], Agent], row: Row, tally: ImportTally) -> None:
    try:
        match row:
            case MemoryRow(fields, user):
                started = datetime.now(UTC)
                owner = agent if user is None else of_user(user)
                memory = await owner.remember(_text(fields), **_arguments(fields))
                tally.secrets.update(memory.secrets)
                tally.memories += memory.created_at >= started
                tally.known_memories += memory.created_at < started
            case DirectiveRow(text):
                await agent.directive(text)
                tally.directives += 1
            case BrokenRow(where, why):
                tally.broken.append(f"{where}: {why}")
    except (InvalidInput, TypeError) as error:
        tally.broken.append(f"{'memory' if isinstance(row, MemoryRow) else 'directive'}: {error}")


def _named(row: Row, found: Counter[str]) -> Row:
    """The row with names that hold no secrets; those that are replaced are counted in `found`."""
    match row:
        case MessageRow() | SharedMessageRow():
            return row._replace(session=imported_name(row.session, found), message=imported_message(row.message, found))
        case MemoryRow(user=str(user)) if imported_name(user, Counter()) != user:
            return BrokenRow("memory", "the user's name holds a secret: choose another name")
        case MemoryRow(fields={"provenance": dict() as source}):
            names = {name: imported_name(source[name], found) for name in _NAMES if isinstance(source.get(name), str)}
            return row._replace(fields={**row.fields, "provenance": source | names})
    return row


def _text(fields: Mapping[str, Any]) -> str | None:
    texts = [fields[name] for name in ("text", "body", "summary") if isinstance(fields.get(name), str)]
    return texts[0] if texts and fields.get("kind") != "fact" else None


def _arguments(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `Agent.remember`, without the text."""
    arguments = {name: fields[name] for name in _FIELDS if fields.get(name) not in (None, "")}
    arguments |= {name: parse_time(fields[name]) for name in _TIMES if fields.get(name) is not None}
    source = fields.get("provenance")
    arguments["provenance"] = decode(Provenance, source) if isinstance(source, dict) else Provenance(source_kind="import")
    return arguments | ({"agent_wide": True} if "user" in fields and fields["user"] is None else {})


def _batches(rows: Sequence[Row]) -> Iterator[list[MessageRow | SharedMessageRow]]:
    """Messages by session, in the order of the file. A session that has messages without ids is one batch: such a message is
    recognised by its neighbours."""
    sessions: dict[tuple[type[Row], str], list[MessageRow | SharedMessageRow]] = {}
    for row in rows:
        if isinstance(row, MessageRow | SharedMessageRow):
            sessions.setdefault((type(row), row.session), []).append(row)
    for messages in sessions.values():
        size = len(messages) if any(row.message.id is None for row in messages) else _BATCH
        for start in range(0, len(messages), size):
            yield messages[start : start + size]
