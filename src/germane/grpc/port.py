"""Port: the server's gRPC options and its address: TLS, message sizes, connections, keep-alive."""

from __future__ import annotations

import resource
from pathlib import Path

import grpc
import grpc.aio

from germane.errors import InvalidInput
from germane.settings.address import Address
from germane.settings.serving import ServiceSettings

__all__ = ["LOOKAHEAD_BYTES", "bind", "options"]

LOOKAHEAD_BYTES = 64 * 1024
"""Bytes of a request that gRPC accepts before the key is verified. They come together with the headers and stay in memory until
the call is refused or its request is read. A larger request counts as arrived when all of it has."""
_MAX_ADDED_BYTES = 1024**2
"""By how much a response may be larger than a request: it holds the request's messages and what was added."""
_MAX_HEADER_BYTES = 8 * 1024
"""Size of a call's metadata. gRPC refuses some calls above it, and all calls above twice as much."""
_MIN_PING_MS = 5000
"""gRPC closes the connection of a client that twice sends keep-alive pings more often."""
_HANDSHAKE_MS = 10_000
"""Time-out for a new connection, until its first HTTP/2 frames; includes TLS."""
_MAX_IDLE_MS, _MAX_AGE_MS, _AGE_GRACE_MS = 5 * 60_000, 60 * 60_000, 5 * 60_000
"""When a connection without calls is closed; when any connection is, after which clients reconnect by themselves; and how long
its calls may go on then. The grace period ends calls whose caller never reads the responses."""
_MAX_CONNECTIONS = 10_000
_CONNECTION_SHARE = 0.5
"""Share of the process's file descriptors that connections may take; the rest is for the store and for HTTP."""


def options(settings: ServiceSettings, *, shared: bool) -> list[tuple[str, int]]:
    """Returns gRPC's channel arguments. With `shared`, several processes may listen on the port."""
    return [
        ("grpc.max_receive_message_length", settings.max_message_bytes),
        ("grpc.max_send_message_length", settings.max_message_bytes + _MAX_ADDED_BYTES),
        ("grpc.max_concurrent_streams", settings.max_concurrent_streams),
        ("grpc.http2.lookahead_bytes", LOOKAHEAD_BYTES),
        ("grpc.http2.bdp_probe", 0),  # it would raise the look-ahead, to megabytes on a fast network
        ("grpc.max_metadata_size", _MAX_HEADER_BYTES),
        ("grpc.absolute_max_metadata_size", 2 * _MAX_HEADER_BYTES),
        ("grpc.max_allowed_incoming_connections", _max_connections()),
        ("grpc.server_handshake_timeout_ms", _HANDSHAKE_MS),
        ("grpc.max_connection_idle_ms", _MAX_IDLE_MS),
        ("grpc.max_connection_age_ms", _MAX_AGE_MS),
        ("grpc.max_connection_age_grace_ms", _AGE_GRACE_MS),
        ("grpc.keepalive_time_ms", int(settings.keepalive_seconds * 1000)),
        ("grpc.keepalive_timeout_ms", int(settings.keepalive_timeout_seconds * 1000)),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.min_ping_interval_without_data_ms", _MIN_PING_MS),
        ("grpc.http2.max_ping_strikes", 2),
        ("grpc.so_reuseport", int(shared)),
    ]


def _max_connections() -> int:
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        return _MAX_CONNECTIONS
    return max(1, min(_MAX_CONNECTIONS, int(_CONNECTION_SHARE * files)))


def bind(server: grpc.aio.Server, settings: ServiceSettings) -> Address:
    """Binds the server to the address of the settings and returns the address, with the port that the system chose for port 0.

    Raises `InvalidInput` for an address or certificate that can't be used. No error text holds anything of the TLS key.
    """
    where, credentials = settings.grpc, _credentials(settings)
    try:
        if credentials is None:
            port = server.add_insecure_port(str(where))
        else:
            port = server.add_secure_port(str(where), credentials)
    except RuntimeError:
        why = "it is in use, or isn't this machine's" + (", or tls_cert and tls_key don't fit" if credentials else "")
        raise InvalidInput(f"grpc: {where} can't be listened on: {why}") from None
    return Address(host=where.host, port=port)


def _credentials(settings: ServiceSettings) -> grpc.ServerCredentials | None:
    if settings.tls_cert is None or settings.tls_key is None:
        return None
    authority = settings.tls_client_ca
    return grpc.ssl_server_credentials(
        [(_read("tls_key", settings.tls_key), _read("tls_cert", settings.tls_cert))],
        root_certificates=None if authority is None else _read("tls_client_ca", authority),
        require_client_auth=authority is not None,
    )


def _read(name: str, path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"{name}: {path} can't be read: {error.strerror}") from None
