"""SecretNote: what was found in a stored message that held secrets, and what the message was like before they were redacted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["SecretNote"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretNote:
    """`kinds` counts the secrets by kind. Of a redacted message, `given_bytes` is the size of its text as sent, in bytes of
    UTF-8, and `kept_hash` is the content hash of the text as stored: by the one a request's own long message is recognised, by
    the other a message that comes back as it was exported. Both are None where the text is stored as sent. Of a redacted event
    there is `kept_hash` alone."""

    kinds: Mapping[str, int] = field(hash=False)
    given_bytes: int | None = None
    kept_hash: int | None = None

    def as_metadata(self) -> dict[str, Any]:
        """The note as it is stored, in the metadata of the message's provenance."""
        note: dict[str, Any] = {"secrets": dict(self.kinds)}
        if self.given_bytes is not None:
            note["given_bytes"] = self.given_bytes
        if self.kept_hash is not None:
            note["kept_hash"] = self.kept_hash
        return note
