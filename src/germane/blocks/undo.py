"""Undo: the plans that take back the latest edit of a block, and that make it again; both survive a restart.

What others changed since stays: only what the edit changed is taken back.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from germane.blocks.block import Block
from germane.blocks.cache import DocumentCache
from germane.blocks.consent_request import ConsentRequest
from germane.blocks.editor import Editor, digest_of, found, permitted
from germane.blocks.mutation import OPERATIONS
from germane.blocks.operations import HistoryOf, TakeBack
from germane.blocks.revise import Edited, opened, revised, settled
from germane.blocks.version import KeptVersion, redoable, undoable
from germane.errors import InvalidInput
from germane.types.plan import Change, Decision, Plan, Read, read

__all__ = ["redo_edit", "undo_edit"]


def undo_edit(name: object, editor: Editor, *, cache: DocumentCache) -> Plan[Edited | ConsentRequest]:
    """Takes back the latest edit that isn't undone; the outcome is the block. Raises `NotFound`, `NotPermitted`, and
    `InvalidInput` where no edit is left that can be undone."""
    return _moved(name, editor, cache, undoing=True)


def redo_edit(name: object, editor: Editor, *, cache: DocumentCache) -> Plan[Edited | ConsentRequest]:
    """Makes the edit again that was undone last; the outcome is the block. Raises what `undo_edit` raises."""
    return _moved(name, editor, cache, undoing=False)


def _moved(name: object, editor: Editor, cache: DocumentCache, *, undoing: bool) -> Plan[Edited | ConsentRequest]:
    word = "undo" if undoing else "redo"
    block = yield from found(name, editor.scope)
    changes, request = yield from permitted(
        block, word, [OPERATIONS[word]], digest_of(block.id, [{"op": word, "version": block.version}]), editor
    )
    if request is not None:
        return Decision(changes, request)
    history = yield from read(HistoryOf(block.id))
    chosen = undoable(history) if undoing else redoable(history)
    if chosen is None:
        raise InvalidInput(f"block {block.label!r} has nothing to {word}" + ("" if undoing else ": nothing was undone last"))
    number = chosen.version.number
    last = number if chosen.span is None else chosen.span
    more, edited = yield from _taken_back(
        block, editor, cache, history, last if undoing else chosen.undone_by or 0, word, number
    )
    new = edited.block.version
    marked = (
        TakeBack(id=block.id, number=number, by=new) if undoing else TakeBack(id=block.id, number=number, by=None, span=new)
    )
    return Decision((*changes, *more, marked), edited)


def _taken_back(
    block: Block, editor: Editor, cache: DocumentCache, history: tuple[KeptVersion, ...], made_by: int, word: Any, target: int
) -> Generator[Read[Any], Any, tuple[tuple[Change, ...], Edited]]:
    """Applies the inverse of what version `made_by` changed."""
    states = {kept.version.number: kept.frontiers for kept in history}
    open = yield from opened(block, cache)
    open.document.inverse(states[made_by - 1], states[made_by], system=editor.system and block.shared_from is None)
    more, edited = revised(block, open, editor, kind=word, operation=word, target=target)
    if edited.version is not None:
        return more, edited
    return settled(block, editor, open.before, kind=word, operation=word, target=target)  # everything of it was changed since
