"""Editor: who edits a block, from which scope, when and why; and whether that is permitted.

Every operation on a block is checked here, undo included. A scope changes the blocks of its own user; those of the agent as a
whole are changed by a scope without a user.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha256
from json import dumps
from typing import Any

from germane.blocks.block import Block
from germane.blocks.consent_request import CONSENT_TIMEOUT, ConsentRequest
from germane.blocks.label import label_key
from germane.blocks.operations import BlocksNamed, ConsentsOn, PutConsent
from germane.blocks.permission import Needs, decide, strongest_first
from germane.errors import InvalidInput, NotFound, NotPermitted, Stale
from germane.types.ids import uuid7
from germane.types.limits import shown
from germane.types.plan import Change, Read, read
from germane.types.scope import Scope

__all__ = ["Editor", "digest_of", "found", "own", "permitted", "refuse_stale"]

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


def found(name: object, scope: Scope) -> Generator[Read[Any], Any, Block]:
    """Finds the block that a label or an id stands for: the scope's own user's, the agent's, one that is shared. Raises
    `NotFound`, and `InvalidInput` where several agents share one with this label."""
    key = label_key(name)
    blocks = [block for block in (yield from read(BlocksNamed(key))) if block.deleted_at is None]
    if not blocks:
        raise NotFound(f"no block {shown(key)} here")
    if blocks[0].shared_from is not None and len(blocks) > 1:
        several = ", ".join(f"{block.id} of {block.shared_from}" for block in blocks[:5])
        raise InvalidInput(f"several agents share a block {shown(key)}: give the id of one of them: {several}")
    return blocks[0]


def own(name: object, scope: Scope, operation: str) -> Generator[Read[Any], Any, Block]:
    """Finds a block whose settings the scope may change. Raises what `found` raises, and `NotPermitted` for somebody else's."""
    block = yield from found(name, scope)
    if block.shared_from is not None:
        raise NotPermitted(f"block {block.label!r} is shared by {block.shared_from}: only its owner can do that ({operation})")
    return block


def refuse_stale(block: Block, if_hash: str | None) -> None:
    """Raises `Stale` where the content isn't the one with this hash; None stands for any."""
    if if_hash is not None and if_hash != block.content_hash:
        raise Stale(f"block {block.label!r} isn't what was read: its content has changed since. Read it and decide again")


def permitted(
    block: Block, operation: str, needs: Iterable[Needs], digest: bytes, editor: Editor
) -> Generator[Read[Any], Any, tuple[tuple[Change, ...], ConsentRequest | None]]:
    """Decides whether the editor may do it. Returns the changes that the permission itself needs (an approval is used up), and
    the request where consent is needed first: then nothing else may be written. Raises `NotPermitted`."""
    if block.user != editor.scope.user:
        raise NotPermitted(
            f"block {block.label!r} is agent-wide: it is changed by a scope without a user, or make one of this user's own"
        )
    if editor.system and block.shared_from is None:
        return (), None
    for needed in strongest_first(needs):
        verdict = decide(block.granted, needed)
        if verdict.outcome == "refused":
            raise NotPermitted(f"block {block.label!r} can't be changed so ({operation}): {verdict.reason}")
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
        raise NotPermitted(f"block {block.label!r} has {len(pending)} requests for consent that wait: have them answered first")
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
            f"this edit of block {block.label!r} was denied: make another one, or ask again after"
            f" {max(same):%Y-%m-%d %H:%M:%S} UTC"
        )
    if len(denied) >= _MAX_DENIED:
        raise NotPermitted(
            f"{len(denied)} edits of block {block.label!r} were denied: nobody is asked again before"
            f" {sorted(until for until, _ in denied)[-_MAX_DENIED]:%Y-%m-%d %H:%M:%S} UTC"
        )
