"""Cursor: encrypts the position at which a listing continues, and binds it to the listing's scope and filters.

A position is the time and the row key of the last thing listed. Row keys count the writes of all orgs in the store, so the
position is encrypted, and authenticated together with the scope and the filters. Both keys are derived from the store's secret.
The same position of the same listing gives the same cursor; cursors of different listings can't be compared. The scheme is a
synthetic IV (SIV, RFC 5297) from the standard library: the tag is a keyed BLAKE2 hash of the position, and serves as the nonce
of the key stream.
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

__all__ = ["SECRET", "Listing"]

SECRET = "SELECT value FROM meta WHERE key = 'nonce_key'"
"""Reads the store's secret."""
_POSITION = Struct(">qq")
_TAG = 16


class Listing:
    """The listing of `what` in one scope with these filters; `secret` is the store's secret."""

    def __init__(self, secret: bytes, scope: Scope, filters: Filters, what: str = "memories") -> None:
        given = {name: getattr(filters, name) for name in filters.__slots__}
        given |= {"exclude": sorted(filters.exclude)}
        about = to_json([what, scope.org, scope.agent, scope.user, given]).encode()
        self._sealing = blake2b(about, key=secret, person=b"cursor: seal", digest_size=32).digest()
        self._hiding = blake2b(key=secret, person=b"cursor: hide", digest_size=32).digest()

    def cursor(self, at: int, key: int) -> str:
        """Returns the cursor that continues after this row."""
        position = _POSITION.pack(at, key)
        tag = self._tag(position)
        return urlsafe_b64encode(tag + self._hidden(tag, position)).decode().rstrip("=")

    def position(self, cursor: str) -> tuple[int, int]:
        """Returns the time and the key of the last row listed. Raises `InvalidInput` for a text that isn't a cursor of this
        listing."""
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
        at, key = _POSITION.unpack(position)
        return at, key

    def _tag(self, position: bytes) -> bytes:
        return blake2b(position, key=self._sealing, digest_size=_TAG).digest()

    def _hidden(self, tag: bytes, position: bytes) -> bytes:
        """Hides a position, or shows it again."""
        stream = blake2b(tag, key=self._hiding, digest_size=_POSITION.size).digest()
        return bytes(one ^ other for one, other in zip(position, stream, strict=False))
