"""Access: who may edit a block, and the plans that share it and answer requests for consent.

Every operation on a block is checked here, undo included. A scope changes the blocks of its own user; a scope without a
user changes those of the agent as a whole.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha256
from json import dumps
from typing import Any

from germane.errors import InvalidInput, NotFound, NotPermitted, Stale
from germane.kinds.blocks.field import label_key
from germane.kinds.blocks.mutation import OPERATIONS
from germane.kinds.blocks.permission import (
    CONSENT_TIMEOUT,
    SHOWN_PERMISSIONS,
    ConsentRequest,
    ConsentScope,
    Needs,
    Permission,
    Share,
    at_most,
    decide,
    strongest_first,
)
from germane.kinds.blocks.reads import BlocksNamed, ConsentById, ConsentsOn, DropShare, PutConsent, PutShare, SharesOf
from germane.kinds.blocks.value import Block
from germane.types.plan import Change, Decision, Plan, Read, read, uuid7
from germane.types.scope import Scope

_MAX_PENDING = 100
"""Requests of one agent that may wait on one block."""
_MAX_DENIED = 3
"""Requests of one agent on one block that may be denied within the time for an answer before it may not ask at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Editor:
    """`by` and `reason` are kept with the version. `system` says that the owner's own application edits, and not the agent:
    then no permission of the block is asked for. `timeout` is how long a request for consent can be answered."""

    scope: Scope
    at: datetime
    by: str = ""
    reason: str = ""
    system: bool = False
    timeout: timedelta = CONSENT_TIMEOUT

    @property
    def name(self) -> str:
        """The agent, and the caller's name for who edits."""
        return f"{self.scope.agent} ({self.by})" if self.by else self.scope.agent


def find_block(name: object, scope: Scope) -> Generator[Read[Any], Any, Block]:
    """Finds the block that a label or an id stands for: the scope's own user's, the agent's, one that is shared. Raises
    `NotFound`, and `InvalidInput` where several agents share one with this label."""
    key = label_key(name)
    blocks = [block for block in (yield from read(BlocksNamed(key))) if block.deleted_at is None]
    if not blocks:
        raise NotFound("no block {} here", key)
    if blocks[0].shared_from is not None and len(blocks) > 1:
        several = ", ".join(f"{block.id} of {block.shared_from}" for block in blocks[:5])
        raise InvalidInput("several agents share a block {}", key, advice=f"give the id of one of them: {several}")
    return blocks[0]


def find_own_block(name: object, scope: Scope, operation: str) -> Generator[Read[Any], Any, Block]:
    """Finds a block whose settings the scope may change. Raises what `found` raises, and `NotPermitted` for somebody else's."""
    block = yield from find_block(name, scope)
    if block.shared_from is not None:
        raise NotPermitted(
            f"block {{}} is shared by {block.shared_from}: only its owner can do that ({operation})", block.label
        )
    return block


def refuse_stale(block: Block, if_hash: str | None) -> None:
    """Raises `Stale` where the content isn't the one with this hash; None stands for any."""
    if if_hash is not None and if_hash != block.content_hash:
        raise Stale("block {} isn't what was read: its content has changed since. Read it and decide again", block.label)


def check_permission(
    block: Block, operation: str, needs: Iterable[Needs], digest: bytes, editor: Editor
) -> Generator[Read[Any], Any, tuple[tuple[Change, ...], ConsentRequest | None]]:
    """Decides whether the editor may do it. Returns the changes that the permission itself needs (an approval is used up), and
    the request where consent is needed first: then nothing else may be written. Raises `NotPermitted`."""
    if block.user != editor.scope.user:
        raise NotPermitted(
            "block {} is agent-wide: it is changed by a scope without a user, or make one of this user's own", block.label
        )
    if editor.system and block.shared_from is None:
        return (), None
    for needed in strongest_first(needs):
        verdict = decide(block.granted, needed)
        if verdict.outcome == "refused":
            raise NotPermitted(f"block {{}} can't be changed so ({operation}): {verdict.reason}", block.label)
        if verdict.outcome == "consent_needed" and verdict.asked is not None:
            return (yield from _consented(block, operation, needed, digest, verdict.asked, editor))
    return (), None


