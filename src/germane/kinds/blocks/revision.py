"""Revision: opens a block's document inside a plan, and turns what was done to it into changes for the store.

Here are also the plans of the background workers, which consolidate a document and index its text, and the reading of
earlier versions.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from germane.errors import InvalidInput, NotFound, StoreCorrupt
from germane.kinds.blocks.access import Editor
from germane.kinds.blocks.cache import DocumentCache
from germane.kinds.blocks.document import BlockDocument
from germane.kinds.blocks.reads import (
    BlocksNamed,
    BlocksToIndex,
    DocumentOf,
    IndexBlock,
    PutBlock,
    PutSnapshot,
    PutVersion,
    StoredDocument,
    VersionsOf,
)
from germane.kinds.blocks.value import Block, KeptVersion, Version, VersionKind, content_hash_of, first_kept
from germane.types.plan import Change, Decision, Plan, Read, read

_DUE_CHANGES, _DUE_BYTES = 32, 8_192
"""Changes, and their bytes, that are kept beside the snapshot before the block is consolidated; a long text may have as many
bytes as itself."""
_MAX_STORED = 8_000_000
"""Bytes of a document with its changes. Only a block whose changes couldn't be consolidated comes near it."""


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
class OpenDocument:
    """A document as the plan got it. `before` is its state, `stored` what the store said of it, `rebuilt` as in `Edited`."""

    document: BlockDocument
    before: bytes
    stored: StoredDocument
    rebuilt: bool = False


def open_document(block: Block, cache: DocumentCache) -> Generator[Read[Any], Any, OpenDocument]:
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
            document, rebuilt = yield from load_document(block, stored)
    else:
        document, rebuilt = yield from load_document(block, stored)
    return OpenDocument(document=document, before=document.frontiers(), stored=stored, rebuilt=rebuilt)


def load_document(block: Block, stored: StoredDocument) -> Generator[Read[Any], Any, tuple[BlockDocument, bool]]:
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


def document_changes(
    block: Block, open: OpenDocument, editor: Editor, *, kind: VersionKind, operation: str, target: int | None = None
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
            f"block {{}} has {size:,} bytes with its versions, {_MAX_STORED:,} are allowed", block.label, advice="shorten it"
        )
    text = document.text()
    refuse_long(block.label, text, block.limit)
    now = replace(block, text=text, content_hash=content_hash_of(text))
    changes, edited = version_changes(now, editor, after, delta, kind=kind, operation=operation, target=target)
    waiting, waiting_size = stored.waiting + 1, stored.waiting_size + len(delta)
    due = open.rebuilt or waiting >= _DUE_CHANGES or waiting_size >= max(_DUE_BYTES, len(text))
    return changes, replace(edited, document=document, size=size, due=due, rebuilt=open.rebuilt)


def version_changes(
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
            f"block {{}} would have {len(text):,} characters, {limit:,} are allowed: {over:,} "
            "too many. Shorten it first, or have its limit changed",
            label,
        )


def _complete(block: Block, snapshot: bytes | None, stored: StoredDocument) -> BlockDocument:
    """Loads a document, and checks that it has come to the state that the last version says."""
    document = BlockDocument.load(block.schema, snapshot, stored.deltas, peer=peer_of(block.id))
    if stored.frontiers is not None and document.frontiers() != stored.frontiers:
        raise StoreCorrupt(f"block {block.id}: a part of its document is missing")
    return document


# Consolidation stores a document as a whole and drops what its versions don't need any more. It runs in the background
# after a number of edits, never in an assembly. Readers and editors see no difference, except that the oldest versions
# are gone.


def consolidate_block(id: str) -> Plan[bool]:
    """Consolidates the block with this id; the outcome says whether anything was done. Raises `StoreCorrupt` where its document
    is damaged: then everything stays as it is."""
    block = next((one for one in (yield from read(BlocksNamed(id))) if one.id == id), None)
    versions = () if block is None else (yield from read(VersionsOf(id)))
    if block is None or not versions:
        return Decision((), False)
    stored = yield from read(DocumentOf(id))
    document, rebuilt = yield from load_document(block, stored)
    if not stored.waiting and not rebuilt:
        return Decision((), False)
    first = first_kept(versions, len(block.text))
    keep = next(kept.frontiers for kept in versions if kept.version.number == first)
    data = document.snapshot(keep=keep)
    return Decision((PutSnapshot(id=id, number=block.version, data=data, first=first),), True)


# Contents and earlier versions, from the stored document.


def present_value(block: Block, stored: StoredDocument) -> Any:
    """Returns the content of the block as plain JSON. Raises `StoreCorrupt`."""
    return BlockDocument.load(block.schema, stored.snapshot, stored.deltas).value()


def past_text(block: Block, stored: StoredDocument, versions: Sequence[KeptVersion], version: int) -> str:
    """Returns the rendered text of the block at a version. Raises `NotFound` for a version that isn't kept, or that was made
    under another schema, and `StoreCorrupt`."""
    kept = next((one for one in versions if one.version.number == version), None)
    if kept is None:
        first = versions[0].version.number if versions else 0
        raise NotFound(f"version {version} of block {{}} isn't kept: it has {first} to {block.version}", block.label)
    if any(one.version.kind == "schema" and one.version.number > version for one in versions):
        raise NotFound(f"version {version} of block {{}} was made under another schema and can't be shown", block.label)
    if version == block.version:
        return block.text
    return BlockDocument.load(block.schema, stored.snapshot, stored.deltas).at(kept.frontiers).text()


# An edit blanks the search row of its block, which costs nothing, and a search derives the rows that are blank. So no
# edit waits for the analysis of its text, and no search finds an earlier one.


_MAX_INDEXED = 16
"""Blocks of one commit: other writes wait some 10 ms at most."""


def index_blocks() -> Plan[bool]:
    """Derives search rows of some of the scope's blocks; the outcome says whether there may be more."""
    found = yield from read(BlocksToIndex(_MAX_INDEXED))
    return Decision(tuple(IndexBlock(block.id) for block in found), len(found) == _MAX_INDEXED)
