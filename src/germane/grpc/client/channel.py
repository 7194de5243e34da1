"""Channel: the server's address for a client: channel options, TLS, the API key, and when a key may be sent.

gRPC keeps one connection and reconnects by itself, half a second after a failure at most. Retries of calls are off: a second
attempt would come too late, and the server may have run the first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import grpc as grpc
import grpc.aio

from germane.api.remote.operation_call import Pem, check_pair, checked_key, read_pem
from germane.errors import InvalidInput
from germane.settings.values import Address

_OPTIONS: tuple[tuple[str, Any], ...] = (
    ("grpc.enable_retries", 0),
    ("grpc.enable_http_proxy", 0),  # environment variables must not redirect conversations
    ("grpc.max_send_message_length", 16 * 1024 * 1024),
    ("grpc.max_receive_message_length", 16 * 1024 * 1024),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 500),
    ("grpc.min_reconnect_backoff_ms", 1000),  # gRPC uses it as the time-out of one attempt to connect
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 2_000),  # also the time-out for unacknowledged bytes, which detects a host that vanished
    ("grpc.use_local_subchannel_pool", 1),  # a client must not wait for the back-off of another one in the process
)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ServerAddress:
    """The address of a server and the credentials for it. `key` is sent with each call as `authorization: Bearer …`."""

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
    ) -> ServerAddress:
        """Checks the arguments of a client and reads certificate files.

        Raises `InvalidInput` for a value or file that can't be used, and for a `key` that would leave this machine unencrypted
        unless `plaintext` allows that.
        """
        if not isinstance(target, str) or not target.strip():
            raise InvalidInput("must be an address such as '127.0.0.1:7411', not {}", target, path="target")
        scheme, web, rest = target.strip().partition("://")
        if web and scheme.lower() in ("http", "https"):
            address, tls_too = (
                rest.partition("/")[0] or "localhost:50051",
                " with tls=True" if scheme.lower() == "https" else "",
            )
            raise InvalidInput(
                "target {} is a web address, and gRPC takes host and port", target, address, advice=f"give {{}}{tls_too}"
            )
        checked_key(key)
        check_pair(certificate, certificate_key)
        secure = tls or roots is not None or certificate is not None or server_name is not None
        if key is not None and not (secure or plaintext or local(target)):
            raise InvalidInput(
                "target {} isn't this machine, and without TLS the key could be read on its way",
                target,
                advice="give tls=True, or plaintext=True where the network itself can be trusted",
            )
        return cls(
            target=target,
            key=key,
            secure=secure,
            roots=read_pem("roots", roots),
            certificate=read_pem("certificate", certificate),
            certificate_key=read_pem("certificate_key", certificate_key),
            server_name=server_name,
        )

    @property
    def call_options(self) -> dict[str, Any]:
        """The options of every call. A call fails at once, without waiting, while no connection can be made."""
        metadata = () if self.key is None else (("authorization", f"Bearer {self.key}"),)
        return {"metadata": metadata, "wait_for_ready": False}

    def dial_blocking(self) -> grpc.Channel:
        """Returns a channel for blocking callers. It connects later."""
        if not self.secure:
            return grpc.insecure_channel(self.target, self._channel_options)
        return grpc.secure_channel(self.target, self._credentials, self._channel_options)

    def dial_asyncio(self) -> grpc.aio.Channel:
        """Returns a channel for the running event loop. It connects later."""
        if not self.secure:
            return grpc.aio.insecure_channel(self.target, self._channel_options)
        return grpc.aio.secure_channel(self.target, self._credentials, self._channel_options)

    @property
    def _channel_options(self) -> tuple[tuple[str, Any], ...]:
        named = (("grpc.ssl_target_name_override", self.server_name),) if self.server_name else ()
        return _OPTIONS + named

    @property
    def _credentials(self) -> grpc.ChannelCredentials:
        return grpc.ssl_channel_credentials(self.roots, self.certificate_key, self.certificate)

    def __repr__(self) -> str:
        return f"<ServerAddress {self.target}{' TLS' if self.secure else ''}{' key' if self.key else ''}>"


def local(target: str) -> bool:
    """Returns whether gRPC reaches only this machine by that target: a Unix socket, `localhost`, or loopback addresses. Returns
    False for a target that it doesn't understand."""
    scheme, colon, rest = target.strip().partition(":")
    if colon and scheme.lower() in ("unix", "unix-abstract"):
        return True
    if colon and scheme.lower() in ("ipv4", "ipv6"):
        return all(_loopback(address) for address in rest.split(","))
    if colon and scheme.lower() in ("dns", "passthrough"):
        authority, _, name = rest[2:].partition("/") if rest.startswith("//") else ("", "", rest)
        return not authority and _loopback(name)  # another name server may resolve the name to any host
    return _loopback(target.strip())


def _loopback(address: str) -> bool:
    """`address` is HOST or HOST:PORT; an IPv6 address may be in brackets."""
    if address.startswith("["):
        host, _, rest = address[1:].partition("]")
        valid = not rest or rest.startswith(":")
    else:
        host, valid = (address if address.count(":") > 1 else address.partition(":")[0]), True
    try:
        return valid and Address(host=host, port=0).loopback
    except ValueError:
        return False
