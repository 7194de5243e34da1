"""Forget: the plan that removes memories and messages for good and reports which ones (MEM-3).

A fact that is no longer true isn't forgotten but superseded: it stays in history (see `remember.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from germane.errors import InvalidInput
from germane.memories.checks import label
from germane.memories.operations import Forget, ForgetOwner, Select
from germane.types.plan import Change, Decision, Plan, read
from germane.types.scope import Scope

__all__ = ["Receipt", "forget"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """The ids that were forgotten or, after a dry run, that would be. Forgetting the same again returns a receipt without ids.

    Forgotten text is never found again, whatever `scrubbed` says. `scrubbed` is True where nothing of it, nor of anything that
    was forgotten before, is left in any file of the store (the database and its log). It is False while something delays
    that, which `waiting_for` names in words; the scrubbing is completed as soon as that ends, by this process, by another one
    or after a restart. Forgetting the same again retries and reports the state then. After a dry run the two are False and ''.
    """

    memory_ids: tuple[str, ...] = ()
    event_ids: tuple[str, ...] = ()
    dry_run: bool = False
    scrubbed: bool = False
    waiting_for: str = ""

    def __len__(self) -> int:
        return len(self.memory_ids) + len(self.event_ids)


def forget(
    *,
    ids: Sequence[str] | None = None,
    key: str | None = None,
    tag: str | None = None,
    session: str | None = None,
    user: str | None = None,
    everything: bool = False,
    dry_run: bool = False,
    scope: Scope,
    at: datetime,
    by: str = "",
    reason: str = "",
) -> Plan[Receipt]:
    """Forgets the memories and messages that match every criterion given; the outcome says which ones. With `dry_run` nothing
    is written. `ids` are germane's ids or the caller's message ids; an empty list selects nothing.

    `everything`, or `user` as the only criterion, also removes the directive, the sessions, and the owner's name.

    `by` and `reason` are kept in the tombstone, so they must not hold what is being forgotten. Raises `InvalidInput` where no
    criterion is given, where a criterion is blank, and where the scope of a user names another user.
    """
    named = {"key": key, "tag": tag, "session": session, "user": user}
    if ids is None and not everything and all(value is None for value in named.values()):
        raise InvalidInput("what to forget? Give ids, key, tag, session or user, or everything=True for all of this scope")
    for name, value in (named | {"by": by or "-", "reason": reason or "-"}).items():
        if value is not None and not isinstance(value, str):
            raise InvalidInput(f"{name} must be a string, not {type(value).__name__}")
        if value is not None and not value.strip():
            raise InvalidInput(f"{name} is blank: give one, or leave it out")
    if everything and (ids is not None or any(value is not None for name, value in named.items() if name != "user")):
        raise InvalidInput("everything=True goes with no other criterion but user: leave one of them out")
    if user is not None and scope.user is not None and user != scope.user:
        raise InvalidInput("a user's scope forgets only its own: open the agent without a user to forget another's")
    wanted = None if ids is None else tuple(dict.fromkeys((ids,) if isinstance(ids, str) else ids))
    if wanted == ():
        return Decision((), Receipt(dry_run=dry_run))
    found = yield from read(
        Select(
            ids=wanted,
            key=None if key is None else label("key", key),
            tag=None if tag is None else label("tag", tag),
            session=session,
            user=user,
            everything=everything,
        )
    )
    receipt = Receipt(memory_ids=found.memory_ids, event_ids=found.event_ids, dry_run=dry_run)
    whole = everything or (user is not None and ids is None and key is None and tag is None and session is None)
    ended = session if ids is None and key is None and tag is None else None
    if dry_run or not (receipt or whole or ended):
        return Decision((), receipt)
    gone: Change = Forget(memory_ids=found.memory_ids, event_ids=found.event_ids, session=ended, at=at, by=by, reason=reason)
    if whole:
        gone = ForgetOwner(user=user, at=at, by=by, reason=reason)
    return Decision((gone,), receipt)
