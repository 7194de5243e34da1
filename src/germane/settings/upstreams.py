"""Upstreams: the LLM providers that a service relays model calls to, by name; only its operator names them.

    [serve.upstreams]
    openai = true                                # a provider that germane knows by name
    local = "http://127.0.0.1:8000"              # any other by its address
    azure = { url = "https://acme.openai.azure.com/openai", key_env = "AZURE_KEY", key_header = "api-key" }

On a command line and in a variable the same is written `openai,local=http://127.0.0.1:8000`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from ipaddress import ip_address
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, get_args
from urllib.parse import urlsplit

from germane.errors import InvalidInput, Phrase
from germane.settings.declaration import known_table
from germane.settings.values import Address, file, flag, text
from germane.types.checks import check_one_of, check_type

KeyHeader: TypeAlias = Literal["authorization", "x-api-key", "api-key"]
"""The header in which a provider expects its key: as `Bearer KEY`, or alone."""

_KEY_HEADERS: tuple[KeyHeader, ...] = get_args(KeyHeader)
_FIELDS = frozenset({"url", "key_env", "key_header", "inject", "ca", "plaintext"})
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_HOST = re.compile(r"[a-z0-9_][a-z0-9._-]*")
_PATH = re.compile(r"[A-Za-z0-9._~!$&'()*+,;=:@/-]*")
_PORTS = {"http": 80, "https": 443}
_MAX_URL = 2048
_MAX_UPSTREAMS = 64
_EXAMPLE = "https://llm.example.com"


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """One provider. `url` is its address; a path in it stands in front of a call's own path.

    With `key`, callers need no key of the provider's: this one is sent in `key_header`, in the place of theirs. `inject` says
    whether model calls to it get memory. `ca` is a file of certificates (PEM) that are trusted for it, in the place of the
    system's. Without TLS only this machine is called, unless `plaintext` is true. Raises `InvalidInput`.
    """

    name: str
    url: str
    key: str | None = field(default=None, repr=False)
    key_header: KeyHeader = "authorization"
    inject: bool = True
    ca: Path | None = None
    plaintext: bool = False

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise InvalidInput("must be 1 to 40 of a-z, 0-9 and -, and not begin with -, not {}", self.name, path="name")
        if self.key is not None and not (self.key.isascii() and self.key.isprintable() and self.key.strip() == self.key != ""):
            raise InvalidInput("must be printable ASCII without spaces around it", path="key")
        parts = _checked_url(self.url)
        if parts.scheme == "http" and not (self.plaintext or self.loopback):
            raise InvalidInput(
                "{} isn't this machine, and without TLS keys and conversations could be read on their way",
                self.url,
                path="url",
                advice="give https://, or plaintext = true where the network itself can be trusted",
            )

    @property
    def secure(self) -> bool:
        """Whether the provider is called over TLS."""
        return urlsplit(self.url).scheme == "https"

    @property
    def host(self) -> str:
        """The host without port, an IPv6 address without brackets."""
        return urlsplit(self.url).hostname or ""

    @property
    def port(self) -> int:
        parts = urlsplit(self.url)
        return parts.port or _PORTS[parts.scheme]

    @property
    def authority(self) -> str:
        """The value of the header `Host`: host, and port where it isn't the scheme's own."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[urlsplit(self.url).scheme] else f"{host}:{self.port}"

    @property
    def base(self) -> str:
        """The path in `url` without a slash at its end, empty for none."""
        return urlsplit(self.url).path.rstrip("/")

    @property
    def loopback(self) -> bool:
        """Whether the address is this machine's own."""
        return Address(host=self.host, port=self.port).loopback


def parse_upstreams(
    given: object, where: str = "upstreams", *, environ: Mapping[str, str] | None = None
) -> Mapping[str, Upstream]:
    """Returns the upstreams by name, in the order in which they are given: a table as in TOML, a list of `NAME` and
    `NAME=URL`, or the same as one text with commas. `key_env` names a variable in `environ`. Raises `InvalidInput` that names
    the upstream, and shows no key."""
    if isinstance(given, str):
        given = [one.strip() for one in given.split(",")]
    entries = _listed(given, where) if isinstance(given, list | tuple) else _table(given, where).items()
    found: dict[str, Upstream] = {}
    for name, value in entries:
        if value is False:
            continue
        if name in found:
            raise InvalidInput("is given more than once", path=f"{where}.{name}")
        try:
            found[name] = _upstream(name, value, environ or {})
        except InvalidInput as error:
            raise error.within(f"{where}.{{}}", Phrase(name) if _NAME.fullmatch(name) else name) from None
    if len(found) > _MAX_UPSTREAMS:
        raise InvalidInput(f"has {len(found)} upstreams, {_MAX_UPSTREAMS} are allowed", path=where)
    return MappingProxyType(found)


