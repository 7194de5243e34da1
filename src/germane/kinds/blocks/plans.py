"""Block plans: make a block, edit its content, undo and redo an edit, and keep an archival entry.

An edit makes all of its mutations, or none. The plan runs in the store's transaction, so the mutations are applied to
the newest state, whoever wrote it. An edit can give two preconditions. `if_hash` refuses the edit if the content isn't
what the caller has read. `base` is the version that the caller has read, and keeps what was changed since: a text that
is set is merged, a mutation that doesn't depend on positions is applied as it is, and one that does is refused.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from typing import Any

from germane.errors import Conflict, InvalidInput, Stale
from germane.kinds.blocks.access import Editor, check_permission, digest_of, find_block, refuse_stale
from germane.kinds.blocks.cache import DocumentCache
from germane.kinds.blocks.document import BlockDocument
from germane.kinds.blocks.mutation import (
    OPERATIONS,
    AppendEntry,
    AppendText,
    AppendToField,
    Increment,
    InsertLines,
    Mutation,
    PushItem,
    ReplaceText,
    SetField,
    SetText,
    as_dict,
    parse_mutation,
)
from germane.kinds.blocks.permission import ConsentRequest, Permission
from germane.kinds.blocks.reads import BlocksNamed, PutBlock, PutEntry, PutVersion, TakeBack, VersionsOf
from germane.kinds.blocks.revision import (
    Edited,
    OpenDocument,
    document_changes,
    open_document,
    peer_of,
    refuse_long,
    version_changes,
)
from germane.kinds.blocks.schema import LogSchema, Schema, TextSchema
from germane.kinds.blocks.value import (
    ArchivalEntry,
    Block,
    BlockType,
    KeptVersion,
    Version,
    content_hash_of,
    redoable,
    undoable,
)
from germane.text.secrets.detection import SecretPolicy, SecretScreen, refuse_in_name, refuse_joined
from germane.types.checks import check_text, check_type
from germane.types.limits import MEMORY_TEXT
from germane.types.nested_data import bounded
from germane.types.plan import Change, Decision, Plan, Read, read, uuid7


@dataclass(frozen=True, slots=True, kw_only=True)
class NewBlock:
    """What a block is made of; `value` is its first content as plain JSON of its schema, a string for plain text."""

    label: str
    description: str = ""
    type: BlockType
    schema: Schema
    permission: Permission
    limit: int
    pinned: bool
    value: Any = None


def create_block(new: NewBlock, editor: Editor, *, cache: DocumentCache, secrets: SecretPolicy = "redact") -> Plan[Edited]:
    """Makes a block of the scope's own user; the outcome is the block. Raises `Conflict` where the label is taken, and
    `InvalidInput` for a content that doesn't fit the schema or the limit."""
    taken = yield from read(BlocksNamed(new.label))
    if any(one.label == new.label and one.shared_from is None and one.user == editor.scope.user for one in taken):
        raise Conflict("a block has the label {} already", new.label, advice="edit it, or choose another label")
    bounded("value", new.value)
    refuse_in_name(secrets, "the label", new.label)
    screen = SecretScreen(secrets, "the block")
    id = uuid7(int(editor.at.timestamp() * 1000))
    document = BlockDocument.new(new.schema, screen.json(new.value, new.label), peer=peer_of(id))
    text = document.text()
    refuse_long(new.label, text, new.limit)
    block = Block(
        id=id,
        label=new.label,
        description=screen.text(new.description),
        type=new.type,
        schema=new.schema,
        permission=new.permission,
        granted=new.permission,
        limit=new.limit,
        pinned=new.pinned,
        user=editor.scope.user,
        agent=editor.scope.agent,
        text=text,
        content_hash=content_hash_of(text),
        created_at=editor.at,
        updated_at=editor.at,
        secrets=dict(screen.found),
    )
    delta = document.delta(BlockDocument.load(new.schema, None).frontiers())
    version = Version(
        number=0,
        kind="create",
        at=editor.at,
        by=editor.name,
        operation="create",
        reason=editor.reason,
        characters=len(text),
        content_hash=block.content_hash,
    )
    entry = KeptVersion(version=version, frontiers=document.frontiers(), size=len(delta))
    changes = (PutBlock(block), PutVersion(id=block.id, entry=entry, delta=delta))
    return Decision(changes, Edited(block=block, version=version, document=document, size=len(delta)))


def fitting_schema(type: BlockType, schema: Schema | None) -> Schema:
    """Returns the schema of a block of this type: by default a log for a log, else plain text. Raises `InvalidInput` for a log
    that would be something else."""
    if schema is None:
        return LogSchema() if type == "log" else TextSchema()
    if type == "log" and not isinstance(schema, LogSchema):
        raise InvalidInput(f"of a block of type log can't be {schema.kind}", path="schema")
    return schema


# Edits of the content.


MAX_MUTATIONS = 1_000
"""Mutations of one edit."""
_MAX_GIVEN = 400_000
"""Characters and values of all mutations of one edit together: four times what a block may hold."""
_MAX_READ = 20_000_000
"""Characters that the mutations of one edit look through, each the whole text that it is applied to."""
_ANYWHERE = AppendText | AppendEntry | AppendToField | Increment | PushItem | ReplaceText | SetField
"""Mutations that mean the same wherever other things have moved."""
_MAX_WORDING = 200
"""Characters of an operation in words."""


