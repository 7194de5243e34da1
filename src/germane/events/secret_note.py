"""SecretNote: the secrets found in a stored message, and what the message was like before anything was left out of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["SecretNote"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretNote:
    """`kinds` counts the secrets by kind. Of a message that was redacted, or that held germane's own text, `given_bytes` is the
    size of its text as sent, in bytes of UTF-8, and `kept_hash` is the content hash of the text as stored: by the one a
    request's own long message is recognised, by the other a message that comes back as it was exported. Both are None where the
    text is stored as sent. Of such an event there is `kept_hash` alone."""

    kinds: Mapping[str, int] = field(hash=False)
    given_bytes: int | None = None
    kept_hash: int | None = None

    def as_metadata(self) -> dict[str, Any]:
        """The note as it is stored, in the metadata of the message's provenance."""
        note: dict[str, Any] = {"secrets": dict(self.kinds)} if self.kinds else {}
        if self.given_bytes is not None:
            note["given_bytes"] = self.given_bytes
        if self.kept_hash is not None:
            note["kept_hash"] = self.kept_hash
        return note