def digest_of(id: str, operations: Iterable[Mapping[str, Any]]) -> bytes:
    """Returns the hash of an edit: an approval `once` is good for the same operations on the same block."""
    written = dumps([id, *operations], sort_keys=True, default=str)
    return sha256(written.encode("utf-8", "surrogatepass")).digest()


def _consented(
    block: Block, operation: str, needs: Needs, digest: bytes, asked: Any, editor: Editor
) -> Generator[Read[Any], Any, tuple[tuple[Change, ...], ConsentRequest | None]]:
    requests = yield from read(ConsentsOn(block.id))
    covering = [request for request in requests if request.asked_of == asked and request.covers(digest, needs, editor.at)]
    if covering:
        chosen = min(covering, key=lambda request: request.scope == "once")
        used = (PutConsent(replace(chosen, used_at=editor.at)),) if chosen.scope == "once" else ()
        return used, None
    pending = [request for request in requests if request.state_at(editor.at) == "pending"]
    for request in pending:
        if request.digest == digest and request.asked_of == asked:
            return (), request
    _refuse_denied(block, requests, digest, editor)
    if len(pending) >= _MAX_PENDING:
        raise NotPermitted(
            f"block {{}} has {len(pending)} requests for consent that wait: have them answered first", block.label
        )
    request = ConsentRequest(
        id=uuid7(int(editor.at.timestamp() * 1000)),
        block_id=block.id,
        label=block.label,
        asked_of=asked,
        operation=operation,
        needs=needs,
        digest=digest,
        requested_by=editor.name,
        requested_at=editor.at,
        expires_at=editor.at + editor.timeout,
    )
    return (PutConsent(request),), request


def _refuse_denied(block: Block, requests: Sequence[ConsentRequest], digest: bytes, editor: Editor) -> None:
    """Raises `NotPermitted` for an edit that was denied a short while ago, and for every edit where several were, so that
    nobody is asked again and again. The while is the time that a request can be answered."""
    denied = [
        (request.answered_at + editor.timeout, request)
        for request in requests
        if request.state == "denied" and request.answered_at is not None and request.answered_at + editor.timeout > editor.at
    ]
    same = [until for until, request in denied if request.digest == digest]
    if same:
        raise NotPermitted(
            f"this edit of block {{}} was denied: make another one, or ask again after {max(same):%Y-%m-%d %H:%M:%S} UTC",
            block.label,
        )
    if len(denied) >= _MAX_DENIED:
        again = sorted(until for until, _ in denied)[-_MAX_DENIED]
        raise NotPermitted(
            f"{len(denied)} edits of block {{}} were denied: nobody is asked again before {again:%Y-%m-%d %H:%M:%S} UTC",
            block.label,
        )


# Sharing: another agent of the org may see and edit a block, or no longer (BLK-6).


MAX_SHARES = 100
"""Agents that one block can be shared with: each edit tells all of them."""


