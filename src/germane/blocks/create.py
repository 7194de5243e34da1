"""Create: the plan that makes a block with its first content."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from germane.blocks.block import Block, BlockType, content_hash_of
from germane.blocks.cache import DocumentCache
from germane.blocks.document import BlockDocument
from germane.blocks.editor import Editor
from germane.blocks.operations import BlocksNamed, PutBlock, PutVersion
from germane.blocks.permission import Permission
from germane.blocks.revise import Edited, peer_of, refuse_long
from germane.blocks.schema import LogSchema, Schema, TextSchema
from germane.blocks.version import KeptVersion, Version
from germane.errors import Conflict, InvalidInput
from germane.text.secrets.screen import SecretPolicy, SecretScreen, refuse_in_name
from germane.types.extent import bounded
from germane.types.ids import uuid7
from germane.types.plan import Decision, Plan, read

__all__ = ["NewBlock", "create_block", "fitting_schema"]


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
        raise Conflict(f"a block has the label {new.label!r} already: edit it, or choose another label")
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
        raise InvalidInput(f"a block of type log is a log: its schema can't be {schema.kind}")
    return schema
