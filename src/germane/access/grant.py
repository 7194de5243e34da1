"""Grant: what a caller with a good key may do. All that the rest of germane ever sees of a key."""

from __future__ import annotations

from dataclasses import dataclass

from germane.access.key import RIGHTS, Key, Right

__all__ = ["Grant"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """`key` is the key's id, fit for logs. `agents` None stands for every agent of `org`, an empty tuple for none."""

    key: str
    org: str
    agents: tuple[str, ...] | None = None
    rights: tuple[Right, ...] = RIGHTS

    @classmethod
    def of(cls, key: Key) -> Grant:
        return cls(key=key.id, org=key.org, agents=key.agents, rights=key.rights)

    def allows(self, right: Right, *, org: str, agent: str) -> bool:
        """Whether `right` may be used on `agent` of `org`. Answer a no in one way, whatever of the three is wrong and whether
        there is such an agent or not (SCOPE-3)."""
        return org == self.org and right in self.rights and (self.agents is None or agent in self.agents)
