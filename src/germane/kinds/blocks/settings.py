"""Block settings: the plans that change a block itself, delete and restore it, and those for whole folders.

The settings are the label, type, limit, permission, schema and pin. A folder is all blocks whose labels begin with the
same segments. A plan for a folder changes all of its blocks, or none.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from germane.errors import Conflict, InvalidInput, NotFound
from germane.kinds.blocks.access import Editor, check_permission, digest_of, find_block, find_own_block, refuse_stale
from germane.kinds.blocks.cache import DocumentCache
from germane.kinds.blocks.field import checked_label, label_key
from germane.kinds.blocks.mutation import OPERATIONS
from germane.kinds.blocks.permission import ConsentRequest, Needs, Permission
from germane.kinds.blocks.plans import fitting_schema
from germane.kinds.blocks.reads import BlocksNamed, BlocksUnder, VersionsOf
from germane.kinds.blocks.revision import Edited, document_changes, open_document, refuse_long, version_changes
from germane.kinds.blocks.schema import Schema, TextSchema
from germane.kinds.blocks.value import Block, BlockType, content_hash_of
from germane.text.secrets.detection import SecretPolicy, SecretScreen, refuse_in_name
from germane.types.plan import Change, Decision, Plan, Read, read
from germane.types.scope import Scope

_OPERATIONS = {
    "label": "rename",
    "description": "describe",
    "type": "change_type",
    "schema": "change_schema",
    "permission": "change_permission",
    "limit": "change_limit",
    "pinned": "pin",
}
"""The operation that changes each setting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockSettings:
    """What is to be changed; None leaves a setting as it is."""

    label: str | None = None
    description: str | None = None
    type: BlockType | None = None
    schema: Schema | None = None
    permission: Permission | None = None
    limit: int | None = None
    pinned: bool | None = None

    def changes(self, block: Block) -> dict[str, Any]:
        """Returns the settings that differ from the block's."""
        given = {name: getattr(self, name) for name in _OPERATIONS}
        return {name: value for name, value in given.items() if value is not None and value != getattr(block, name)}


def change_block(
    name: object,
    settings: BlockSettings,
    editor: Editor,
    *,
    cache: DocumentCache,
    secrets: SecretPolicy = "redact",
    if_hash: str | None = None,
) -> Plan[Edited | ConsentRequest]:
    """Changes settings of one of the scope's own blocks; the outcome is the block. A new schema takes over what fits. Nothing
    is written where nothing differs. Raises `NotFound`, `NotPermitted`, `Conflict` where a new label is taken or the content
    isn't the one with `if_hash`, and `InvalidInput` for a limit that the text exceeds, and for a schema that the content
    doesn't fit; it names what doesn't."""
    block = yield from find_own_block(name, editor.scope, "change")
    refuse_stale(block, if_hash)
    refuse_in_name(secrets, "the new label", settings.label or "")
    screen = SecretScreen(secrets, "the description")
    if settings.description is not None:
        settings = replace(settings, description=screen.text(settings.description))
    given = settings.changes(block)
    if not given:
        return Decision((), Edited(block=block))
    operations = [_OPERATIONS[name] for name in given]
    digest = digest_of(block.id, [{"op": _OPERATIONS[name], "to": str(value)} for name, value in given.items()])
    words = ", ".join(operations)
    changes, request = yield from check_permission(block, words, map(_needs, operations), digest, editor)
    if request is not None:
        return Decision(changes, request)
    if "label" in given:
        yield from _free(given["label"], editor.scope)
    schema = given.pop("schema", None)
    now = replace(block, **given)
    # Only the scope that owns the block gets here, and it has the block's own permission, not that of a share.
    now = replace(now, granted=now.permission)
    if "type" in given or schema is not None:
        fitting_schema(now.type, schema or now.schema)
    if schema is None:
        refuse_long(now.label, now.text, now.limit)
        more, edited = yield from _kept(now, editor, words)
    else:
        more, edited = yield from _migrated(now, schema, editor, cache, words)
    return Decision((*changes, *more), replace(edited, block=replace(edited.block, secrets=dict(screen.found))))


def delete_block(name: object, editor: Editor, *, if_hash: str | None = None) -> Plan[Edited | ConsentRequest]:
    """Deletes a block: it is neither shown nor found any more, its label is free, and `restore_block` brings it back.
    Forgetting it by its id removes it for good. The outcome is the deleted block. Raises `NotFound`, `NotPermitted`, and
    `Stale` where the content isn't the one with `if_hash`."""
    block = yield from find_block(name, editor.scope)
    refuse_stale(block, if_hash)
    digest = digest_of(block.id, [{"op": "delete"}])
    changes, request = yield from check_permission(block, "delete", [OPERATIONS["delete"]], digest, editor)
    if request is not None:
        return Decision(changes, request)
    more, edited = yield from _kept(replace(block, deleted_at=editor.at), editor, "delete")
    return Decision((*changes, *more), edited)


