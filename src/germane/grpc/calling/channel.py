"""Channel: how a client reaches the server: options, credentials, and nothing that waits.

One connection, kept and found again by gRPC itself: after half a second at most it tries anew. No retries: a second try would
come too late, and the first may have been heard.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import grpc.aio

from germane.errors import InvalidInput
from germane.settings.address import Address as Where

__all__ = ["Address", "Pem", "grpc", "local"]

Pem = bytes | str | Path
"""A certificate or key as it is, or the file it is in."""

_OPTIONS: tuple[tuple[str, Any], ...] = (
    ("grpc.enable_retries", 0),
    ("grpc.enable_http_proxy", 0),  # the environment has no say in where conversations go
    ("grpc.max_send_message_length", 16 * 1024 * 1024),
    ("grpc.max_receive_message_length", 16 * 1024 * 1024),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 500),
    ("grpc.min_reconnect_backoff_ms", 1000),  # which is how long one attempt to connect may take
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 2_000),  # also how long sent bytes may stay unacknowledged: a host that vanished is noticed
    ("grpc.use_local_subchannel_pool", 1),  # clients in one process don't share each other's back-off
)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Address:
    """Where the server is and how to prove who one is. `key` goes as `authorization: Bearer …` with each call."""

    target: str
    key: str | None = None
    secure: bool = False
    roots: bytes | None = None
    certificate: bytes | None = None
    certificate_key: bytes | None = None
    server_name: str | None = None

    @classmethod
    def of(
        cls,
        target: str,
        *,
        key: str | None,
        plaintext: bool,
        tls: bool,
        roots: Pem | None,
        certificate: Pem | None,
        certificate_key: Pem | None,
        server_name: str | None,
    ) -> Address:
        """Raises `InvalidInput` for what can't be used, and for a `key` that would leave this machine unencrypted, unless
        `plaintext` allows that. Certificates are PEM, as bytes or as the path of a file."""
        if not isinstance(target, str) or not target.strip():
            raise InvalidInput(f"target must be an address such as '127.0.0.1:7411', not {target!r}")
        if key is not None and not (isinstance(key, str) and key.isascii() and key.isprintable() and key.strip()):
            raise InvalidInput("key must be the API key as `germane keys create` shows it")
        if (certificate is None) != (certificate_key is None):
            raise InvalidInput("certificate and certificate_key go together: give both, or neither")
        secure = tls or roots is not None or certificate is not None or server_name is not None
        if key is not None and not (secure or plaintext or local(target)):
            raise InvalidInput(
                f"target {target[:200]!r} isn't this machine, and without TLS the key could be read on its way:"
                " give tls=True, or plaintext=True where the network itself can be trusted"
            )
        return cls(
            target=target,
            key=key,
            secure=secure,
            roots=_pem("roots", roots),
            certificate=_pem("certificate", certificate),
            certificate_key=_pem("certificate_key", certificate_key),
            server_name=server_name,
        )

    @property
    def options(self) -> dict[str, Any]:
        """Of every call. One that finds no connection and can't make one ends at once."""
        metadata = () if self.key is None else (("authorization", f"Bearer {self.key}"),)
        return {"metadata": metadata, "wait_for_ready": False}

    def dial(self) -> grpc.Channel:
        """A channel for callers that block. Not connected yet."""
        if not self.secure:
            return grpc.insecure_channel(self.target, self._options)
        return grpc.secure_channel(self.target, self._credentials, self._options)

    def dial_awaited(self) -> grpc.aio.Channel:
        """A channel for the running event loop. Not connected yet."""
        if not self.secure:
            return grpc.aio.insecure_channel(self.target, self._options)
        return grpc.aio.secure_channel(self.target, self._credentials, self._options)

    @property
    def _options(self) -> tuple[tuple[str, Any], ...]:
        named = (("grpc.ssl_target_name_override", self.server_name),) if self.server_name else ()
        return _OPTIONS + named

    @property
    def _credentials(self) -> grpc.ChannelCredentials:
        return grpc.ssl_channel_credentials(self.roots, self.certificate_key, self.certificate)

    def __repr__(self) -> str:
        return f"<Address {self.target}{' TLS' if self.secure else ''}{' key' if self.key else ''}>"


def local(target: str) -> bool:
    """Whether gRPC reaches only this machine by that name: a socket of the file system, `localhost`, or addresses that are
    loopback's. What isn't understood isn't."""
    scheme, colon, rest = target.strip().partition(":")
    if colon and scheme.lower() in ("unix", "unix-abstract"):
        return True
    if colon and scheme.lower() in ("ipv4", "ipv6"):
        return all(_loopback(one) for one in rest.split(","))
    if colon and scheme.lower() in ("dns", "passthrough"):
        authority, _, name = rest[2:].partition("/") if rest.startswith("//") else ("", "", rest)
        return not authority and _loopback(name)  # another's name server may say anything
    return _loopback(target.strip())


def _loopback(named: str) -> bool:
    """`named` is HOST or HOST:PORT, an IPv6 address in brackets or not."""
    if named.startswith("["):
        host, _, rest = named[1:].partition("]")
        fine = not rest or rest.startswith(":")
    else:
        host, fine = (named if named.count(":") > 1 else named.partition(":")[0]), True
    try:
        return fine and Where(host=host, port=0).loopback
    except ValueError:
        return False


def _pem(name: str, given: Pem | None) -> bytes | None:
    if given is None or isinstance(given, bytes):
        return given
    try:
        return Path(given).read_bytes()
    except (OSError, TypeError, ValueError) as error:
        raise InvalidInput(f"{name} can't be read: {error}") from None