def upstreams(value: object, where: str, environ: Mapping[str, str] | None = None) -> Mapping[str, Upstream] | None:
    """The parser of the setting: as `parse_upstreams`, and upstreams that were parsed before stay as they are. None for
    none."""
    if value in (None, "", "off") or value is False:
        return None
    if isinstance(value, dict) and any(isinstance(one, Upstream) for one in value.values()):
        return value
    return dict(parse_upstreams(value, where, environ=environ)) or None


@cache
def known_upstreams() -> Mapping[str, Upstream]:
    """Returns the providers that germane knows by name (`upstreams.toml`)."""
    tables = tomllib.loads(files("germane.catalog").joinpath("upstreams.toml").read_text(encoding="utf-8"))
    return MappingProxyType({name: Upstream(name=name, **table) for name, table in tables.items()})


def _listed(given: Iterable[object], where: str) -> Iterator[tuple[str, object]]:
    for one in given:
        name, equals, address = check_type(where, one, str, "a list of NAME or NAME=URL").partition("=")
        yield name.strip(), address.strip() if equals else True


def _table(given: object, where: str) -> Mapping[str, Any]:
    advice = f'write openai = true, or mine = "{_EXAMPLE}"'
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise InvalidInput(f"must be a table of upstreams, not {type(given).__name__}", path=where, advice=advice)
    return given


def _upstream(name: str, value: object, environ: Mapping[str, str]) -> Upstream:
    known = known_upstreams().get(name)
    if value is True:
        if known is None:
            advice = f"write {name}={_EXAMPLE} to say where it is; known by name are {', '.join(known_upstreams())}"
            raise InvalidInput("isn't a provider that germane knows", advice=advice if _NAME.fullmatch(name) else "")
        return known
    if isinstance(value, str):
        table: Mapping[str, Any] = {"url": value}
    else:
        table = known_table(value, "an upstream", _FIELDS)
    if "url" not in table and known is None:
        raise InvalidInput(f'is needed, such as "{_EXAMPLE}"', path="url")
    return Upstream(
        name=name,
        url=text(table["url"], "url").strip() if "url" in table or known is None else known.url,
        key=_key(table["key_env"], environ) if "key_env" in table else None,
        key_header=_key_header(table.get("key_header"), known),
        inject=flag(table.get("inject", True), "inject"),
        ca=file(table["ca"], "ca") if "ca" in table else None,
        plaintext=flag(table.get("plaintext", False), "plaintext"),
    )


def _key(variable: object, environ: Mapping[str, str]) -> str:
    named = text(variable, "key_env")
    key = environ.get(named, "").strip()
    if not key:
        raise InvalidInput("is {}, a variable that isn't set", named, path="key_env", advice="set it to the provider's key")
    return key


def _key_header(given: object, known: Upstream | None) -> KeyHeader:
    if given is None:
        return "authorization" if known is None else known.key_header
    return check_one_of("key_header", given, _KEY_HEADERS)


def _checked_url(url: str) -> Any:
    """Returns the parts of the address. No error shows a password in it."""
    try:
        parts = urlsplit(url) if len(url) <= _MAX_URL and url.isascii() and url.isprintable() else None
        port = 1 if parts is None or parts.port is None else parts.port
    except ValueError:
        parts, port = None, 1
    if parts is not None and "@" in parts.netloc:
        raise InvalidInput("must not hold a name or password", path="url", advice="name the key's variable in key_env")
    if parts is None or parts.scheme not in _PORTS or not port or not _is_host(parts.hostname or ""):
        raise InvalidInput(f"must be an address such as {_EXAMPLE}", path="url")
    if "?" in url or "#" in url:
        raise InvalidInput("must end with its path, without ? and #", path="url")
    segments = parts.path.split("/")
    if not _PATH.fullmatch(parts.path) or "//" in parts.path or "." in segments or ".." in segments:
        raise InvalidInput("has a path that can't stand in front of others: letters, digits, - and _ in it", path="url")
    return parts


def _is_host(name: str) -> bool:
    if ":" not in name:
        return _HOST.fullmatch(name) is not None
    try:
        return not ip_address(name).is_unspecified and "%" not in name
    except ValueError:
        return False
