"""Settings: the plans that change a block itself (label, type, limit, permission, schema, pin), delete it and restore it."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any

from germane.blocks.block import Block, BlockType, content_hash_of
from germane.blocks.cache import DocumentCache
from germane.blocks.consent_request import ConsentRequest
from germane.blocks.create import fitting_schema
from germane.blocks.editor import Editor, digest_of, found, own, permitted, refuse_stale
from germane.blocks.mutation import OPERATIONS
from germane.blocks.operations import BlocksNamed, HistoryOf
from germane.blocks.permission import Needs, Permission
from germane.blocks.revise import Edited, opened, refuse_long, revised, settled
from germane.blocks.schema import Schema, TextSchema
from germane.errors import Conflict, InvalidInput, NotFound
from germane.text.secrets.screen import SecretPolicy, SecretScreen, refuse_in_name
from germane.types.limits import shown
from germane.types.plan import Change, Decision, Plan, Read, read
from germane.types.scope import Scope

__all__ = ["BlockSettings", "change_block", "delete_block", "restore_block"]

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
    block = yield from own(name, editor.scope, "change")
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
    changes, request = yield from permitted(block, words, map(_needs, operations), digest, editor)
    if request is not None:
        return Decision(changes, request)
    if "label" in given:
        yield from _free(given["label"], editor.scope)
    schema = given.pop("schema", None)
    now = replace(block, **given)
    now = replace(now, granted=now.permission)  # only its own scope gets here
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
    block = yield from found(name, editor.scope)
    refuse_stale(block, if_hash)
    digest = digest_of(block.id, [{"op": "delete"}])
    changes, request = yield from permitted(block, "delete", [OPERATIONS["delete"]], digest, editor)
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
        raise NotFound(f"no block {shown(id)} of this scope's own: give the id of a deleted block")
    if block.deleted_at is None:
        return Decision((), Edited(block=block))
    digest = digest_of(block.id, [{"op": "restore"}])
    changes, request = yield from permitted(block, "restore", [OPERATIONS["restore"]], digest, editor)
    if request is not None:
        return Decision(changes, request)
    yield from _free(block.label, editor.scope)
    more, edited = yield from _kept(replace(block, deleted_at=None), editor, "restore")
    return Decision((*changes, *more), edited)


def _kept(block: Block, editor: Editor, operation: str) -> Generator[Read[Any], Any, tuple[tuple[Change, ...], Edited]]:
    """A version that leaves the document as it is."""
    history = yield from read(HistoryOf(block.id, 1))
    if not history:
        raise InvalidInput(f"block {block.label!r} has no history: restore a backup")
    return settled(block, editor, history[-1].frontiers, operation=operation)


def _migrated(
    block: Block, schema: Schema, editor: Editor, cache: DocumentCache, operation: str
) -> Generator[Read[Any], Any, tuple[tuple[Change, ...], Edited]]:
    """A version with another schema. Only the lines of a text that are shown can change without ending what can be undone."""
    open = yield from opened(block, cache)
    open.document.migrate(schema)
    after = open.document.frontiers()
    text = open.document.text()
    now = replace(block, schema=schema)
    if after != open.before:
        return revised(now, open, editor, kind="schema", operation=operation)
    refuse_long(now.label, text, now.limit)
    now = replace(now, text=text, content_hash=content_hash_of(text))
    shown_only = isinstance(block.schema, TextSchema) and isinstance(schema, TextSchema)
    changes, edited = settled(now, editor, after, kind="setting" if shown_only else "schema", operation=operation)
    return changes, replace(edited, document=open.document, size=open.stored.size)


def _free(label: str, scope: Scope) -> Generator[Read[Any], Any, None]:
    """Raises `Conflict` where a block of the scope's own has the label."""
    for block in (yield from read(BlocksNamed(label))):
        if block.label == label and block.deleted_at is None and block.shared_from is None and block.user == scope.user:
            raise Conflict(f"a block has the label {label!r} already: rename or delete it first")


def _needs(operation: str) -> Needs:
    return OPERATIONS.get(operation, "overwrite")
