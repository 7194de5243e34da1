"""Blocking key ring: the twin of `kinds/keys/handle.py` for callers that block, at `germane.keys` of `germane.sync`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from germane.api.workers.threads import Loop
    from germane.kinds.keys import handle as keyring
    from germane.kinds.keys.value import Grant, Key, NewKey, Right


class Keyring:
    """As `germane.kinds.keys.handle.Keyring`, at `germane.keys`."""

    def __init__(self, awaited: keyring.Keyring, loop: Loop) -> None:
        self._awaited, self._call = awaited, loop.call

    def create(
        self,
        *,
        org: str,
        agents: Sequence[str] | None = None,
        rights: Sequence[Right] | None = None,
        lifetime: timedelta | None = None,
        note: str | None = None,
        replaces: str | None = None,
        overlap: timedelta = timedelta(days=1),
    ) -> NewKey:
        return self._call(
            self._awaited.create,
            org=org,
            agents=agents,
            rights=rights,
            lifetime=lifetime,
            note=note,
            replaces=replaces,
            overlap=overlap,
        )

    def list(self, org: str | None = None) -> tuple[Key, ...]:
        return self._call(self._awaited.list, org)

    def revoke(self, id: str) -> Key:
        return self._call(self._awaited.revoke, id)

    def verify(self, token: str, *, patience: float | None = 0.02) -> Grant | None:
        return self._call(self._awaited.verify, token, patience=patience)
