"""Values: parsers that turn a setting's TOML value or environment text into its type, and the address of a server.

Every parser takes the value and `where`, the name under which the setting was given: the path of its errors. A parser raises
`InvalidInput` for a value that it can't read.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from germane.errors import InvalidInput, Phrase
from germane.types.checks import check_flag, check_number, check_one_of, check_type, check_whole_number

W = TypeVar("W", bound=str)

_MAX_PEM_BYTES = 1024**2
_MAX_DIGITS = 18
"""Digits of a whole number that is written as text."""
_MIN_KEY_BYTES = 16
_MAX_SHOWN = 200
"""Characters of a path that an error shows."""
_URL = "an address such as http://collector:4318/v1/traces"
_TRUE, _FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


def text(value: object, where: str) -> str:
    """A string that isn't blank."""
    found = check_type(where, value, str, "a string")
    if not found.strip():
        raise InvalidInput("is blank", path=where)
    return found


def address(value: object, where: str) -> Address:
    return Address.parse(_text(value, where, "HOST:PORT"), where)


def choice(*words: W) -> Callable[[object, str], W]:
    """A parser for one of `words`, in any case. TOML's `false` counts as `off` where that is one of them."""

    def parse(value: object, where: str) -> W:
        given = "off" if value is False and "off" in words else value
        return check_one_of(where, given.strip().lower() if isinstance(given, str) else given, words)

    return parse


def flag(value: object, where: str) -> bool:
    """True or false, or one of the words true, yes, on, 1, false, no, off, 0."""
    word = value.strip().lower() if isinstance(value, str) else value
    return word in _TRUE if word in (*_TRUE, *_FALSE) and isinstance(word, str) else check_flag(where, value)


def integer(low: int, high: int | None = None) -> Callable[[object, str], int]:
    """A parser for whole numbers within the bounds, both included. Text may group digits with `_`."""

    def parse(value: object, where: str) -> int:
        digits = value.strip().replace("_", "") if isinstance(value, str) else ""
        return check_whole_number(where, int(digits) if digits.isdecimal() and len(digits) <= _MAX_DIGITS else value, low, high)

    return parse


def number(low: float, high: float) -> Callable[[object, str], float]:
    """A parser for numbers within the bounds, both included."""

    def parse(value: object, where: str) -> float:
        try:
            parsed = float(value) if isinstance(value, str) else value
        except ValueError:
            parsed = value
        return check_number(where, parsed, low, high)

    return parse


def key(value: object, where: str) -> bytes:
    """A key in hex digits. No error shows it."""
    written = check_type(where, value, str, "a string")
    try:
        found = bytes.fromhex(written)
    except ValueError:
        raise InvalidInput("must be hex digits", path=where) from None
    if len(found) < _MIN_KEY_BYTES:
        raise InvalidInput(f"must have at least {2 * _MIN_KEY_BYTES} hex digits, not {2 * len(found)}", path=where)
    return found


def path(value: object, where: str) -> Path:
    written = _text(value, where, "a path")
    if "\0" in written or "\n" in written:
        raise InvalidInput("must be a path, not a text of several lines", path=where)
    return Path(written)


def file(value: object, where: str) -> Path:
    """The path of a PEM file that can be read. Error messages never quote the content, nor a value that looks like one: it may
    be a private key."""
    if isinstance(value, str) and "-----BEGIN" in value:
        raise InvalidInput("must be the path of a PEM file, not what is in it", path=where)
    pem_path = path(value, where)
    shown = Phrase(str(pem_path)[:_MAX_SHOWN])
    try:
        with pem_path.open("rb") as opened:
            head = opened.read(_MAX_PEM_BYTES)
    except OSError as error:
        raise InvalidInput(f"is {{}}, which can't be read ({error.strerror})", shown, path=where) from error
    if b"-----BEGIN " not in head:
        raise InvalidInput("is {}, which isn't a PEM file (one has a line that begins with -----BEGIN)", shown, path=where)
    if b"ENCRYPTED" in head:
        raise InvalidInput(
            "is {}, which needs a passphrase", shown, path=where, advice="write it without one, readable by the service alone"
        )
    return pem_path


def url(value: object, where: str) -> str:
    """An http or https URL without user name and password; empty text stays empty."""
    written = check_type(where, value, str, _URL).strip()
    if not written:
        return ""
    try:
        parts = urlsplit(written)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname)
        has_credentials = bool(parts.username or parts.password)
    except ValueError:
        valid, has_credentials = False, False
    if has_credentials:
        raise InvalidInput("must not hold a name or password", path=where, advice="give them in OTEL_EXPORTER_OTLP_HEADERS")
    if not valid:
        raise InvalidInput(f"must be {_URL}, not {{}}", written, path=where)
    return written


def _text(value: object, where: str, said: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InvalidInput(f"must be {said}, not {{}}", value, path=where)
    return value


# The address on which a server listens. It isn't a URL, and no name is resolved here.


_MAX_PORT = 65535
_FORM = "HOST:PORT such as 127.0.0.1:7411, [::1]:7411 or 0.0.0.0:7411"


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """`host` is a name or an IP address without brackets; with port 0 the system chooses the port."""

    host: str
    port: int

    @classmethod
    def parse(cls, written: str, where: str = "address") -> Address:
        """Parses `HOST:PORT`, an IPv6 host in brackets. Raises `InvalidInput` with the path `where`."""
        host, colon, port = written.strip().rpartition(":")
        if host.startswith("[") and host.endswith("]"):
            host = host[1:-1]
        elif ":" in host:
            bracketed = Phrase(f"[{host}]:{port}, or [{written}]:7411"[:_MAX_SHOWN])
            raise InvalidInput("is an IPv6 address, which stands in brackets: {}", bracketed, path=where)
        if not colon or not host or any(mark in host for mark in "[]/@ "):
            raise InvalidInput(f"must be {_FORM}, not {{}}", written, path=where)
        if not (port.isascii() and port.isdigit() and len(port) <= len(str(_MAX_PORT)) and int(port) <= _MAX_PORT):
            raise InvalidInput(f"has a port that isn't a number from 0 to {_MAX_PORT}, but {{}}", port, path=where)
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
