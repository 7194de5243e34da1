"""Grant: what a caller with a valid key may do; the result of a verification."""

from __future__ import annotations

from dataclasses import dataclass

from germane.access.key import RIGHTS, Key, Right

__all__ = ["Grant"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """`key` is the key's id, which isn't secret and may be logged. `agents` None allows every agent of `org`, an empty tuple
    allows none."""

    key: str
    org: str
    agents: tuple[str, ...] | None = None
    rights: tuple[Right, ...] = RIGHTS

    @classmethod
    def of(cls, key: Key) -> Grant:
        return cls(key=key.id, org=key.org, agents=key.agents, rights=key.rights)

    def allows(self, right: Right, *, org: str, agent: str) -> bool:
        """Whether the caller has `right` on `agent` of `org`. Callers of this method must answer each refusal in the same way,
        so that nobody learns which of the three was wrong or whether the agent exists (SCOPE-3)."""
        return org == self.org and right in self.rights and (self.agents is None or agent in self.agents)

    def allows_all(self, right: Right, *, org: str) -> bool:
        """Whether the caller has `right` on every agent of `org`. Refusals are answered as those of `allows`."""
        return org == self.org and right in self.rights and self.agents is None
