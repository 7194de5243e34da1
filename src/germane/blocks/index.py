"""Index: the plan that makes blocks searchable as they are now.

An edit blanks the search row of its block, which costs nothing, and a search derives the rows that are blank. So no edit waits
for the analysis of its text, and no search finds an earlier one.
"""

from __future__ import annotations

from germane.blocks.operations import BlocksToIndex, IndexBlock
from germane.types.plan import Decision, Plan, read

__all__ = ["index_blocks"]

_AT_ONCE = 16
"""Blocks of one commit: other writes wait some 10 ms at most."""


def index_blocks() -> Plan[bool]:
    """Derives search rows of some of the scope's blocks; the outcome says whether there may be more."""
    found = yield from read(BlocksToIndex(_AT_ONCE))
    return Decision(tuple(IndexBlock(block.id) for block in found), len(found) == _AT_ONCE)
