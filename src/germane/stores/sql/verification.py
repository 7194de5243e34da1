"""Verification: compares what is stored with what was derived from it, for `germane doctor`.

Each text is hashed again and compared with the hash that was stored with it; search rows are made again and compared, of a
sample or of all texts; the document of each block is opened and compared with the text that was rendered from it; archived
messages are compared with their checksums; rows without the thing that they belong to are counted. It reads page by page, so
that it holds no snapshot for long. A finding holds numbers and no content.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from germane.errors import InvalidInput, MissingExtra, NotFound, StoreCorrupt
from germane.kinds.archive.value import checksum_of
from germane.kinds.blocks.document import BlockDocument
from germane.kinds.blocks.reads import DocumentOf
from germane.kinds.blocks.value import content_hash_of, searched_text
from germane.kinds.events.value import Event, event_hash
from germane.kinds.memories.plans import hash_of
from germane.search.unit import analyse_parts, analyse_text
from germane.stores.sql.blocks.block_rows import SeenBlock, seen_blocks
from germane.stores.sql.blocks.documents import archived_by_key, document_of
from germane.stores.sql.connection import Connection
from germane.stores.sql.events.event_rows import EVENT, event_of
from germane.stores.sql.listing import VisiblePartition
from germane.stores.sql.memories.memory_rows import MEMORY, memory_of
from germane.stores.sql.statements import only, rows

# The graph: rows that refer to nothing, and counts that differ.


_THINGS = {"events": "events", "memories": "memories", "blocks": "archival_entries"}
_GONE = " OR ".join(
    f"(x.domain = '{domain}' AND NOT EXISTS (SELECT 1 FROM {table} WHERE key = x.thing))" for domain, table in _THINGS.items()
)
GRAPH_ORPHANS = {
    "names of entities": "entity_names k WHERE NOT EXISTS (SELECT 1 FROM entities WHERE key = k.entity)",
    "entities without a name": "entities n WHERE NOT EXISTS (SELECT 1 FROM entity_names WHERE entity = n.key)",
    "entities that nothing mentions": (
        "entities n WHERE stated IS NULL AND NOT EXISTS (SELECT 1 FROM mentions WHERE entity = n.key)"
    ),
    "entities with a wrong number of mentions": (
        "entities n WHERE mentions <> (SELECT count(*) FROM mentions WHERE entity = n.key)"
    ),
    "relations without their entities": (
        "relations r WHERE NOT EXISTS (SELECT 1 FROM entities WHERE key = r.source AND partition = r.partition)"
        " OR NOT EXISTS (SELECT 1 FROM entities WHERE key = r.target AND partition = r.partition)"
    ),
    "relations that nothing states": (
        "relations r WHERE stated IS NULL AND NOT EXISTS (SELECT 1 FROM relation_refs WHERE relation = r.key)"
    ),
    "mentions": f"mentions x WHERE {_GONE} OR NOT EXISTS (SELECT 1 FROM entities WHERE key = x.entity)",
    "sources of relations": f"relation_refs x WHERE {_GONE} OR NOT EXISTS (SELECT 1 FROM relations WHERE key = x.relation)",
    "sources of patterns": f"pattern_refs x WHERE {_GONE} OR NOT EXISTS (SELECT 1 FROM patterns WHERE key = x.pattern)",
    "words of patterns": "pattern_words w WHERE NOT EXISTS (SELECT 1 FROM patterns WHERE key = w.pattern)",
}
"""What `verification.py` counts: each finding with the FROM and WHERE of its query."""


# The archive: messages that aren't as they were written, and outlines that lack messages.


_AT = "NOT EXISTS (SELECT 1 FROM events e WHERE e.session = o.session AND e.position = o.{})"
HISTORY_ORPHANS = {
    "lines of outlines without their messages": f"history_outlines o WHERE {_AT.format('first')} OR {_AT.format('last')}",
    "outlines that lack messages": (
        "sessions s WHERE s.document IS NULL AND (SELECT count(*) FROM events WHERE session = s.key AND position >= 0 AND"
        " position < s.outlined) <> (SELECT total(messages) FROM history_outlines WHERE session = s.key)"
    ),
}
"""What `verification.py` counts: each finding with the FROM and WHERE of its query."""


def verify_archive(connection: Connection) -> tuple[str, str, bool]:
    """Compares the archived messages with the checksums stored with them."""
    total = changed = 0
    for messages, checksum in rows(connection, "SELECT messages, checksum FROM history_archive"):
        total += 1
        changed += not _checksum_matches(messages, checksum)
    if changed:
        return ("archive", f"{changed} of {total} entries differ from the checksum stored with them: restore a backup", False)
    return ("archive", f"{total} entries are as they were stored", True)


def _checksum_matches(messages: str, checksum: str) -> bool:
    try:
        return checksum_of(json.loads(messages)) == checksum
    except ValueError:
        return False


_PAGE = 500
_SAMPLE = 2_000
"""Texts of each kind whose search rows are made again, unless all are."""
_UNCLEAR = "\ufffd"
"""What stands in a stored text for broken characters, which the hash was made of."""
_ORPHANS = {
    "search rows of memories": "units_memories u WHERE NOT EXISTS (SELECT 1 FROM memories WHERE key = u.key)",
    "search rows of messages": "units_events u WHERE NOT EXISTS (SELECT 1 FROM events WHERE key = u.key)",
    "parts of messages": "units_parts u WHERE NOT EXISTS (SELECT 1 FROM events WHERE key = u.key)",
    "tags": "memory_tags t WHERE NOT EXISTS (SELECT 1 FROM memories WHERE key = t.memory)",
    "links": (
        "links l WHERE NOT EXISTS (SELECT 1 FROM memories WHERE key = l.one)"
        " OR NOT EXISTS (SELECT 1 FROM memories WHERE key = l.other)"
    ),
    "search rows of blocks": (
        "units_blocks u WHERE NOT EXISTS (SELECT 1 FROM blocks WHERE key = u.key)"
        " AND NOT EXISTS (SELECT 1 FROM archival_entries WHERE key = u.key)"
    ),
    "histories of blocks": "block_versions v WHERE NOT EXISTS (SELECT 1 FROM blocks WHERE key = v.block)",
    "archival blocks without a search row": (
        "blocks b WHERE b.type = 'archival' AND b.deleted_at IS NULL"
        " AND NOT EXISTS (SELECT 1 FROM units_blocks WHERE key = b.key AND kind <> 9)"
    ),
    "archival entries without a search row": (
        "archival_entries e WHERE NOT EXISTS (SELECT 1 FROM units_blocks WHERE key = e.key)"
    ),
    "derivations": (
        "derivations d WHERE NOT EXISTS (SELECT 1 FROM memories WHERE id = d.thing)"
        " AND NOT EXISTS (SELECT 1 FROM tasks WHERE id = d.thing)"
        " AND NOT EXISTS (SELECT 1 FROM derivations WHERE source = d.thing)"
    ),
    "replacements": "replacements r WHERE NOT EXISTS (SELECT 1 FROM events WHERE key = r.newer)",
    "tasks below none": (
        "tasks t WHERE t.parent IS NOT NULL AND NOT EXISTS (SELECT 1 FROM tasks p WHERE p.id = t.parent AND p.partition ="
        " t.partition)"
    ),
    "branches at no task": (
        "task_branches b WHERE b.current IS NOT NULL AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.id = b.current AND"
        " t.partition = b.partition AND t.session = b.session)"
    ),
    "stacks without a branch": (
        "task_heads h WHERE NOT EXISTS (SELECT 1 FROM task_branches b WHERE b.partition = h.partition AND b.session = h.session"
        " AND b.name = h.branch)"
    ),
    "injected items": "injected_items i WHERE NOT EXISTS (SELECT 1 FROM injections WHERE key = i.injection)",
    "memories without a search row": "memories m WHERE NOT EXISTS (SELECT 1 FROM units_memories WHERE key = m.key)",
    "messages without a search row": (
        "events e WHERE NOT EXISTS (SELECT 1 FROM units_events WHERE key = e.key)"
        " AND NOT EXISTS (SELECT 1 FROM units_parts WHERE key = e.key)"
    ),
    "telling clauses": (
        "telling_clauses t WHERE NOT EXISTS (SELECT 1 FROM events WHERE key = t.event AND partition = t.partition)"
    ),
    "marks of profiles": (
        "profile_marks p WHERE NOT EXISTS (SELECT 1 FROM memories WHERE id = p.thing)"
        " AND NOT EXISTS (SELECT 1 FROM events WHERE id = p.thing)"
    ),
    **GRAPH_ORPHANS,
    **HISTORY_ORPHANS,
    "messages without a session": "events e WHERE NOT EXISTS (SELECT 1 FROM sessions WHERE key = e.session)",
}
Finding = tuple[str, str, bool]


def verify(connection: Connection, *, full: bool, progress: Callable[[int, int], None] | None) -> list[Finding]:
    """Returns the findings. `full` makes all search rows again. `progress` is called with texts done and in all."""
    memories, events = (only(connection, f"SELECT count(*) FROM {table}")[0] for table in ("memories", "events"))
    archived = only(connection, "SELECT count(*) FROM units_blocks WHERE kind <> 9")[0]
    counted = _Counted(memories + events + archived, progress)
    for check, sql, table, total in (
        (_memory, MEMORY, "key", memories),
        (_event, EVENT, "e.key", events),
        (_archived, "SELECT key, partition FROM (SELECT * FROM units_blocks WHERE kind <> 9)", "key", archived),
    ):
        every = 1 if full else max(1, total // _SAMPLE)
        for number, row in enumerate(_rows(connection, sql, table)):
            same, terms = check(connection, row, number % every == 0)
            counted.add(same, terms)
    orphans = {name: only(connection, f"SELECT count(*) FROM {sql}")[0] for name, sql in _ORPHANS.items()}
    there = ", ".join(f"{count} {name}" for name, count in orphans.items() if count)
    blocks, archive = verify_blocks(connection), verify_archive(connection)
    return [*counted.findings(), blocks, archive, ("orphans", there or "every row belongs to something", not there)]


class _Counted:
    def __init__(self, total: int, progress: Callable[[int, int], None] | None) -> None:
        self._total, self._progress = total, progress
        self._done = self._unclear = self._changed = self._terms = self._differing = 0

    def add(self, same: bool | None, terms: bool | None) -> None:
        """Counts one text: whether its hash is the stored one, and whether its terms are; None where that can't be told, or
        wasn't looked at."""
        self._done += 1
        self._unclear += same is None
        self._changed += same is False
        self._terms += terms is not None
        self._differing += terms is False
        if self._progress is not None and (self._done % _PAGE == 0 or self._done >= self._total):
            self._progress(self._done, max(self._total, self._done))

    def findings(self) -> list[Finding]:
        said = f"{self._done - self._unclear} texts are as they were stored"
        if self._changed:
            said = f"{self._changed} of {self._done} texts differ from the checksum stored with them: restore a backup"
        if self._unclear:
            said += f"; {self._unclear} can't be compared, as they came with broken characters or secrets"
        search = f"{self._terms} of {self._done} texts compared with their search rows"
        if self._differing:
            search += f", {self._differing} differ: export and import the store to make the rows anew"
        return [("checksums", said, not self._changed), ("search rows", search, not self._differing)]


