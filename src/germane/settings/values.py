"""Values: parsers that turn a setting's TOML value or environment text into its type, and the address of a server.

Every parser takes the value and `where`, the name under which the setting was given, with which its error messages begin. A
parser raises `InvalidInput` for a value that it can't read.
"""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from germane.errors import InvalidInput

T = TypeVar("T")

_MAX_PEM_BYTES = 1024**2
_TRUE, _FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


def optional(read: Callable[[object, str], T], without: str = "off") -> Callable[[object, str], T | None]:
    """A parser that returns None for the word `without` and for empty text, and else what `read` returns."""

    def parse(value: object, where: str) -> T | None:
        if value in (without, "") or (value is False and without == "off"):
            return None
        try:
            return read(value, where)
        except InvalidInput as error:
            raise InvalidInput(f"{error} ({without!r} for none)" if without == "off" else f"{error}, or {without!r}") from error

    return parse


def address(value: object, where: str) -> Address:
    return Address.parse(_text(value, where, "HOST:PORT"), where)


def choice(*words: str) -> Callable[[object, str], str]:
    """A parser for one of `words`, in any case. TOML's `false` counts as `off` where that is one of them."""

    def parse(value: object, where: str) -> str:
        text = "off" if value is False and "off" in words else value
        if not isinstance(text, str) or text.strip().lower() not in words:
            raise InvalidInput(f"{where} must be one of {', '.join(words)}, not {_shown(value)}")
        return text.strip().lower()

    return parse


def flag(value: object, where: str) -> bool:
    """True or false, or one of the words true, yes, on, 1, false, no, off, 0."""
    word = value.strip().lower() if isinstance(value, str) else value
    if isinstance(word, bool):
        return word
    if word in _TRUE or word in _FALSE:
        return word in _TRUE
    raise InvalidInput(f"{where} must be true or false, not {_shown(value)}")


def integer(minimum: int, maximum: int) -> Callable[[object, str], int]:
    """A parser for whole numbers within the bounds, both included. Text may group digits with `_`."""

    def parse(value: object, where: str) -> int:
        parsed: object = value
        if isinstance(value, str):
            digits = value.strip().replace("_", "")
            parsed = int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 20 else value
        if isinstance(parsed, bool) or not isinstance(parsed, int) or not minimum <= parsed <= maximum:
            raise InvalidInput(f"{where} must be a whole number from {minimum} to {maximum}, not {_shown(value)}")
        return parsed

    return parse


def number(minimum: float, maximum: float) -> Callable[[object, str], float]:
    """A parser for numbers within the bounds, both included."""

    def parse(value: object, where: str) -> float:
        try:
            parsed = math.nan if isinstance(value, bool) or not isinstance(value, int | float | str) else float(value)
        except (ValueError, OverflowError):
            parsed = math.nan
        if not minimum <= parsed <= maximum:
            raise InvalidInput(f"{where} must be a number from {minimum:g} to {maximum:g}, not {_shown(value)}")
        return parsed

    return parse


def path(value: object, where: str) -> Path:
    text = _text(value, where, "a path")
    if "\0" in text or "\n" in text:
        raise InvalidInput(f"{where} must be a path, not a text of several lines")
    return Path(text)


def file(value: object, where: str) -> Path:
    """The path of a PEM file that can be read. Error messages never quote the content, nor a value that looks like one: it may
    be a private key."""
    if isinstance(value, str) and "-----BEGIN" in value:
        raise InvalidInput(f"{where} must be the path of a PEM file, not what is in it")
    pem_path = path(value, where)
    try:
        with pem_path.open("rb") as opened:
            head = opened.read(_MAX_PEM_BYTES)
    except OSError as error:
        raise InvalidInput(f"{where}: {str(pem_path)[:200]} can't be read ({error.strerror})") from error
    if b"-----BEGIN " not in head:
        raise InvalidInput(f"{where}: {pem_path} isn't a PEM file (one has a line that begins with -----BEGIN)")
    if b"ENCRYPTED" in head:
        raise InvalidInput(f"{where}: {pem_path} needs a passphrase; write it without one, readable by the service alone")
    return pem_path


def url(value: object, where: str) -> str:
    """An http or https URL without user name and password; empty text stays empty."""
    text = _text(value, where, "an address such as http://collector:4318/v1/traces", empty=True).strip()
    if not text:
        return ""
    try:
        parts = urlsplit(text)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname)
        has_credentials = bool(parts.username or parts.password)
    except ValueError:
        valid, has_credentials = False, False
    if has_credentials:
        raise InvalidInput(f"{where} must not hold a name or password: give them in OTEL_EXPORTER_OTLP_HEADERS")
    if not valid:
        raise InvalidInput(f"{where} must be an address such as http://collector:4318/v1/traces, not {_shown(value)}")
    return text


def _text(value: object, where: str, what: str, *, empty: bool = False) -> str:
    if not isinstance(value, str) or not (value.strip() or empty):
        raise InvalidInput(f"{where} must be {what}, not {_shown(value)}")
    return value


def _shown(value: object) -> str:
    return repr(value)[:80] if isinstance(value, str | int | float) else type(value).__name__


# The address on which a server listens. It isn't a URL, and no name is resolved here.


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