def edit_block(
    name: object,
    mutations: Sequence[Mutation],
    editor: Editor,
    *,
    cache: DocumentCache,
    base: int | None = None,
    if_hash: str | None = None,
    secrets: Mapping[str, int] | None = None,
    policy: SecretPolicy = "redact",
) -> Plan[Edited | ConsentRequest]:
    """Applies the mutations to the block that a label or an id stands for. The outcome is the edited block, or the request
    where somebody has to agree first. `secrets` are those that the mutations were screened for by `policy`. Raises `NotFound`,
    `NotPermitted`, `Stale` where a precondition doesn't hold, and `InvalidInput` where a mutation doesn't fit or the block
    gets too long; then nothing is written."""
    block = yield from find_block(name, editor.scope)
    _refuse_reading(block, mutations)
    operation = words_of(mutations)
    digest = digest_of(block.id, [as_dict(mutation) for mutation in mutations])
    refuse_stale(block, if_hash)
    needs = [mutation.needs for mutation in mutations]
    changes, request = yield from check_permission(block, operation, needs, digest, editor)
    if request is not None:
        return Decision(changes, request)
    open = yield from open_document(block, cache)
    state = None
    if base is not None:
        versions = yield from read(VersionsOf(block.id))
        state = next((kept.frontiers for kept in versions if kept.version.number == base), None)
        if state is None or any(kept.version.kind == "schema" and kept.version.number > base for kept in versions):
            raise Stale(
                f"version {base} of block {{}} isn't kept any more", block.label, advice="read the block and decide again"
            )
    if state is None or state == open.before:
        open.document.apply(
            *mutations,
            at=editor.at,
            by=editor.name,
            system=editor.system and block.shared_from is None,
            accept=lambda text: refuse_long(block.label, text, block.limit),
        )
    else:
        _rebased(block, open, mutations, state, editor)
    more, edited = document_changes(block, open, editor, kind="edit", operation=operation)
    refuse_joined(policy, f"block {block.label!r}", block.text, edited.block.text)
    return Decision((*changes, *more), replace(edited, block=replace(edited.block, secrets=dict(secrets or {}))))


def screened_mutations(
    mutations: Sequence[object], policy: SecretPolicy, label: str = ""
) -> tuple[tuple[Mutation, ...], dict[str, int]]:
    """Returns checked mutations, with the policy on secrets applied to each of their texts, and the secrets found by kind.
    Raises `InvalidInput`."""
    if not mutations:
        raise InvalidInput("is empty", path="mutations", advice="give at least one mutation")
    if len(mutations) > MAX_MUTATIONS:
        raise InvalidInput(
            f"has {len(mutations):,} entries, {MAX_MUTATIONS:,} are allowed", path="mutations", advice="make several edits"
        )
    paths = [f"mutations[{index}]" for index in range(len(mutations))]
    parsed = tuple(
        parse_mutation(one if isinstance(one, dict) else _plain(one), path) for one, path in zip(mutations, paths, strict=True)
    )
    given = sum(map(sum, (bounded(path, as_dict(one)) for one, path in zip(parsed, paths, strict=True))))
    if given > _MAX_GIVEN:
        raise InvalidInput(
            f"has {given:,} characters and values, {_MAX_GIVEN:,} are allowed in one edit",
            path="mutations",
            advice="make several edits",
        )
    screen = SecretScreen(policy, "the block")
    screened = []
    for one, path in zip(parsed, paths, strict=True):
        plain = as_dict(one)
        text = {key: screen.json(value, label) for key, value in plain.items() if key in ("text", "old", "new")}
        field = str(plain.get("field", label))
        if "value" in plain:
            text["value"] = screen.json(plain["value"], field)
        screened.append(parse_mutation(plain | text, path))
    return tuple(screened), dict(screen.found)


def words_of(mutations: Sequence[Mutation]) -> str:
    """Returns what is done in words, without content: the names of the operations, in order."""
    words = ", ".join(dict.fromkeys(mutation.op for mutation in mutations))
    return words if len(words) <= _MAX_WORDING else f"{words[: _MAX_WORDING - 1]}…"


def _refuse_reading(block: Block, mutations: Sequence[Mutation]) -> None:
    """Raises `InvalidInput` where many mutations would each look through a long text: nobody else can write meanwhile."""
    looking = sum(isinstance(one, ReplaceText | InsertLines) for one in mutations)
    if looking * len(block.text) > _MAX_READ:
        most = _MAX_READ // len(block.text)
        raise InvalidInput(
            f"has {looking:,} replace_text and insert_lines on {len(block.text):,} characters, {most:,} are allowed",
            path="mutations",
            advice="make several edits, or set the whole text",
        )


def _plain(mutation: object) -> object:
    return as_dict(mutation) if isinstance(mutation, Mutation) else mutation


