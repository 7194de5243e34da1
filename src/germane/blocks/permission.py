"""Permission: who may do what to a block: the six permissions, what an operation needs, and the decision."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeGuard, get_args

from germane.errors import UnknownName
from germane.types.limits import shown

__all__ = [
    "PERMISSIONS",
    "SHOWN_PERMISSIONS",
    "Asked",
    "Needs",
    "Permission",
    "Verdict",
    "at_most",
    "checked_permission",
    "decide",
    "effective_permission",
    "strongest_first",
]

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
        raise UnknownName(f"{argument} {shown(value)} doesn't exist: it is one of {', '.join(PERMISSIONS)}")
    return value


def _is_permission(value: object) -> TypeGuard[Permission]:
    return isinstance(value, str) and value in PERMISSIONS
