"""Address: the `HOST:PORT` on which a server listens. It isn't a URL, and no name is resolved here."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from germane.errors import InvalidInput

__all__ = ["Address"]

_FORM = "HOST:PORT such as 127.0.0.1:7411, [::1]:7411 or 0.0.0.0:7411"


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """`host` is a name or an IP address without brackets; with port 0 the system chooses the port."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str, what: str = "address") -> Address:
        """Parses `HOST:PORT`, an IPv6 host in brackets. Raises `InvalidInput`, whose message begins with `what`."""
        host, colon, port = text.strip().rpartition(":")
        if host.startswith("[") and host.endswith("]"):
            host = host[1:-1]
        elif ":" in host:
            raise InvalidInput(f"{what}: an IPv6 address stands in brackets: [{host}]:{port}, or [{text}]:7411")
        if not colon or not host or any(mark in host for mark in "[]/@ "):
            raise InvalidInput(f"{what} must be {_FORM}, not {text[:80]!r}")
        if not (port.isascii() and port.isdigit() and int(port) <= 65535):
            raise InvalidInput(f"{what}: the port must be a number from 0 to 65535, not {port[:20]!r}")
        return cls(host=host, port=int(port))

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach the address. Of names only `localhost` counts; no name is looked up."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host.lower() == "localhost"

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"