def _rows(connection: Connection, sql: str, key: str) -> Iterator[tuple[Any, ...]]:
    after = 0
    while page := list(rows(connection, f"{sql} WHERE {key} > ? ORDER BY {key} LIMIT ?", (after, _PAGE))):
        yield from page
        after = page[-1][0]


def _memory(connection: Connection, row: tuple[Any, ...], looked_up: bool) -> tuple[bool | None, bool | None]:
    memory = memory_of(row, {row[2]: None})
    same = None if _UNCLEAR in memory.text else hash_of(memory.kind, memory.content) == memory.content_hash
    if not looked_up:
        return same, None
    terms = analyse_text("\n".join((memory.text, *memory.tags))).terms
    return same, _stored(connection, "units_memories", row[0]) == [terms]


def _event(connection: Connection, row: tuple[Any, ...], looked_up: bool) -> tuple[bool | None, bool | None]:
    event = event_of(row, {row[1]: None})
    same = _unchanged(event)
    if not looked_up:
        return same, None
    terms = [one.terms for one in analyse_parts(event.text)]
    whole = _stored(connection, "units_events", row[0])
    return same, (whole or _stored(connection, "units_parts", row[0])) == terms


def _unchanged(event: Event) -> bool | None:
    """Whether the event is the one that was stored; None where that can't be told."""
    if _UNCLEAR in event.text or (event.typed and _UNCLEAR in f"{event.type}{event.outcome}"):
        return None
    noted = event.provenance.metadata
    if event_hash(event) in (event.content_hash, noted.get("kept_hash")):
        return True
    redacted_once = event.typed and "secrets" in noted and "kept_hash" not in noted  # before events kept that hash
    return None if redacted_once else False


