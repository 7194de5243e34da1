"""Share: the permission that a block's owner has granted to another agent of the org."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from germane.blocks.permission import Permission

__all__ = ["Share"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """`agent` may see the block with this `label`, and edit it as far as `permission` goes. A user's block is shared with that
    agent for the same user; an agent-wide block for all users of that agent."""

    block_id: str
    label: str
    agent: str
    permission: Permission
    created_at: datetime
