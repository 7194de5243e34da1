"""Store rows: saves the rows of an imported file, or counts them first; importing a file again adds nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from germane.cli.imports.rows import (
    DirectiveRow,
    DocumentRow,
    MemoryRow,
    Row,
    SharedMessageRow,
    imported_message,
    imported_name,
    parse_time,
)
from germane.errors import Conflict, InvalidInput
from germane.integrations.transcripts.rows import BrokenRow, MessageRow, Remark, grown
from germane.types.candidate import Provenance
from germane.types.codec import decode

if TYPE_CHECKING:
    from germane.api.agent import Agent


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
    documents: int = 0
    known_documents: int = 0
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
    left_out: Counter[str] = field(default_factory=Counter)
    taken_along: Counter[str] = field(default_factory=Counter)
    """What the file holds that isn't stored on purpose, and what was taken from beside its conversations, by kind."""

    @property
    def known(self) -> int:
        return self.known_messages + self.known_memories + self.known_documents + self.known_things

    @property
    def empty(self) -> bool:
        """True where no row of the file could be used."""
        stored = self.messages or self.memories or self.documents or self.directives
        return not (stored or self.known or self.tombstones or self.forgotten)


async def store_rows(
    rows: Iterable[Row],
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
    one. Rows that aren't a list are stored as they come, none is kept. `advance` is called with the number of rows done."""
    named = (_named(row, tally.secrets) for row in rows)
    if isinstance(rows, Sequence):
        given = list(named)
        messages = [row for row in given if isinstance(row, MessageRow | SharedMessageRow)]
        others = [row for row in given if not isinstance(row, MessageRow | SharedMessageRow)]
        parts: Iterable[list[Row]] = chain(_batches(messages), ([row] for row in others))
    else:
        parts = _runs(named)
    for part in parts:
        first = part[0]
        if isinstance(first, MessageRow | SharedMessageRow):
            into = agent_wide if isinstance(first, SharedMessageRow) else agent
            await _store_messages(into, [row for row in part if isinstance(row, MessageRow | SharedMessageRow)], tally)
        else:
            await _store_other(agent, of_user, first, tally)
        advance(len(part))


async def _store_messages(agent: Agent, batch: Sequence[MessageRow | SharedMessageRow], tally: ImportTally) -> None:
    session = batch[0].session
    try:
        given = [row.message if row.raw is None else row.raw for row in batch]
        recorded = await agent.record(given, session=session, source_kind="import")
    except InvalidInput as error:
        if len(batch) == 1:
            if isinstance(error, Conflict) and (longer := grown(MessageRow(*batch[0]))) is not None:
                await _store_messages(agent, [longer], tally)
                return
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
            case DocumentRow(source, title, text):
                ingested = await agent.documents.ingest(text=text, source=source, title=title)
                tally.secrets.update(ingested.secrets)
                tally.documents += ingested.outcome != "unchanged"
                tally.known_documents += ingested.outcome == "unchanged"
            case Remark(what, number, left_out):
                (tally.left_out if left_out else tally.taken_along)[what] += number
            case BrokenRow(where, why):
                tally.broken.append(f"{where}: {why}")
    except (InvalidInput, TypeError) as error:
        kind = {MemoryRow: "memory", DocumentRow: "document"}.get(type(row), "directive")
        tally.broken.append(f"{kind}: {error}")


def _named(row: Row, found: Counter[str]) -> Row:
    """The row with names that hold no secrets; those that are replaced are counted in `found`."""
    match row:
        case MessageRow() | SharedMessageRow():
            message = imported_message(row.message, found)
            raw = row.raw if message is row.message else None
            return row._replace(session=imported_name(row.session, found), message=message, raw=raw)
        case DocumentRow():
            return row._replace(source=imported_name(row.source, found), title=imported_name(row.title, found))
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


def _runs(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Messages of one session that follow one another, at most a batch of them, and other rows one by one, in their order."""
    run = list[Row]()
    for row in rows:
        if run and (len(run) == _BATCH or _session(row) is None or _session(row) != _session(run[0])):
            yield run
            run = []
        run.append(row)
    if run:
        yield run


def _session(row: Row) -> tuple[type[Row], str] | None:
    return (type(row), row.session) if isinstance(row, MessageRow | SharedMessageRow) else None


def _batches(rows: Sequence[Row]) -> Iterator[list[Row]]:
    """Messages by session, in the order of the file. A session that has messages without ids is one batch: such a message is
    recognised by its neighbours."""
    sessions: dict[tuple[type[Row], str], list[MessageRow | SharedMessageRow]] = {}
    for row in rows:
        if isinstance(row, MessageRow | SharedMessageRow):
            sessions.setdefault((type(row), row.session), []).append(row)
    for messages in sessions.values():
        size = len(messages) if any(row.message.id is None for row in messages) else _BATCH
        for start in range(0, len(messages), size):
            yield [*messages[start : start + size]]


# What an import would read, without storing anything, and which files it comes from.


_MAX_FILES = 12


class Preview(NamedTuple):
    """What would be stored, in how many sessions, and the files that memories come from with their numbers."""

    tally: ImportTally
    sessions: int
    files: Mapping[str, int]

    def lines(self) -> list[str]:
        """The files, the largest first, at most a dozen."""
        shown = sorted(self.files.items(), key=lambda one: (-one[1], one[0]))
        lines = [f"{name}: {count} {'section' if count == 1 else 'sections'}" for name, count in shown[:_MAX_FILES]]
        return [*lines, f"… and {len(shown) - _MAX_FILES} more files"] if len(shown) > _MAX_FILES else lines


def preview(format: str, rows: Iterable[Row]) -> Preview:
    """Counts the rows. Linear."""
    tally, sessions, files = ImportTally(format=format), set[str](), Counter[str]()
    for row in rows:
        match row:
            case MessageRow(session, message) | SharedMessageRow(session, message):
                sessions.add(session)
                tally.system += message.role == "system"
                tally.messages += message.role != "system"
            case MemoryRow(fields):
                tally.memories += 1
                origin = fields.get("provenance")
                refs = origin.get("refs") if isinstance(origin, Mapping) and origin.get("channel") == "markdown" else None
                files.update(str(ref) for ref in refs or ())
            case DocumentRow():
                tally.documents += 1
            case DirectiveRow():
                tally.directives += 1
            case Remark(what, number, left_out):
                (tally.left_out if left_out else tally.taken_along)[what] += number
            case BrokenRow(where, why):
                tally.broken.append(f"{where}: {why}")
    return Preview(tally, len(sessions), files)
