"""Proxy headers: which headers of a request go on to an upstream, and which of its answer go back.

All of them do, in their order, with their spelling and repetitions, but for those that belong to one connection (RFC 9110,
7.6.1), germane's own, and the caller's key where the operator's stands in its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from germane.dialects.model_calls import BETAS, ChangedBody
from germane.settings.upstreams import Upstream

Headers: TypeAlias = Sequence[tuple[bytes, bytes]]
"""Names and values in the order and the spelling of the wire."""

OWN = b"x-germane-"
"""How the names of germane's own headers begin."""
_OF_CONNECTION = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)
_OF_REQUEST = frozenset({b"expect", b"http2-settings"})
"""Beside those of a connection: the server itself has answered `Expect` before it reads the body."""
PROVIDER_KEYS = frozenset({b"authorization", b"x-api-key", b"api-key", b"x-goog-api-key"})
"""Where callers put a provider's key."""


def onward(headers: Headers, upstream: Upstream, body: bytes | None) -> list[tuple[bytes, bytes]]:
    """Returns the headers for the upstream. `body` is the whole body that goes on, whose length they say; None for a body that
    is passed as it comes. A body that came in chunks goes on in chunks."""
    key = _key(upstream)
    left_out = _OF_CONNECTION | _OF_REQUEST | _named_by_connection(headers) | (PROVIDER_KEYS if key else frozenset())
    host, framed, found = False, False, list[tuple[bytes, bytes]]()
    for name, value in headers:
        match lower := name.lower():
            case b"host":
                found.append((name, upstream.authority.encode()))
                host = True
            case b"content-length" | b"transfer-encoding" if not framed:
                framed = True
                found.append((name, value if body is None or lower == b"transfer-encoding" else b"%d" % len(body)))
            case b"content-length" | b"transfer-encoding":
                pass
            case _ if key is not None and lower in PROVIDER_KEYS:
                found.append(key)
                key = None
            case _ if lower not in left_out and not lower.startswith(OWN):
                found.append((name, value))
    if not host:
        found.insert(0, (b"Host", upstream.authority.encode()))
    if key is not None:
        found.append(key)
    if body and not framed:
        found.append((b"Content-Length", b"%d" % len(body)))
    return found


def with_betas(headers: Headers, changed: ChangedBody) -> Headers:
    """Returns the headers of a request with the betas that its changed body needs beside the caller's own."""
    if not changed.betas:
        return headers
    name = BETAS.encode()
    places = [place for place, (each, _) in enumerate(headers) if each.lower() == name]
    own = ",".join(headers[place][1].decode("latin-1") for place in places)
    written = (headers[places[0]][0] if places else name), changed.beta_header(own).encode("latin-1")
    left = [header for place, header in enumerate(headers) if place not in places]
    left.insert(places[0] if places else len(left), written)
    return left


def back(headers: Headers, added: Headers = ()) -> list[tuple[bytes, bytes]]:
    """Returns the headers of an upstream's answer for the caller. Those that are `added` stand at the end, and in the place of
    the upstream's of the same name."""
    left_out = _OF_CONNECTION | _named_by_connection(headers) | {name.lower() for name, _ in added}
    if any(name.lower() == b"transfer-encoding" for name, _ in headers):
        left_out |= {b"content-length"}  # the chunks count: a length beside them would frame the answer in another way
    return [(name, value) for name, value in headers if name.lower() not in left_out] + list(added)


def _named_by_connection(headers: Headers) -> frozenset[bytes]:
    """The names in `Connection`. `Host` and the body's length are never the connection's alone."""
    return frozenset(
        named.strip().lower() for name, value in headers if name.lower() == b"connection" for named in value.split(b",")
    )


def _key(upstream: Upstream) -> tuple[bytes, bytes] | None:
    """The header with the operator's key."""
    if upstream.key is None:
        return None
    if upstream.key_header == "authorization":
        return b"Authorization", b"Bearer " + upstream.key.encode()
    return upstream.key_header.encode(), upstream.key.encode()
