"""Blocks as values: a block, its versions, and the archival entries.

A block is a labelled text of bounded size that an agent keeps and edits, with its schema and its permission. Its
versions are bounded: the oldest are removed when the block is consolidated. Undo takes back the latest edit that
isn't undone; redo makes the change again that was undone last. An edit after an undo ends what can be redone. An
archival entry is a text that an agent keeps for later searches, and it is never changed (BLK-7).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha256
from json import dumps
from typing import Any, Literal, get_args

from germane.errors import quoted
from germane.kinds.blocks.permission import SHOWN_PERMISSIONS, Permission
from germane.kinds.blocks.schema import Schema, undescribed
from germane.text.normal import content_hash
from germane.types.candidate import BlockText
from germane.types.candidate import BlockType as BlockType
from germane.types.checks import check_one_of

BLOCK_TYPES: tuple[BlockType, ...] = get_args(BlockType)
DEFAULT_LIMIT = 5_000
"""Characters that a block's rendered text may have, unless its owner sets another limit."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Block:
    """One block as a scope sees it. `user` None stands for an agent-wide block, `agent` is the owner. `text` is the rendered
    content, `content_hash` its SHA-256 in hex, `version` the number of its latest version. `shared_from` is the
    owner where another agent shares the block; None for an own one. `granted` is what the reading scope may do: the block's
    permission, at most that of the share, and `read_only` for an agent-wide block in the scope of a user. `secrets` counts the
    secrets that the call which returned the block has found, by kind; it isn't stored."""

    id: str
    label: str
    description: str = ""
    type: BlockType = "working"
    schema: Schema
    permission: Permission = "read_write"
    limit: int = DEFAULT_LIMIT
    pinned: bool = False
    user: str | None = None
    agent: str
    version: int = 0
    text: str = ""
    content_hash: str
    created_at: datetime
    updated_at: datetime
    shared_from: str | None = None
    granted: Permission = "read_write"
    deleted_at: datetime | None = None
    secrets: Mapping[str, int] = field(default_factory=dict, compare=False, hash=False)

    def without_content(self) -> Block:
        """Returns the block as a caller gets it who may not read: without its text, its hash and any description."""
        return replace(self, text="", content_hash="", description="", schema=undescribed(self.schema))

    @property
    def standing(self) -> bool:
        """Whether the block is in every context: a core block, or a pinned working one."""
        return self.deleted_at is None and (self.type == "core" or (self.type == "working" and self.pinned))

    def __repr__(self) -> str:
        state = "" if self.deleted_at is None else ", deleted"
        length = f"{len(self.text):,} characters"
        return f"<Block {quoted(self.label)}: {self.type}, version {self.version}, {length}{state}, {self.id}>"


def block_type(value: object) -> BlockType:
    """Returns a block's type by its name. Raises `InvalidInput`."""
    return check_one_of("type", value, BLOCK_TYPES)


def content_hash_of(text: str) -> str:
    """Returns the SHA-256 of a rendered text in hex; lone surrogates count as their own three bytes."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


# Versions of a block: what was done, when, by whom and why, and what undoing it takes.


VersionKind = Literal["create", "edit", "undo", "redo", "setting", "schema"]
"""`setting` changed a block's label, type or the like and not its content; `schema` began a new document, so that nothing
before it can be undone."""

_MAX_VERSIONS = 100
"""Versions of a block at most."""
_MIN_VERSIONS = 3
"""Versions that stay however large their changes are."""
_MIN_BYTES = 8_192
"""Bytes that the versions of a block of any size may have."""
_BYTES_A_CHARACTER = 1.6
"""Bytes of versions for each character of a longer text: with the text itself and the present state of the document, a block
takes less than five times the bytes of its text."""
_ENTRY = 128
"""Bytes that a version takes beside its change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """One version of a block. `number` counts from 0, the block's creation. `operation` says in words what was done,
    without content; `by` and `reason` are the caller's. `characters` and `content_hash` are those of the rendered text
    afterwards. `target` is the edit that an undo or a redo concerns. `undone` says that the edit is taken back now."""

    number: int
    kind: VersionKind
    at: datetime
    by: str = ""
    operation: str
    reason: str = ""
    characters: int
    content_hash: str
    target: int | None = None
    undone: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptVersion:
    """A version as the store keeps it. `frontiers` is the state of the document afterwards, `size` the bytes of its change.
    `span` is the version that made an edit's change last: its own number, or that of a redo. `undone_by` is the undo that took
    it back; None where it holds."""

    version: Version
    frontiers: bytes
    size: int = 0
    span: int | None = None
    undone_by: int | None = None


