"""Serving: the settings of the service, each with what it means. Values and their checks; `settings` reads them.

[serve]
grpc = "127.0.0.1:7411"          # GERMANE_SERVE_GRPC
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from germane.errors import InvalidInput
from germane.settings.address import Address
from germane.settings.parsing import address, choice, file, flag, number, optional, path, url, whole

__all__ = ["ServiceSettings"]

T = TypeVar("T")

Said = Mapping[str, tuple[object, str]]
"""By name: what was said, and where."""


_HTTP: Address | None = Address(host="127.0.0.1", port=7412)


def _set(default: T, read: Callable[[object, str], T], says: str) -> T:
    found: T = dataclasses.field(default=default, metadata=MappingProxyType({"read": read, "says": says}))
    return found


class _Clash(InvalidInput):
    def __init__(self, name: str, complaint: str) -> None:
        super().__init__(f"{name} {complaint}")
        self.name, self.complaint = name, complaint


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSettings:
    """All that `germane serve` can be told. Sizes in bytes, times in seconds or, where the name says so, milliseconds."""

    db: Path = _set(Path("germane.db"), path, "the database file; made if there is none")
    grpc: Address = _set(Address(host="127.0.0.1", port=7411), address, "where gRPC is served, HOST:PORT")
    http: Address | None = _set(_HTTP, optional(address), "where health, readiness and metrics are served, or `off`")
    workers: int = _set(1, whole(1, 64), "processes that share the port and the file")
    require_keys: bool | None = _set(
        None, optional(flag, "auto"), "whether callers need an API key: `true`, `false`, or `auto`, which is all but loopback"
    )
    tls_cert: Path | None = _set(None, optional(file), "the certificate chain (PEM) that gRPC is served with")
    tls_key: Path | None = _set(None, optional(file), "its private key (PEM, without a passphrase)")
    tls_client_ca: Path | None = _set(None, optional(file), "who signs callers' certificates (PEM): with it, callers need one")
    plaintext: bool = _set(
        False, flag, "whether keys may travel unencrypted where others could listen: behind a proxy that ends TLS"
    )
    max_message_bytes: int = _set(16 * 1024**2, whole(64 * 1024, 1024**3), "the largest request that is read")
    max_concurrent_streams: int = _set(1000, whole(1, 100_000), "calls at once on one connection")
    keepalive_seconds: float = _set(
        30.0, number(5, 7200), "how long a connection may be silent before it is asked whether it lives"
    )
    keepalive_timeout_seconds: float = _set(10.0, number(1, 600), "how long it may take to answer that")
    shutdown_seconds: float = _set(10.0, number(0, 600), "how long calls may take to end once the service is told to stop")
    log_level: str = _set("info", choice("debug", "info", "warning", "error"), "`debug`, `info`, `warning` or `error`")
    log_format: str = _set("json", choice("json", "console"), "`json`, one object a line, or `console`, for people")
    metrics: bool = _set(True, flag, "whether `/metrics` is served")
    otel: str = _set("off", choice("off", "console", "otlp"), "where spans go: `off`, `console`, or `otlp` (extra `otlp`)")
    otel_endpoint: str = _set("", url, "the OTLP endpoint, such as http://collector:4318/v1/traces; empty: OpenTelemetry's own")
    otel_sample: float = _set(1.0, number(0, 1), "the share of requests that get a span, where the caller hasn't decided")
    max_lag_ms: float = _set(50.0, number(1, 60_000), "the event loop's lag above which the service says it isn't ready")

    @classmethod
    def of(cls, said: Said) -> ServiceSettings:
        """From what was said; defaults for the rest. Raises `InvalidInput` naming where it was said."""
        fields = {field.name: field for field in dataclasses.fields(cls)}
        values: dict[str, Any] = {name: fields[name].metadata["read"](*said[name]) for name in said}
        try:
            return cls(**values)
        except _Clash as clash:
            where = said[clash.name][1] if clash.name in said else clash.name
            raise InvalidInput(f"{where} {clash.complaint}") from None

    def __post_init__(self) -> None:
        """Made in code or read: what doesn't go together is refused. Raises `InvalidInput`."""
        for name, complaint in self._complaints():
            raise _Clash(name, complaint)

    @classmethod
    def names(cls) -> tuple[str, ...]:
        return tuple(field.name for field in dataclasses.fields(cls))

    @property
    def keys_required(self) -> bool:
        """Whether a call without an API key is refused."""
        return not self.grpc.loopback if self.require_keys is None else self.require_keys

    def _complaints(self) -> Iterator[tuple[str, str]]:
        """What doesn't go together: the setting to look at first, and what to do."""
        if self.require_keys is False and not self.grpc.loopback:
            yield "require_keys", f"can't be false while {self.grpc} is reached from elsewhere: serve 127.0.0.1, or keep keys"
        if not self.grpc.loopback and self.tls_cert is None and not self.plaintext:
            yield (
                "grpc",
                (
                    f"{self.grpc} is reached from elsewhere, and without TLS callers' keys could be read on their way: give"
                    " tls_cert and tls_key; or, where a proxy in front of it ends TLS, say so with --plaintext"
                    " (GERMANE_SERVE_PLAINTEXT=true, plaintext = true)"
                ),
            )
        if self.tls_cert is None and self.tls_key is not None:
            yield "tls_key", "needs tls_cert as well: a key and its certificate belong together"
        if self.tls_cert is not None and self.tls_key is None:
            yield "tls_cert", "needs tls_key as well: a certificate and its key belong together"
        if self.tls_client_ca is not None and self.tls_cert is None:
            yield "tls_client_ca", "needs tls_cert and tls_key: callers' certificates are checked over TLS"
        if self.http is not None and self.http == self.grpc and self.http.port:
            yield "http", f"must be another address than grpc's, {self.grpc}"
        if self.workers > 1 and 0 in (self.grpc.port, self.http.port if self.http else None):
            yield "workers", "above 1 need ports by number: with port 0 each would get its own"
        if self.otel_endpoint and self.otel != "otlp":
            yield "otel_endpoint", f"needs otel to be otlp, not {self.otel}"
