"""Serving: `ServiceSettings`, every setting of `germane serve` with its type, default and description.

`settings.py` reads the values from file, environment and command line; here they are checked.

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
from germane.settings.values import Address, address, choice, file, flag, integer, number, optional, path, url

T = TypeVar("T")

GivenValues = Mapping[str, tuple[object, str]]
"""By setting: the value, and where it was given (a file and key, a variable or an option)."""

_HTTP: Address | None = Address(host="127.0.0.1", port=7412)


def _setting(default: T, parse: Callable[[object, str], T], says: str) -> T:
    """A field with its parser and its description, which the docs and `.env.example` show too."""
    field: T = dataclasses.field(default=default, metadata=MappingProxyType({"parse": parse, "says": says}))
    return field


class _Conflicting(InvalidInput):
    """Two settings contradict each other; `name` is the setting to look at first."""

    def __init__(self, name: str, complaint: str) -> None:
        super().__init__(f"{name} {complaint}")
        self.name, self.complaint = name, complaint


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSettings:
    """Settings of `germane serve`. Sizes are in bytes, times in seconds, or milliseconds where the name says so. Raises
    `InvalidInput` for settings that contradict each other."""

    db: Path = _setting(Path("germane.db"), path, "the database file; created if it doesn't exist")
    grpc: Address = _setting(Address(host="127.0.0.1", port=7411), address, "gRPC port, HOST:PORT")
    http: Address | None = _setting(_HTTP, optional(address), "HTTP port for health, readiness and metrics, HOST:PORT or `off`")
    workers: int = _setting(1, integer(1, 64), "number of processes that share the ports and the database file")
    require_keys: bool | None = _setting(
        None,
        optional(flag, "auto"),
        "whether callers need an API key: `true`, `false`, or `auto`, true except on loopback",
    )
    tls_cert: Path | None = _setting(None, optional(file), "certificate chain (PEM) of the gRPC port")
    tls_key: Path | None = _setting(None, optional(file), "private key of that certificate (PEM, without a passphrase)")
    tls_client_ca: Path | None = _setting(
        None,
        optional(file),
        "CA (PEM) of callers' certificates; if set, every caller needs one",
    )
    plaintext: bool = _setting(
        False,
        flag,
        "whether gRPC may do without TLS on an address that others reach: behind a proxy that ends TLS",
    )
    max_message_bytes: int = _setting(16 * 1024**2, integer(64 * 1024, 1024**3), "largest gRPC request that is accepted")
    max_concurrent_streams: int = _setting(1000, integer(1, 100_000), "largest number of concurrent calls on one connection")
    keepalive_seconds: float = _setting(
        30.0, number(5, 7200), "seconds without traffic after which a connection gets a keepalive ping"
    )
    keepalive_timeout_seconds: float = _setting(10.0, number(1, 600), "seconds to wait for the answer to that ping")
    shutdown_seconds: float = _setting(10.0, number(0, 600), "seconds that running calls get to end when the service stops")
    log_level: str = _setting("info", choice("debug", "info", "warning", "error"), "`debug`, `info`, `warning` or `error`")
    log_format: str = _setting("json", choice("json", "console"), "`json`, one object per line, or `console`, text for people")
    metrics: bool = _setting(True, flag, "whether `/metrics` is served")
    otel: str = _setting(
        "off",
        choice("off", "console", "otlp"),
        "where spans are sent: `off`, `console`, or `otlp` (extra `otlp`)",
    )
    otel_endpoint: str = _setting("", url, "OTLP endpoint, http://collector:4318/v1/traces; if empty, OpenTelemetry's default")
    otel_sample: float = _setting(1.0, number(0, 1), "share of requests (0 to 1) that get a span, unless the caller decided")
    deadline_ms: float = _setting(
        48.0,
        number(5, 60_000),
        "milliseconds within which a context is due, unless the caller's `deadline_ms` or gRPC deadline is earlier",
    )
    max_lag_ms: float = _setting(50.0, number(1, 60_000), "event loop lag in milliseconds above which `/ready` fails")

    @classmethod
    def of(cls, given: GivenValues) -> ServiceSettings:
        """Parses `given`; other settings keep their defaults. Raises `InvalidInput` that names where a value was given."""
        fields = {field.name: field for field in dataclasses.fields(cls)}
        values: dict[str, Any] = {name: fields[name].metadata["parse"](*given[name]) for name in given}
        try:
            return cls(**values)
        except _Conflicting as error:
            where = given[error.name][1] if error.name in given else error.name
            raise InvalidInput(f"{where} {error.complaint}") from None

    def __post_init__(self) -> None:
        for name, complaint in self._conflicts():
            raise _Conflicting(name, complaint)

    @classmethod
    def names(cls) -> tuple[str, ...]:
        return tuple(field.name for field in dataclasses.fields(cls))

    @property
    def keys_required(self) -> bool:
        """Whether a call without an API key is refused."""
        return not self.grpc.loopback if self.require_keys is None else self.require_keys

    def _conflicts(self) -> Iterator[tuple[str, str]]:
        """Settings that contradict each other: the setting to look at first, and what to do."""
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
