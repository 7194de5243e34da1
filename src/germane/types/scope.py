"""Scope: who asks and whose data is seen."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from germane.clock import zone
from germane.errors import InvalidInput
from germane.types.checks import check_type
from germane.types.limits import ID


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The owner of what is stored and seen (SCOPE-1). Ids are opaque strings of 1 to 256 characters.

    A scope with a user sees what is agent-wide and what is that user's own; a scope without a user sees what is agent-wide
    only. The session hides nothing: it names the running conversation. `zone` is the IANA time zone of naive times and of the
    dates that are written. Raises `InvalidInput`.
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
        """The users whose partitions are visible; None stands for the agent-wide one."""
        return (None,) if self.user is None else (None, self.user)

    def within(self, session: str | None) -> Scope:
        """Returns this scope in `session`, and the same object where nothing changes."""
        if session is None or session == self.session:
            return self
        return Scope(org=self.org, agent=self.agent, user=self.user, session=session, zone=self.zone)

    def __str__(self) -> str:
        parts = [self.org, self.agent, *(part for part in (self.user, self.session) if part is not None)]
        return "/".join(parts)


def _check(label: str, value: object) -> None:
    text = check_type(label, value, str, "a string")
    if not 1 <= len(text) <= ID.maximum:
        raise InvalidInput(f"must have 1 to {ID.maximum} characters, not {len(text):,}", path=label)
    if not text.isprintable() and any(unicodedata.category(char) in ("Cc", "Cs") for char in text):
        raise InvalidInput("must not hold control characters or lone surrogates", path=label)
