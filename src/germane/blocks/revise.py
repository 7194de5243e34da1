"""Revise: opens a block's document inside a plan, and turns what was done to it into changes for the store."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from germane.blocks.block import Block, content_hash_of
from germane.blocks.cache import DocumentCache
from germane.blocks.document import BlockDocument
from germane.blocks.editor import Editor
from germane.blocks.operations import DocumentOf, PutBlock, PutVersion, StoredDocument
from germane.blocks.version import KeptVersion, Version, VersionKind
from germane.errors import InvalidInput, StoreCorrupt
from germane.types.plan import Change, Read, read

__all__ = ["Edited", "Opened", "loaded", "opened", "peer_of", "refuse_long", "revised", "settled"]

_DUE_CHANGES, _DUE_BYTES = 32, 8_192
"""Changes, and their bytes, that are kept beside the snapshot before the block is consolidated; a long text may have as many
bytes as itself."""
_MAX_STORED = 8_000_000
"""Bytes of a document with its history. Only a block whose history couldn't be consolidated comes near it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    """The outcome of an edit: the block as it is now, and its new version; None where nothing changed. `document` belongs to
    that version, and `size` are its bytes in the store. `due` says that the block should be consolidated, `rebuilt` that its
    snapshot is damaged and was made anew from the changes."""

    block: Block
    version: Version | None = None
    document: BlockDocument | None = None
    size: int = 0
    due: bool = False
    rebuilt: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A document as the plan got it. `before` is its state, `stored` what the store said of it, `rebuilt` as in `Edited`."""

    document: BlockDocument
    before: bytes
    stored: StoredDocument
    rebuilt: bool = False


def opened(block: Block, cache: DocumentCache) -> Generator[Read[Any], Any, Opened]:
    """Opens the newest state of a block's document: a cached one gets what was written since by others. Raises `StoreCorrupt`
    where it is damaged."""
    held = cache.take(block.id)
    if held is not None and (held.version > block.version or held.document.schema != block.schema):
        held = None
    stored = yield from read(DocumentOf(block.id, since=-1 if held is None else held.version))
    rebuilt = False
    if held is not None and not stored.whole:
        document = held.document
        try:
            for delta in stored.deltas:
                if not document.merge(delta):
                    raise StoreCorrupt(f"block {block.id}: a part of its document is missing")
        except StoreCorrupt:
            stored = yield from read(DocumentOf(block.id))
            document, rebuilt = yield from loaded(block, stored)
    else:
        document, rebuilt = yield from loaded(block, stored)
    return Opened(document=document, before=document.frontiers(), stored=stored, rebuilt=rebuilt)


def loaded(block: Block, stored: StoredDocument) -> Generator[Read[Any], Any, tuple[BlockDocument, bool]]:
    """Loads a whole document. One whose snapshot is damaged is made anew from its changes, where all of them are kept; the
    second value says so. Raises `StoreCorrupt`."""
    try:
        return _complete(block, stored.snapshot, stored), False
    except StoreCorrupt:
        again = yield from read(DocumentOf(block.id, rebuild=True))
        if stored.snapshot is not None and again.deltas:
            try:
                return _complete(block, None, again), True
            except StoreCorrupt:
                pass
    raise StoreCorrupt(
        f"block {block.id}: what is stored of its document is damaged. Its text is still shown as it was rendered last: restore"
        " a backup, or delete the block and make a new one of that text"
    )


def revised(
    block: Block, open: Opened, editor: Editor, *, kind: VersionKind, operation: str, target: int | None = None
) -> tuple[tuple[Change, ...], Edited]:
    """Returns the changes that store what was done to the document, and the outcome. Raises `InvalidInput` where the rendered
    text is longer than the block's limit."""
    document, stored = open.document, open.stored
    after = document.frontiers()
    if after == open.before:
        return (), Edited(block=block, document=document, size=stored.size, due=open.rebuilt, rebuilt=open.rebuilt)
    delta = document.delta(open.before)
    size = stored.size + len(delta)
    if size > _MAX_STORED:
        raise InvalidInput(
            f"block {block.label!r} has {size:,} bytes with its history, {_MAX_STORED:,} are allowed: shorten it"
        )
    text = document.text()
    refuse_long(block.label, text, block.limit)
    now = replace(block, text=text, content_hash=content_hash_of(text))
    changes, edited = settled(now, editor, after, delta, kind=kind, operation=operation, target=target)
    waiting, waiting_size = stored.waiting + 1, stored.waiting_size + len(delta)
    due = open.rebuilt or waiting >= _DUE_CHANGES or waiting_size >= max(_DUE_BYTES, len(text))
    return changes, replace(edited, document=document, size=size, due=due, rebuilt=open.rebuilt)


def settled(
    block: Block,
    editor: Editor,
    frontiers: bytes,
    delta: bytes = b"",
    *,
    kind: VersionKind = "setting",
    operation: str,
    target: int | None = None,
) -> tuple[tuple[Change, ...], Edited]:
    """Returns the changes that store a block as its next version, and the outcome."""
    number = block.version + 1
    now = replace(block, version=number, updated_at=editor.at)
    version = Version(
        number=number,
        kind=kind,
        at=editor.at,
        by=editor.name,
        operation=operation,
        reason=editor.reason,
        characters=len(now.text),
        content_hash=now.content_hash,
        target=target,
    )
    entry = KeptVersion(version=version, frontiers=frontiers, size=len(delta))
    return (PutBlock(now), PutVersion(id=now.id, entry=entry, delta=delta)), Edited(block=now, version=version)


def peer_of(id: str) -> int:
    """Returns the peer of a block: the editor that all its edits are made by. The store's transaction makes each edit on the
    newest state, so that one peer is enough; each further one would stay in the document for ever."""
    return int.from_bytes(sha256(id.encode()).digest()[:8]) >> 1


def refuse_long(label: str, text: str, limit: int) -> None:
    """Raises `InvalidInput` where a text is longer than a block's limit."""
    if len(text) > limit:
        over = len(text) - limit
        raise InvalidInput(
            f"block {label!r} would have {len(text):,} characters, {limit:,} are allowed: {over:,} too many. Shorten it first,"
            " or have its limit changed"
        )


def _complete(block: Block, snapshot: bytes | None, stored: StoredDocument) -> BlockDocument:
    """Loads a document, and checks that it has come to the state that the last version says."""
    document = BlockDocument.load(block.schema, snapshot, stored.deltas, peer=peer_of(block.id))
    if stored.frontiers is not None and document.frontiers() != stored.frontiers:
        raise StoreCorrupt(f"block {block.id}: a part of its document is missing")
    return document