def restore_block(id: str, editor: Editor) -> Plan[Edited | ConsentRequest]:
    """Brings a deleted block of the scope's own back; the outcome is the block. Idempotent. Raises `NotFound`, `NotPermitted`,
    and `Conflict` where another block has its label by now."""
    known = yield from read(BlocksNamed(id))
    block = next((one for one in known if one.id == id and one.shared_from is None and one.user == editor.scope.user), None)
    if block is None:
        raise NotFound("no block {} of this scope's own: give the id of a deleted block", id)
    if block.deleted_at is None:
        return Decision((), Edited(block=block))
    digest = digest_of(block.id, [{"op": "restore"}])
    changes, request = yield from check_permission(block, "restore", [OPERATIONS["restore"]], digest, editor)
    if request is not None:
        return Decision(changes, request)
    yield from _free(block.label, editor.scope)
    more, edited = yield from _kept(replace(block, deleted_at=None), editor, "restore")
    return Decision((*changes, *more), edited)


def _kept(block: Block, editor: Editor, operation: str) -> Generator[Read[Any], Any, tuple[tuple[Change, ...], Edited]]:
    """A version that leaves the document as it is."""
    versions = yield from read(VersionsOf(block.id, 1))
    if not versions:
        raise InvalidInput("block {} has no versions", block.label, advice="restore a backup")
    return version_changes(block, editor, versions[-1].frontiers, operation=operation)


def _migrated(
    block: Block, schema: Schema, editor: Editor, cache: DocumentCache, operation: str
) -> Generator[Read[Any], Any, tuple[tuple[Change, ...], Edited]]:
    """A version with another schema. Only the lines of a text that are shown can change without ending what can be undone."""
    open = yield from open_document(block, cache)
    open.document.migrate(schema)
    after = open.document.frontiers()
    text = open.document.text()
    now = replace(block, schema=schema)
    if after != open.before:
        return document_changes(now, open, editor, kind="schema", operation=operation)
    refuse_long(now.label, text, now.limit)
    now = replace(now, text=text, content_hash=content_hash_of(text))
    shown_only = isinstance(block.schema, TextSchema) and isinstance(schema, TextSchema)
    changes, edited = version_changes(now, editor, after, kind="setting" if shown_only else "schema", operation=operation)
    return changes, replace(edited, document=open.document, size=open.stored.size)


def _free(label: str, scope: Scope) -> Generator[Read[Any], Any, None]:
    """Raises `Conflict` where a block of the scope's own has the label."""
    for block in (yield from read(BlocksNamed(label))):
        if block.label == label and block.deleted_at is None and block.shared_from is None and block.user == scope.user:
            raise Conflict("a block has the label {} already", label, advice="rename or delete it first")


def _needs(operation: str) -> Needs:
    return OPERATIONS.get(operation, "overwrite")


# Folders: rename or delete all blocks whose labels begin with the same segments.


_Outcome = tuple[Edited, ...] | ConsentRequest


def rename_folder(
    folder: object,
    new_folder: object,
    editor: Editor,
    *,
    cache: DocumentCache,
    secrets: SecretPolicy = "redact",
    type: BlockType | None = None,
) -> Plan[_Outcome]:
    """Gives each block under `folder` the same label under `new_folder`; core and working blocks also get `type`, where it is
    given. The outcome are the blocks, or a request where somebody has to agree first: then all requests are stored, and nothing
    else. Raises `NotFound` for a folder without blocks, `InvalidInput` for one that would be moved into itself, and what
    `change_block` raises."""
    old, new = label_key(folder, "folder"), checked_label(new_folder, "new_folder")
    if f"{new}/".startswith(f"{old}/"):
        raise InvalidInput("folder {} can't be moved to {}, which is in it", old, new, advice="choose another place")

    def renamed(block: Block) -> Plan[Edited | ConsentRequest]:
        label = checked_label(new + block.label[len(old) :], "the new label of a block in it")
        settings = BlockSettings(label=label, type=type if block.type in ("core", "working") else None)
        return change_block(block.label, settings, editor, cache=cache, secrets=secrets)

    return (yield from _each((yield from _under(old)), renamed))


def delete_folder(folder: object, editor: Editor) -> Plan[_Outcome]:
    """Deletes each block under `folder`; each can be restored. The outcome are the blocks, or a request as in `rename_folder`.
    Raises `NotFound` for a folder without blocks, and what `delete_block` raises."""
    blocks = yield from _under(label_key(folder, "folder"))
    return (yield from _each(blocks, lambda block: delete_block(block.label, editor)))


def _under(folder: str) -> Generator[Read[Any], Any, Sequence[Block]]:
    """The blocks that the labels under the folder stand for."""
    found = yield from read(BlocksUnder(folder))
    if not found:
        raise NotFound("no block under {} here", folder)
    return tuple({block.label: block for block in reversed(found)}.values())[::-1]


def _each(blocks: Sequence[Block], plan: Callable[[Block], Plan[Edited | ConsentRequest]]) -> Plan[_Outcome]:
    """Decides on each block, and joins the decisions. Where one of them waits for consent, only the requests are stored."""
    changes, edits = list[Change](), list[Edited]()
    asked, requests = list[Change](), list[ConsentRequest]()
    for block in blocks:
        decision = yield from plan(block)
        if isinstance(decision.outcome, ConsentRequest):
            asked += decision.changes
            requests.append(decision.outcome)
        else:
            changes += decision.changes
            edits.append(decision.outcome)
    return Decision(tuple(asked), requests[0]) if requests else Decision(tuple(changes), tuple(edits))
