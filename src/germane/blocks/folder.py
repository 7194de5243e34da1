"""Folder: the plans that rename or delete all blocks whose labels begin with the same segments: all of them, or none."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

from germane.blocks.block import Block, BlockType
from germane.blocks.cache import DocumentCache
from germane.blocks.consent_request import ConsentRequest
from germane.blocks.editor import Editor
from germane.blocks.label import checked_label, label_key
from germane.blocks.operations import BlocksUnder
from germane.blocks.revise import Edited
from germane.blocks.settings import BlockSettings, change_block, delete_block
from germane.errors import InvalidInput, NotFound
from germane.text.secrets.screen import SecretPolicy
from germane.types.limits import shown
from germane.types.plan import Change, Decision, Plan, Read, read

__all__ = ["delete_folder", "rename_folder"]

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
        raise InvalidInput(f"folder {shown(old)} can't be moved to {shown(new)}, which is in it: choose another place")

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
        raise NotFound(f"no block under {shown(folder)} here")
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
