"""Consent request: an edit that waits for a partner or a person to agree, and their answer (BLK-5).

An edit that needs consent isn't made: its request is stored, and the edit is tried again after the approval. Nothing waits.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from germane.blocks.permission import Asked, Needs
from germane.types.limits import shown

__all__ = ["CONSENT_TIMEOUT", "ConsentRequest", "ConsentScope", "ConsentState"]

CONSENT_TIMEOUT = timedelta(seconds=300)
"""How long a request can be answered, unless the caller says otherwise."""
ConsentState = Literal["pending", "approved", "denied", "expired"]
ConsentScope = Literal["once", "until", "block"]
"""What an approval covers: this edit, once; every edit of the requester on the block until a time; or without an end. What
rules the block itself (delete, share, permission) the last two cover only where the request was about such an operation."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ConsentRequest:
    """One request. `operation` says in words what is to be done, without content; `requested_by` is the agent, and the caller's
    name for who edits. `expires_at` is when it can't be answered any more. `scope` and `until` are those of an approval;
    `used_at` says when the edit of an approval `once` was made. `digest` is a hash of the edit, so that an approval `once` is
    good for that edit alone."""

    id: str
    block_id: str
    label: str
    asked_of: Asked
    operation: str
    needs: Needs
    digest: bytes
    requested_by: str
    requested_at: datetime
    expires_at: datetime
    state: ConsentState = "pending"
    scope: ConsentScope | None = None
    until: datetime | None = None
    answered_at: datetime | None = None
    used_at: datetime | None = None

    def state_at(self, at: datetime) -> ConsentState:
        """Returns the state at a time: a request that nobody answered in time has expired."""
        return "expired" if self.state == "pending" and at >= self.expires_at else self.state

    def covers(self, digest: bytes, needs: Needs, at: datetime) -> bool:
        """Whether this approval is good for an edit with this digest, which needs `needs`, at this time."""
        if self.state != "approved":
            return False
        if self.scope == "once":
            return self.used_at is None and self.digest == digest
        if needs == "delete" != self.needs:
            return False
        return self.scope == "block" or (self.until is not None and at < self.until)

    def __repr__(self) -> str:
        return f"<ConsentRequest {self.id}: {self.operation} of {shown(self.label)}, {self.state}>"
