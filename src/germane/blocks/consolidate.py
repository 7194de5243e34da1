"""Consolidate: the plan that stores a block's document as a whole and drops what its history doesn't need any more.

It runs in the background after so many edits, never in an assembly. Who reads or edits the block sees no difference, except
that the oldest versions are gone.
"""

from __future__ import annotations

from germane.blocks.operations import BlocksNamed, DocumentOf, HistoryOf, PutSnapshot
from germane.blocks.revise import loaded
from germane.blocks.version import first_kept
from germane.types.plan import Decision, Plan, read

__all__ = ["consolidate_block"]


def consolidate_block(id: str) -> Plan[bool]:
    """Consolidates the block with this id; the outcome says whether anything was done. Raises `StoreCorrupt` where its document
    is damaged: then everything stays as it is."""
    block = next((one for one in (yield from read(BlocksNamed(id))) if one.id == id), None)
    history = () if block is None else (yield from read(HistoryOf(id)))
    if block is None or not history:
        return Decision((), False)
    stored = yield from read(DocumentOf(id))
    document, rebuilt = yield from loaded(block, stored)
    if not stored.waiting and not rebuilt:
        return Decision((), False)
    first = first_kept(history, len(block.text))
    keep = next(kept.frontiers for kept in history if kept.version.number == first)
    data = document.snapshot(keep=keep)
    return Decision((PutSnapshot(id=id, number=block.version, data=data, first=first),), True)