def _rebased(block: Block, open: OpenDocument, mutations: Sequence[Mutation], base: bytes, editor: Editor) -> None:
    """Applies mutations that were decided on an earlier version."""
    sections = set[str | None]()
    for mutation in mutations:
        if not isinstance(mutation, SetText | _ANYWHERE):
            raise Stale(
                f"block {{}} was changed since, so that {mutation.op} could hit another place",
                block.label,
                advice="read it again",
            )
        if isinstance(mutation, SetText):
            if mutation.section in sections:
                raise InvalidInput(
                    "with base may set a text once", path="mutations", advice="leave out what the last set_text replaces"
                )
            sections.add(mutation.section)
    system = editor.system and block.shared_from is None
    past = open.document.at(base) if sections else None
    done = 0
    for sets, group in groupby(mutations, lambda one: isinstance(one, SetText)):
        run, first = tuple(group), done
        done += len(run)
        if not sets or past is None:
            open.document.apply(*run, at=editor.at, by=editor.name, system=system, first=first)
            continue
        for one in run:
            assert isinstance(one, SetText)
            open.document.rewrite(one.text, past, section=one.section, system=system)


# Undo and redo; both work after a restart. Only what the edit itself changed is taken back: what others changed since
# stays.


def undo_edit(name: object, editor: Editor, *, cache: DocumentCache) -> Plan[Edited | ConsentRequest]:
    """Takes back the latest edit that isn't undone; the outcome is the block. Raises `NotFound`, `NotPermitted`, and
    `InvalidInput` where no edit is left that can be undone."""
    return _moved(name, editor, cache, undoing=True)


def redo_edit(name: object, editor: Editor, *, cache: DocumentCache) -> Plan[Edited | ConsentRequest]:
    """Makes the edit again that was undone last; the outcome is the block. Raises what `undo_edit` raises."""
    return _moved(name, editor, cache, undoing=False)


def _moved(name: object, editor: Editor, cache: DocumentCache, *, undoing: bool) -> Plan[Edited | ConsentRequest]:
    word = "undo" if undoing else "redo"
    block = yield from find_block(name, editor.scope)
    changes, request = yield from check_permission(
        block, word, [OPERATIONS[word]], digest_of(block.id, [{"op": word, "version": block.version}]), editor
    )
    if request is not None:
        return Decision(changes, request)
    versions = yield from read(VersionsOf(block.id))
    chosen = undoable(versions) if undoing else redoable(versions)
    if chosen is None:
        raise InvalidInput(f"block {{}} has nothing to {word}{'' if undoing else ': nothing was undone last'}", block.label)
    number = chosen.version.number
    last = number if chosen.span is None else chosen.span
    more, edited = yield from _taken_back(
        block, editor, cache, versions, last if undoing else chosen.undone_by or 0, word, number
    )
    new = edited.block.version
    marked = (
        TakeBack(id=block.id, number=number, by=new) if undoing else TakeBack(id=block.id, number=number, by=None, span=new)
    )
    return Decision((*changes, *more, marked), edited)


def _taken_back(
    block: Block, editor: Editor, cache: DocumentCache, versions: tuple[KeptVersion, ...], made_by: int, word: Any, target: int
) -> Generator[Read[Any], Any, tuple[tuple[Change, ...], Edited]]:
    """Applies the inverse of what version `made_by` changed."""
    states = {kept.version.number: kept.frontiers for kept in versions}
    open = yield from open_document(block, cache)
    open.document.inverse(states[made_by - 1], states[made_by], system=editor.system and block.shared_from is None)
    more, edited = document_changes(block, open, editor, kind=word, operation=word, target=target)
    if edited.version is not None:
        return more, edited
    return version_changes(
        block, editor, open.before, kind=word, operation=word, target=target
    )  # everything of it was changed since


# Archival entries: an entry is never changed; deleting it forgets it for good (BLK-7).


def new_entry(
    text: object, metadata: object = None, *, user: str | None, at: datetime, secrets: SecretPolicy = "redact"
) -> ArchivalEntry:
    """Returns an entry, with the policy on secrets applied to its text and its metadata. Raises `InvalidInput`."""
    words = check_text("text", text, MEMORY_TEXT)
    if not words.strip():
        raise InvalidInput("is blank", path="text", advice="give what is to be kept")
    given: Any = {} if metadata is None else metadata
    check_type("metadata", given, Mapping, "an object with named values")
    bounded("metadata", given)
    try:
        given = json.loads(json.dumps(dict(given), allow_nan=False))
    except (TypeError, ValueError):
        raise InvalidInput(
            "must be JSON: strings, finite numbers, true, false, null, lists and objects", path="metadata"
        ) from None
    screen = SecretScreen(secrets, "the entry")
    kept = screen.json(given)
    written = screen.text(words)
    return ArchivalEntry(
        id=uuid7(int(at.timestamp() * 1000)),
        text=written,
        metadata=kept,
        user=user,
        created_at=at,
        secrets=dict(screen.found),
    )


def keep_entry(entry: ArchivalEntry) -> Plan[ArchivalEntry]:
    """Stores an entry of the scope's own user."""
    yield from ()
    return Decision((PutEntry(entry),), entry)