def _archived(connection: Connection, row: tuple[Any, ...], looked_up: bool) -> tuple[bool | None, bool | None]:
    """An archival entry or block; the checksums of blocks are compared with their documents."""
    if not looked_up:
        return True, None
    key, partition = row
    found = archived_by_key(connection, (VisiblePartition(partition, None, 0),), (key,))
    return True, key not in found or _stored(connection, "units_blocks", key) == [analyse_text(searched_text(found[key])).terms]


def _stored(connection: Connection, table: str, key: int) -> list[bytes]:
    order = " ORDER BY part" if table == "units_parts" else ""
    return [terms for (terms,) in rows(connection, f"SELECT terms FROM {table} WHERE key = ?{order}", (key,))]


# Blocks: the document of each is opened, and compared with the text that was rendered from it.


_NAMED = 5
"""Damaged blocks that a finding names by their ids."""


def verify_blocks(connection: Connection) -> tuple[str, str, bool]:
    """Returns the finding about all blocks: the ids of those whose document is damaged, or isn't what is shown."""
    count, damaged, mendable = 0, list[str](), list[str]()
    try:
        for seen in _all(connection):
            count += 1
            if not _sound(connection, seen):
                (mendable if _sound(connection, seen, rebuild=True) else damaged).append(seen.block.id)
    except MissingExtra:
        return ("blocks", "their documents weren't read: the extra blocks isn't installed", True)
    if not damaged and not mendable:
        return ("blocks", f"{count} documents are what is shown of them", True)
    parts = []
    if damaged:
        parts.append(
            f"{len(damaged)} of {count} documents are damaged ({_named(damaged)}): their texts are shown as they were rendered"
            " last; restore a backup, or set each text again under a new label"
        )
    if mendable:
        parts.append(
            f"{len(mendable)} of {count} documents have a damaged snapshot ({_named(mendable)}), and nothing is lost: the next"
            " edit of each makes it anew from its changes"
        )
    return ("blocks", ". ".join(parts), False)


def _named(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
    return ", ".join(ids[:_NAMED]) + more


def _all(connection: Connection) -> Iterator[SeenBlock]:
    for key, partition in list(rows(connection, "SELECT key, partition FROM blocks ORDER BY key")):
        yield from seen_blocks(connection, (VisiblePartition(partition, None, 0),), None, "b.key = ?", (key,), shared=False)


def _sound(connection: Connection, seen: SeenBlock, *, rebuild: bool = False) -> bool:
    block, stored = seen.block, document_of(connection, seen.key, DocumentOf(seen.block.id, rebuild=rebuild))
    try:
        document = BlockDocument.load(block.schema, stored.snapshot, stored.deltas)
        same = document.frontiers() == stored.frontiers and content_hash_of(document.text()) == block.content_hash
    except (StoreCorrupt, NotFound, InvalidInput):
        return False
    return same and content_hash_of(block.text) == block.content_hash
