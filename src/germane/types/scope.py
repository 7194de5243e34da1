"""Scope: who may see what. org → agent → [user] → [session]."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, replace

from germane.clock import zone
from germane.errors import InvalidInput
from germane.types.limits import ID

__all__ = ["Scope"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Whose things these are (SCOPE-1). Ids are opaque strings of 1 to 256 characters.

    A scope with a user sees what is agent-wide and what is that user's own; without one, what is agent-wide only.
    A session narrows nothing that is seen: it says which conversation is going on. `zone` is the IANA time zone in which
    naive times are read and dates are written.
    """

    org: str = "default"
    agent: str = "default"
    user: str | None = None
    session: str | None = None
    zone: str = "UTC"

    def __post_init__(self) -> None:
        for label, value in (("org", self.org), ("agent", self.agent), ("user", self.user), ("session", self.session)):
            if value is not None or label in ("org", "agent"):
                _check(label, value)
        zone(self.zone)

    @property
    def partitions(self) -> tuple[str | None, ...]:
        """The users whose things are visible: `None` stands for agent-wide."""
        return (None,) if self.user is None else (None, self.user)

    def within(self, session: str | None) -> Scope:
        """The same scope in `session`; the same object where nothing changes."""
        return self if session is None or session == self.session else replace(self, session=session)

    def __str__(self) -> str:
        parts = [self.org, self.agent, *(part for part in (self.user, self.session) if part is not None)]
        return "/".join(parts)


def _check(label: str, value: object) -> None:
    if not isinstance(value, str):
        raise InvalidInput(f"{label} must be a string, not {type(value).__name__}")
    if not 1 <= len(value) <= ID.most:
        raise InvalidInput(f"{label} must have 1 to {ID.most} characters, not {len(value):,}")
    if any(unicodedata.category(char) in ("Cc", "Cs") for char in value):
        raise InvalidInput(f"{label} must not hold control characters or lone surrogates")