def undoable(versions: Sequence[KeptVersion]) -> KeptVersion | None:
    """Returns the edit that an undo takes back: the latest that isn't undone, and whose state before is kept. `versions` are in
    the order of the numbers."""
    numbers = {kept.version.number for kept in versions}
    for kept in reversed(versions):
        if kept.version.kind == "schema":
            return None
        if kept.version.kind == "edit" and kept.undone_by is None:
            return kept if _span(kept) - 1 in numbers else None
    return None


def redoable(versions: Sequence[KeptVersion]) -> KeptVersion | None:
    """Returns the edit that a redo makes again: the one that was undone last, unless something else was edited since."""
    fresh = max((kept.version.number for kept in versions if kept.version.kind in ("edit", "schema", "create")), default=-1)
    numbers = {kept.version.number for kept in versions}
    undone = [kept for kept in versions if kept.undone_by is not None and kept.undone_by > fresh]
    last = max(undone, key=lambda kept: kept.undone_by or 0, default=None)
    return last if last is not None and (last.undone_by or 0) - 1 in numbers else None


def first_kept(versions: Sequence[KeptVersion], characters: int) -> int:
    """Returns the number of the oldest version that stays when a block with a text of so many characters is consolidated."""
    allowed, total = max(_MIN_BYTES, _BYTES_A_CHARACTER * characters), 0
    for count, kept in enumerate(reversed(versions), start=1):
        total += kept.size + len(kept.frontiers) + _ENTRY
        if count >= _MAX_VERSIONS or (count >= _MIN_VERSIONS and total > allowed):
            return kept.version.number
    return versions[0].version.number if versions else 0


def _span(kept: KeptVersion) -> int:
    return kept.version.number if kept.span is None else kept.span


# Archival entries, and what a search of the archive finds: entries and blocks.


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivalEntry:
    """One entry of the archive. `user` None stands for agent-wide. `metadata` is JSON whose words are searched too. Where a
    search found a block instead, `id`, `text`, `label`, `version` and `type` are the block's, and `metadata` is empty.
    `secrets` counts the secrets that the call which stored the entry has found, by kind; it isn't stored."""

    id: str
    text: str
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)
    user: str | None = None
    created_at: datetime
    label: str | None = None
    version: int | None = None
    type: BlockType | None = None
    secrets: Mapping[str, int] = field(default_factory=dict, compare=False, hash=False)

    def without_content(self) -> ArchivalEntry:
        """Returns the entry as a caller gets it who may not read: without its text and metadata."""
        return replace(self, text="", metadata={})


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundEntry:
    """What a search of the archive found. `relevance` is the estimated probability that the entry helps."""

    entry: ArchivalEntry
    relevance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundBlock:
    """What a search of the blocks found, as it is now. `relevance` is the estimated probability that the block helps."""

    block: Block
    relevance: float


def searched_text(entry: ArchivalEntry) -> str:
    """Returns the words that find an entry: those of its text and of its metadata, or of an archival block's label and text."""
    if entry.label is not None:
        return f"{entry.label}\n{entry.text}"
    return "\n".join((entry.text, *_words(entry.metadata)))


def _words(value: Any) -> list[str]:
    """The keys and values of JSON as words, in order. The depth is bounded where an entry is checked."""
    if isinstance(value, Mapping):
        return [word for key, item in value.items() for word in (str(key), *_words(item))]
    if isinstance(value, list | tuple):
        return [word for item in value for word in _words(item)]
    return [] if value is None or isinstance(value, bool) else [str(value)]


# How a prompt shows a block, and how the parts of an assembly name it.


def prompt_text(block: Block, *, schema: bool = False) -> BlockText:
    """Returns the block with its permission as a prompt names it; with `schema`, its schema as JSON too."""
    return BlockText(
        id=block.id,
        label=block.label,
        type=block.type,
        text=block.text,
        description=block.description,
        permission=SHOWN_PERMISSIONS[block.granted],
        shared_from=block.shared_from,
        pinned=block.pinned,
        schema=dumps(block.schema.as_dict(), ensure_ascii=False) if schema else "",
    )


# An assembly names a block by its id and its version. The name changes with each edit, deletion and change of a
# setting, so the store refuses the name of an earlier version: a text that was written with it is out of date.


_SIGN = "@"


def shown_id(id: str, version: int) -> str:
    """Returns `<block id>@<version>`."""
    return f"{id}{_SIGN}{version}"


def stored_id(id: str) -> str:
    """Returns the id of what is stored: that of the block where `id` names a version of one, else `id` itself."""
    return id.partition(_SIGN)[0]


def block_hash(id: str, version: int, shared: Block | None = None) -> int:
    """Returns a hash of what is shown of a block. The version tells all of an own block; of a `shared` one, what the share
    permits is shown too."""
    return content_hash("block", shown_id(id, version), "" if shared is None else shared.granted)


def entry_hash(id: str) -> int:
    """Returns the hash of an archival entry, which is never changed."""
    return content_hash("entry", id)
