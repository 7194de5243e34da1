"""Port: how a server is reached, and how much of it: TLS, the sizes of messages, how many calls at once, keep-alive."""

from __future__ import annotations

import resource
from pathlib import Path

import grpc
import grpc.aio

from germane.errors import InvalidInput
from germane.settings.address import Address
from germane.settings.serving import ServiceSettings

__all__ = ["AT_ONCE", "bound", "options"]

AT_ONCE = 64 * 1024
"""Bytes of a request that a caller may send before anybody has looked at its key: they come together with its headers, and stay
in memory until the call is refused or read. A larger request has arrived when all of it has."""
_ADDED = 1024**2
"""Bytes that an answer may be larger than a request: what comes back whole comes back with something added."""
_HEADERS = 8 * 1024
"""Bytes of a call's metadata; gRPC refuses some calls above that, and all above twice as much."""
_PING = 5000
"""Milliseconds: who asks more often whether we live is told to go away, after two such pings."""
_SETTLED = 10_000
"""Milliseconds until a new connection must have come to its first HTTP/2 frames, TLS included."""
_IDLE, _AGE, _LEAVE = 5 * 60_000, 60 * 60_000, 5 * 60_000
"""Milliseconds after which a connection without calls is closed; after which one is told to be opened anew, which clients do by
themselves; and which its calls have then. It ends what nobody else ends: calls whose answers nobody takes."""
_MOST = 10_000
"""Connections at once."""
_FILES = 0.5
"""Of the file descriptors that the process may have, what connections may take: the rest is for the store and for HTTP."""


def options(serving: ServiceSettings, *, shared: bool) -> list[tuple[str, int]]:
    """gRPC's channel arguments; with `shared`, several processes may listen on the port."""
    return [
        ("grpc.max_receive_message_length", serving.max_message_bytes),
        ("grpc.max_send_message_length", serving.max_message_bytes + _ADDED),
        ("grpc.max_concurrent_streams", serving.max_concurrent_streams),
        ("grpc.http2.lookahead_bytes", AT_ONCE),
        ("grpc.http2.bdp_probe", 0),  # which would let every stream send more ahead, on a quick network megabytes
        ("grpc.max_metadata_size", _HEADERS),
        ("grpc.absolute_max_metadata_size", 2 * _HEADERS),
        ("grpc.max_allowed_incoming_connections", _connections()),
        ("grpc.server_handshake_timeout_ms", _SETTLED),
        ("grpc.max_connection_idle_ms", _IDLE),
        ("grpc.max_connection_age_ms", _AGE),
        ("grpc.max_connection_age_grace_ms", _LEAVE),
        ("grpc.keepalive_time_ms", int(serving.keepalive_seconds * 1000)),
        ("grpc.keepalive_timeout_ms", int(serving.keepalive_timeout_seconds * 1000)),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.min_ping_interval_without_data_ms", _PING),
        ("grpc.http2.max_ping_strikes", 2),
        ("grpc.so_reuseport", int(shared)),
    ]


def _connections() -> int:
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST if allowed == resource.RLIM_INFINITY else max(1, min(_MOST, int(_FILES * allowed)))


def bound(server: grpc.aio.Server, serving: ServiceSettings) -> Address:
    """Where it listens then, with the port the system chose where none was asked for. Raises `InvalidInput` for an address or
    a certificate that can't be used; nothing of the key is in any message."""
    where, credentials = serving.grpc, _credentials(serving)
    try:
        if credentials is None:
            port = server.add_insecure_port(str(where))
        else:
            port = server.add_secure_port(str(where), credentials)
    except RuntimeError:
        why = "it is in use, or isn't this machine's" + (", or tls_cert and tls_key don't fit" if credentials else "")
        raise InvalidInput(f"grpc: {where} can't be listened on: {why}") from None
    return Address(host=where.host, port=port)


def _credentials(serving: ServiceSettings) -> grpc.ServerCredentials | None:
    if serving.tls_cert is None or serving.tls_key is None:
        return None
    authority = serving.tls_client_ca
    return grpc.ssl_server_credentials(
        [(_read("tls_key", serving.tls_key), _read("tls_cert", serving.tls_cert))],
        root_certificates=None if authority is None else _read("tls_client_ca", authority),
        require_client_auth=authority is not None,
    )


def _read(name: str, path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"{name}: {path} can't be read: {error.strerror}") from None
