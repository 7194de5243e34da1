"""Given: a setting's value as it was written, in TOML or as a variable's text, made into what it means, or refused by name."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from germane.errors import InvalidInput
from germane.settings.address import Address

__all__ = ["address", "choice", "file", "flag", "number", "optional", "path", "url", "whole"]

T = TypeVar("T")

_LARGEST = 1024**2
_TRUE, _FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


def optional(read: Callable[[object, str], T], without: str = "off") -> Callable[[object, str], T | None]:
    """None for the word `without`, or for nothing."""

    def reading(value: object, where: str) -> T | None:
        if value in (without, "") or (value is False and without == "off"):
            return None
        try:
            return read(value, where)
        except InvalidInput as error:
            raise InvalidInput(f"{error} ({without!r} for none)" if without == "off" else f"{error}, or {without!r}") from error

    return reading


def address(value: object, where: str) -> Address:
    return Address.parse(_text(value, where, "HOST:PORT"), where)


def choice(*words: str) -> Callable[[object, str], str]:
    def reading(value: object, where: str) -> str:
        said = "off" if value is False and "off" in words else value
        if not isinstance(said, str) or said.strip().lower() not in words:
            raise InvalidInput(f"{where} must be one of {', '.join(words)}, not {_shown(value)}")
        return said.strip().lower()

    return reading


def flag(value: object, where: str) -> bool:
    said = value.strip().lower() if isinstance(value, str) else value
    if isinstance(said, bool):
        return said
    if said in _TRUE or said in _FALSE:
        return said in _TRUE
    raise InvalidInput(f"{where} must be true or false, not {_shown(value)}")


def whole(least: int, most: int) -> Callable[[object, str], int]:
    def reading(value: object, where: str) -> int:
        said: object = value
        if isinstance(value, str):
            digits = value.strip().replace("_", "")
            said = int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 20 else value
        if isinstance(said, bool) or not isinstance(said, int) or not least <= said <= most:
            raise InvalidInput(f"{where} must be a whole number from {least} to {most}, not {_shown(value)}")
        return said

    return reading


def number(least: float, most: float) -> Callable[[object, str], float]:
    def reading(value: object, where: str) -> float:
        try:
            said = math.nan if isinstance(value, bool) or not isinstance(value, int | float | str) else float(value)
        except (ValueError, OverflowError):
            said = math.nan
        if not least <= said <= most:
            raise InvalidInput(f"{where} must be a number from {least:g} to {most:g}, not {_shown(value)}")
        return said

    return reading


def path(value: object, where: str) -> Path:
    said = _text(value, where, "a path")
    if "\0" in said or "\n" in said:
        raise InvalidInput(f"{where} must be a path, not a text of several lines")
    return Path(said)


def file(value: object, where: str) -> Path:
    """A PEM file that can be read. What is in it, and what was given in its stead, is never shown: it may be a key."""
    if isinstance(value, str) and "-----BEGIN" in value:
        raise InvalidInput(f"{where} must be the path of a PEM file, not what is in it")
    found = path(value, where)
    try:
        with found.open("rb") as opened:
            head = opened.read(_LARGEST)
    except OSError as error:
        raise InvalidInput(f"{where}: {str(found)[:200]} can't be read ({error.strerror})") from error
    if b"-----BEGIN " not in head:
        raise InvalidInput(f"{where}: {found} isn't a PEM file (one has a line that begins with -----BEGIN)")
    if b"ENCRYPTED" in head:
        raise InvalidInput(f"{where}: {found} needs a passphrase; write it without one, readable by the service alone")
    return found


def url(value: object, where: str) -> str:
    said = _text(value, where, "an address such as http://collector:4318/v1/traces", empty=True).strip()
    if not said:
        return ""
    try:
        parts = urlsplit(said)
        fine, named = parts.scheme in ("http", "https") and bool(parts.hostname), bool(parts.username or parts.password)
    except ValueError:
        fine, named = False, False
    if named:
        raise InvalidInput(f"{where} must not hold a name or password: give them in OTEL_EXPORTER_OTLP_HEADERS")
    if not fine:
        raise InvalidInput(f"{where} must be an address such as http://collector:4318/v1/traces, not {_shown(value)}")
    return said


def _text(value: object, where: str, what: str, *, empty: bool = False) -> str:
    if not isinstance(value, str) or not (value.strip() or empty):
        raise InvalidInput(f"{where} must be {what}, not {_shown(value)}")
    return value


def _shown(value: object) -> str:
    return repr(value)[:80] if isinstance(value, str | int | float) else type(value).__name__
