"""Sharing: the plans that let another agent of the org see and edit a block, and that end it (BLK-6)."""

from __future__ import annotations

from germane.blocks.consent_request import ConsentRequest
from germane.blocks.editor import Editor, digest_of, own, permitted
from germane.blocks.mutation import OPERATIONS
from germane.blocks.operations import DropShare, PutShare, SharesOf
from germane.blocks.permission import SHOWN_PERMISSIONS, Permission, at_most
from germane.blocks.share import Share
from germane.errors import InvalidInput, NotPermitted
from germane.types.plan import Decision, Plan, read
from germane.types.scope import Scope

__all__ = ["MAX_SHARES", "share_block", "unshare_block"]

MAX_SHARES = 100
"""Agents that one block can be shared with: each edit tells all of them."""


def share_block(name: object, agent: str, permission: Permission, editor: Editor) -> Plan[Share | ConsentRequest]:
    """Shares a block with an agent of the org, or changes what that agent may do; the outcome is the share. A user's block is
    shared for the same user. Idempotent. Raises `NotFound`, `NotPermitted` where more would be granted than the block's own
    permission, and `InvalidInput` for the owner itself."""
    Scope(org=editor.scope.org, agent=agent, user=editor.scope.user)
    block = yield from own(name, editor.scope, "share")
    if agent == editor.scope.agent:
        raise InvalidInput(f"agent {agent!r} owns the block: name another one")
    digest = digest_of(block.id, [{"op": "share", "agent": agent, "permission": permission}])
    changes, request = yield from permitted(block, "share", [OPERATIONS["share"]], digest, editor)
    if request is not None:
        return Decision(changes, request)
    if not at_most(permission, block.permission):
        raise NotPermitted(
            f"a share can't grant {SHOWN_PERMISSIONS[permission]} on block {block.label!r}, whose permission is"
            f" {SHOWN_PERMISSIONS[block.permission]}: grant at most that"
        )
    shares = yield from read(SharesOf(block.id))
    held = next((one for one in shares if one.agent == agent), None)
    if held is not None and held.permission == permission:
        return Decision(changes, held)
    if held is None and len(shares) >= MAX_SHARES:
        raise InvalidInput(f"block {block.label!r} is shared with {len(shares)} agents, which is the most: end a share first")
    created_at = max(editor.at, block.updated_at) if held is None else held.created_at  # no version before it is the agent's
    share = Share(block_id=block.id, label=block.label, agent=agent, permission=permission, created_at=created_at)
    return Decision((*changes, PutShare(id=block.id, agent=agent, permission=permission, at=created_at)), share)


def unshare_block(name: object, agent: str, editor: Editor) -> Plan[bool | ConsentRequest]:
    """Ends the share of a block with an agent; the outcome says whether there was one. Idempotent. Raises `NotFound`,
    `NotPermitted`."""
    block = yield from own(name, editor.scope, "unshare")
    digest = digest_of(block.id, [{"op": "unshare", "agent": agent}])
    changes, request = yield from permitted(block, "unshare", [OPERATIONS["unshare"]], digest, editor)
    if request is not None:
        return Decision(changes, request)
    shares = yield from read(SharesOf(block.id))
    if all(one.agent != agent for one in shares):
        return Decision(changes, False)
    return Decision((*changes, DropShare(id=block.id, agent=agent)), True)