def share_block(name: object, agent: str, permission: Permission, editor: Editor) -> Plan[Share | ConsentRequest]:
    """Shares a block with an agent of the org, or changes what that agent may do; the outcome is the share. A user's block is
    shared for the same user. Idempotent. Raises `NotFound`, `NotPermitted` where more would be granted than the block's own
    permission, and `InvalidInput` for the owner itself."""
    Scope(org=editor.scope.org, agent=agent, user=editor.scope.user)
    block = yield from find_own_block(name, editor.scope, "share")
    if agent == editor.scope.agent:
        raise InvalidInput("agent {} owns the block", agent, advice="name another one")
    digest = digest_of(block.id, [{"op": "share", "agent": agent, "permission": permission}])
    changes, request = yield from check_permission(block, "share", [OPERATIONS["share"]], digest, editor)
    if request is not None:
        return Decision(changes, request)
    if not at_most(permission, block.permission):
        raise NotPermitted(
            f"a share can't grant {SHOWN_PERMISSIONS[permission]} on block {{}}, whose permission "
            f"is {SHOWN_PERMISSIONS[block.permission]}: grant at most that",
            block.label,
        )
    shares = yield from read(SharesOf(block.id))
    held = next((one for one in shares if one.agent == agent), None)
    if held is not None and held.permission == permission:
        return Decision(changes, held)
    if held is None and len(shares) >= MAX_SHARES:
        raise InvalidInput(
            f"block {{}} is shared with {len(shares)} agents, which is the most", block.label, advice="end a share first"
        )
    created_at = max(editor.at, block.updated_at) if held is None else held.created_at  # no version before it is the agent's
    share = Share(block_id=block.id, label=block.label, agent=agent, permission=permission, created_at=created_at)
    return Decision((*changes, PutShare(id=block.id, agent=agent, permission=permission, at=created_at)), share)


def unshare_block(name: object, agent: str, editor: Editor) -> Plan[bool | ConsentRequest]:
    """Ends the share of a block with an agent; the outcome says whether there was one. Idempotent. Raises `NotFound`,
    `NotPermitted`."""
    block = yield from find_own_block(name, editor.scope, "unshare")
    digest = digest_of(block.id, [{"op": "unshare", "agent": agent}])
    changes, request = yield from check_permission(block, "unshare", [OPERATIONS["unshare"]], digest, editor)
    if request is not None:
        return Decision(changes, request)
    shares = yield from read(SharesOf(block.id))
    if all(one.agent != agent for one in shares):
        return Decision(changes, False)
    return Decision((*changes, DropShare(id=block.id, agent=agent)), True)


# Answers to requests for consent: an approval once, for a time or for the block, or a denial.


MAX_CONSENT = timedelta(days=366)
"""The longest time that an approval can be for."""


def consent_scope(value: object) -> tuple[ConsentScope, timedelta | None]:
    """Returns what an approval covers: `once`, `block`, or a number of seconds. Raises `InvalidInput`."""
    if value == "once":
        return "once", None
    if value == "block":
        return "block", None
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= MAX_CONSENT.total_seconds():
        return "until", timedelta(seconds=value)
    raise InvalidInput("must be 'once', 'block' or a number of seconds up to a year, not {}", value, path="scope")


def answer_consent(
    id: str, *, approve: bool, scope: ConsentScope = "once", lasting: timedelta | None = None, at: datetime
) -> Plan[ConsentRequest]:
    """Answers a request on one of the scope's own blocks; the outcome is the request. The same answer again changes nothing.
    Raises `NotFound`, and `InvalidInput` where it was answered otherwise or has expired."""
    request = yield from read(ConsentById(id))
    if request is None:
        raise NotFound("no request for consent {} here", id)
    state = request.state_at(at)
    if state == "expired":
        raise InvalidInput(
            f"the request expired at {request.expires_at:%Y-%m-%d %H:%M:%S} UTC", advice="try the edit again to ask again"
        )
    if state != "pending":
        same = (state == "approved") == approve and (not approve or _same_approval(request, scope, lasting))
        if not same:
            raise InvalidInput(f"the request was {state} already: its answer can't be changed")
        return Decision((), request)
    until = at + lasting if approve and lasting is not None else None
    answered = replace(
        request,
        state="approved" if approve else "denied",
        scope=scope if approve else None,
        until=until,
        answered_at=at,
    )
    return Decision((PutConsent(answered),), answered)


def _same_approval(request: ConsentRequest, scope: ConsentScope, lasting: timedelta | None) -> bool:
    """Whether an approval covers what was approved before. The time of an approval counts from its answer."""
    if request.scope != scope:
        return False
    return request.until is None or request.answered_at is None or request.until - request.answered_at == lasting
