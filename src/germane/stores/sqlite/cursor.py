"""Cursor: where a listing goes on, sealed, so that it tells its holder nothing and no other listing takes it.

Within lie the time and the row key of the last memory listed. Row keys count the writes of every org in the store, so the
position is enciphered, and authenticated together with whom and for which filters it was given. Both keys come from the store's
secret. One position of one listing is always the same cursor; of two different ones nothing can be compared. Standard library
only: the tag is a keyed BLAKE2 of the position and serves as the nonce of the key stream (SIV).
"""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import blake2b
from struct import Struct

from germane.errors import InvalidInput
from germane.stores.sqlite.encoding import to_json
from germane.types.query import Filters
from germane.types.scope import Scope

__all__ = ["Listing"]

_POSITION = Struct(">qq")
_TAG = 16


class Listing:
    """One scope's listing with these filters; `secret` is the store's."""

    def __init__(self, secret: bytes, scope: Scope, filters: Filters) -> None:
        given = {name: getattr(filters, name) for name in filters.__slots__}
        given |= {"exclude": sorted(filters.exclude)}
        about = to_json([scope.org, scope.agent, scope.user, given]).encode()
        self._sealing = blake2b(about, key=secret, person=b"cursor: seal", digest_size=32).digest()
        self._hiding = blake2b(key=secret, person=b"cursor: hide", digest_size=32).digest()

    def cursor(self, created_at: int, key: int) -> str:
        position = _POSITION.pack(created_at, key)
        tag = self._tag(position)
        return urlsafe_b64encode(tag + self._hidden(tag, position)).decode().rstrip("=")

    def position(self, cursor: str) -> tuple[int, int]:
        """Time and key of the last row listed. Raises `InvalidInput` for what this listing never gave."""
        try:
            sealed = urlsafe_b64decode(f"{cursor}=")
        except ValueError:
            sealed = b""
        tag, position = sealed[:_TAG], self._hidden(sealed[:_TAG], sealed[_TAG:])
        good = len(sealed) == _TAG + _POSITION.size and hmac.compare_digest(tag, self._tag(position))
        if not good or urlsafe_b64encode(sealed).decode().rstrip("=") != cursor:
            raise InvalidInput(
                "cursor isn't one that a listing gave to this scope, with these filters: begin again without one"
            )
        created_at, key = _POSITION.unpack(position)
        return created_at, key

    def _tag(self, position: bytes) -> bytes:
        return blake2b(position, key=self._sealing, digest_size=_TAG).digest()

    def _hidden(self, tag: bytes, position: bytes) -> bytes:
        """Hides a position, or shows it again."""
        stream = blake2b(tag, key=self._hiding, digest_size=_POSITION.size).digest()
        return bytes(one ^ other for one, other in zip(position, stream, strict=False))
