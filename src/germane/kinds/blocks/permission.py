"""Permission: who may do what to a block: permissions, shares and requests for consent as values.

There are six permissions. `decide` says whether one of them allows what an operation needs. An edit that needs consent
isn't made (BLK-5): its request is stored, and the edit is tried again after the approval. No call waits for an answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Literal, TypeGuard, get_args

from germane.errors import UnknownName, quoted

Permission = Literal["read_only", "partner", "human", "append", "read_write", "admin"]
"""`partner` and `human`: each write needs the consent of the agent's partner, or of a human. `append`: what is there stays.
`read_write` (default): the content may be changed. `admin`: the block and its settings too."""
Needs = Literal["append", "overwrite", "delete"]
"""What an operation needs: to add to the content, to change or remove content, or to rule the block itself."""
Asked = Literal["partner", "human"]
"""Who is asked for consent."""

PERMISSIONS: tuple[Permission, ...] = get_args(Permission)
"""All permissions, weakest first."""
SHOWN_PERMISSIONS: Mapping[Permission, str] = MappingProxyType(
    {
        "read_only": "ReadOnly",
        "partner": "Partner",
        "human": "Human",
        "append": "Append",
        "read_write": "ReadWrite",
        "admin": "Admin",
    }
)
"""How a prompt names each permission."""
_ALLOWS: Mapping[Permission, frozenset[Needs]] = MappingProxyType(
    {
        "read_only": frozenset[Needs](),
        "partner": frozenset[Needs](),
        "human": frozenset[Needs](),
        "append": frozenset[Needs](("append",)),
        "read_write": frozenset[Needs](("append", "overwrite")),
        "admin": frozenset[Needs](("append", "overwrite", "delete")),
    }
)
_DOES: Mapping[Needs, str] = MappingProxyType(
    {"append": "adds to the content", "overwrite": "changes or removes content", "delete": "rules the block itself"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The decision about one operation. `asked` says whose consent is needed; `reason` says why it isn't allowed."""

    outcome: Literal["allowed", "refused", "consent_needed"]
    reason: str = ""
    asked: Asked | None = None


_ALLOWED = Verdict(outcome="allowed")
_NEEDS: tuple[Needs, ...] = get_args(Needs)


def strongest_first(needs: Iterable[Needs]) -> tuple[Needs, ...]:
    """Returns what several operations need, each once: what rules the block first, adding to its content last."""
    return tuple(sorted(set(needs), key=_NEEDS.index, reverse=True))


def decide(permission: Permission, needs: Needs, *, consent: bool = False) -> Verdict:
    """Decides whether an operation that needs `needs` may be done under `permission`. Reading is always allowed. `consent` says
    that whoever has to be asked has approved; it changes nothing under the other permissions."""
    if permission in ("partner", "human"):
        if consent:
            return _ALLOWED
        reason = f"the permission is {SHOWN_PERMISSIONS[permission]}: each write needs the consent of a {permission}"
        return Verdict(outcome="consent_needed", reason=reason, asked=permission)
    if needs in _ALLOWS[permission]:
        return _ALLOWED
    enough = next(one for one in PERMISSIONS if needs in _ALLOWS[one])
    reason = (
        f"the permission is {SHOWN_PERMISSIONS[permission]}, and an operation that {_DOES[needs]} needs"
        f" {SHOWN_PERMISSIONS[enough]}"
    )
    return Verdict(outcome="refused", reason=reason)


def at_most(granted: Permission, own: Permission) -> bool:
    """Whether a share may grant `granted` on a block whose owner has `own`. `partner` and `human` ask different people, so
    neither contains the other."""
    if {granted, own} == {"partner", "human"}:
        return False
    return PERMISSIONS.index(granted) <= PERMISSIONS.index(own)


def effective_permission(granted: Permission, own: Permission) -> Permission:
    """The permission through a share: what was granted, or the owner's own where that allows less by now."""
    return granted if at_most(granted, own) else own


def checked_permission(value: object, argument: str = "permission") -> Permission:
    """Returns one of the six permissions. Raises `UnknownName`."""
    if not _is_permission(value):
        raise UnknownName("{} doesn't exist", value, path=argument, advice=f"it is one of {', '.join(PERMISSIONS)}")
    return value


def _is_permission(value: object) -> TypeGuard[Permission]:
    return isinstance(value, str) and value in PERMISSIONS


# A share: the permission that a block's owner has granted to another agent of the org.


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """`agent` may see the block with this `label`, and edit it as far as `permission` goes. A user's block is shared with that
    agent for the same user; an agent-wide block for all users of that agent."""

    block_id: str
    label: str
    agent: str
    permission: Permission
    created_at: datetime


# A request for consent: an edit that waits for a partner or a person to agree, and their answer (BLK-5).


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
    good for that edit alone; a client of the service doesn't get it."""

    id: str
    block_id: str
    label: str
    asked_of: Asked
    operation: str
    needs: Needs
    digest: bytes = field(default=b"", repr=False)
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
        return f"<ConsentRequest {self.id}: {self.operation} of {quoted(self.label)}, {self.state}>"
