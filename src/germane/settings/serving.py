"""Serving: `ServiceSettings`, every setting of `germane serve` with its type, default and description.

`settings.py` reads the values from file, environment and command line; here they are checked.

[serve]
grpc = "127.0.0.1:7411"          # GERMANE_SERVE_GRPC
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from germane.errors import InvalidInput
from germane.settings.declaration import GivenValues, optional_setting, parsed, setting
from germane.settings.upstreams import Upstream, upstreams
from germane.settings.values import Address, address, choice, file, flag, integer, number, path, url

_HTTP = Address(host="127.0.0.1", port=7412)


class _Conflicting(InvalidInput):
    """Two settings contradict each other; the path is the name of the setting to look at first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSettings:
    """Settings of `germane serve`. Sizes are in bytes, times in seconds, or milliseconds where the name says so. Raises
    `InvalidInput` for settings that contradict each other."""

    db: Path = setting(Path("germane.db"), path, "the database file; created if it doesn't exist", relative=True)
    grpc: Address = setting(Address(host="127.0.0.1", port=7411), address, "gRPC port, HOST:PORT")
    http: Address | None = optional_setting(
        address, "HTTP port for operations, health, readiness and metrics, HOST:PORT or `off`", default=_HTTP
    )
    workers: int = setting(1, integer(1, 64), "number of processes that share the ports and the database file")
    require_keys: bool | None = optional_setting(
        flag,
        "whether callers need an API key: `true`, `false`, or `auto`, true except on loopback",
        without="auto",
    )
    tls_cert: Path | None = optional_setting(
        file, "certificate chain (PEM) of both ports, which then speak only TLS", relative=True
    )
    tls_key: Path | None = optional_setting(file, "private key of that certificate (PEM, without a passphrase)", relative=True)
    tls_client_ca: Path | None = optional_setting(
        file,
        "CA (PEM) of callers' certificates; if set, every caller needs one",
        relative=True,
    )
    plaintext: bool = setting(
        False,
        flag,
        "whether the ports may do without TLS on an address that others reach: behind a proxy that ends TLS",
    )
    max_message_bytes: int = setting(16 * 1024**2, integer(64 * 1024, 1024**3), "largest gRPC request that is accepted")
    max_concurrent_streams: int = setting(1000, integer(1, 100_000), "largest number of concurrent calls on one connection")
    keepalive_seconds: float = setting(
        30.0, number(5, 7200), "seconds without traffic after which a connection gets a keepalive ping"
    )
    keepalive_timeout_seconds: float = setting(10.0, number(1, 600), "seconds to wait for the answer to that ping")
    shutdown_seconds: float = setting(10.0, number(0, 600), "seconds that running calls get to end when the service stops")
    log_level: str = setting("info", choice("debug", "info", "warning", "error"), "`debug`, `info`, `warning` or `error`")
    log_format: str = setting("json", choice("json", "console"), "`json`, one object per line, or `console`, text for people")
    metrics: bool = setting(True, flag, "whether `/metrics` is served")
    otel: str = setting(
        "off",
        choice("off", "console", "otlp"),
        "where spans are sent: `off`, `console`, or `otlp` (extra `otlp`)",
    )
    otel_endpoint: str = setting("", url, "OTLP endpoint, http://collector:4318/v1/traces; if empty, OpenTelemetry's default")
    otel_sample: float = setting(1.0, number(0, 1), "share of requests (0 to 1) that get a span, unless the caller decided")
    deadline_ms: float = setting(
        48.0,
        number(5, 60_000),
        "milliseconds within which a context is due, unless the caller's `deadline_ms` or gRPC deadline is earlier",
    )
    max_lag_ms: float = setting(50.0, number(1, 60_000), "event loop lag in milliseconds above which `/ready` fails")
    upstreams: Mapping[str, Upstream] | None = optional_setting(
        upstreams, "LLM providers that the HTTP port relays model calls to: `openai,mine=http://127.0.0.1:8000`, or a table"
    )

    @classmethod
    def of(cls, given: GivenValues) -> ServiceSettings:
        """Parses `given`; other settings keep their defaults. Raises `InvalidInput` that names where a value was given."""
        values = parsed(cls, given)
        try:
            return cls(**values)
        except _Conflicting as error:
            where = given[error.path][1] if error.path in given else error.path
            raise InvalidInput(error.problem, path=where) from None

    def __post_init__(self) -> None:
        for name, complaint in self._conflicts():
            raise _Conflicting(complaint, path=name)

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
        if self.upstreams and self.http is None:
            yield "upstreams", "are reached through the HTTP port: give http an address"
        if self.otel_endpoint and self.otel != "otlp":
            yield "otel_endpoint", f"needs otel to be otlp, not {self.otel}"
