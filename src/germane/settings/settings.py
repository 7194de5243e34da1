"""Settings: what can be set outside code, from a TOML file and the environment. The only reader of either.

[germane]
embedder = "static"              # GERMANE_EMBEDDER
nonce_key = "64 hex digits"      # GERMANE_NONCE_KEY; without one, a key made once and kept in the store
relevance = "mine.toml"          # GERMANE_RELEVANCE; what `germane eval fit` wrote, beside this file; else the shipped model

[models."my-model"]              # as in the catalog
like = "gpt-4o"
window = 32000

[strategies.terse]               # `like` another strategy, merged deeply
like = "compact"
cap = 1500

[serve]                          # the service's, each with its variable GERMANE_SERVE_…: docs/operate/operate.md
grpc = "127.0.0.1:7411"
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from germane.errors import InvalidInput
from germane.settings.serving import ServiceSettings

__all__ = ["Settings", "read_serving", "read_toml"]

_SERVE = "GERMANE_SERVE_"
_BESIDE = ("db", "tls_cert", "tls_key", "tls_client_ca")
"""Paths: in a file they are meant from where the file is."""
_TABLES = frozenset({"germane", "models", "serve", "strategies"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """`models` and `strategies` are TOML's tables, `relevance` a file of coefficients: checked where they are used."""

    embedder: str = "static"
    nonce_key: bytes | None = None
    relevance: Path | None = None
    models: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    strategies: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path | str | None = None, environ: Mapping[str, str] | None = None) -> Settings:
        """From the file at `path` (none: defaults), over which the variables in `environ` have the last word, unless they are
        empty. Raises `InvalidInput` naming the file, or the variable, and the setting."""
        where = "settings" if path is None else f"settings {path}"
        own = _table({} if path is None else read_toml(Path(path), "settings"), where, _TABLES)
        plain = _table(own.get("germane", {}), f"{where}: [germane]", {"embedder", "nonce_key", "relevance"})
        said = {name: (plain[name], f"{where}: {name}") for name in plain}
        if path is not None and isinstance(beside := plain.get("relevance"), str):
            said["relevance"] = (str(Path(path).parent / beside), f"{where}: relevance")
        for name in ("embedder", "nonce_key", "relevance"):
            variable = f"GERMANE_{name.upper()}"
            if (environ or {}).get(variable):
                said[name] = ((environ or {})[variable], variable)
        for value, setting in said.values():
            if not isinstance(value, str):
                raise InvalidInput(f"{setting} must be a string, not {type(value).__name__}")
        return cls(
            embedder=said["embedder"][0] if "embedder" in said else "static",
            nonce_key=_key(*said["nonce_key"]) if "nonce_key" in said else None,
            relevance=Path(said["relevance"][0]) if "relevance" in said else None,
            models=_tables(own, "models", where),
            strategies=_tables(own, "strategies", where),
        )


def read_serving(
    path: Path | str | None = None,
    environ: Mapping[str, str] | None = None,
    given: Mapping[str, object] | None = None,
) -> ServiceSettings:
    """The service's settings: `[serve]` of the file at `path`, over it the variables in `environ` that aren't empty, over them
    what was `given` on the command line (None there is nothing). Raises `InvalidInput` naming file, variable or option."""
    said: dict[str, tuple[object, str]] = {}
    if path is not None:
        where = f"settings {path}"
        own = _table(read_toml(Path(path), "settings"), where, _TABLES)
        table = _table(own.get("serve", {}), f"{where}: [serve]", frozenset(ServiceSettings.names()))
        for name, value in table.items():
            beside = name in _BESIDE and isinstance(value, str) and value and "\n" not in value
            said[name] = (str(Path(path).parent / value) if beside else value, f"{where}: serve.{name}")
    for variable, text in sorted((environ or {}).items()):
        if not variable.startswith(_SERVE):
            continue
        name = variable.removeprefix(_SERVE).lower()
        if name not in ServiceSettings.names() or variable != variable.upper():
            near = get_close_matches(name, ServiceSettings.names(), n=1) or ServiceSettings.names()
            raise InvalidInput(f"{variable}: unknown; known are {', '.join(_SERVE + one.upper() for one in near)}")
        if text:
            said[name] = (text, variable)
    for name, option in (given or {}).items():
        if option is not None:
            said[name] = (str(option) if isinstance(option, Path) else option, f"--{name.replace('_', '-')}")
    return ServiceSettings.of(said)


def read_toml(path: Path, what: str) -> dict[str, Any]:
    """The tables of a file. Raises `InvalidInput` with `what` it is and its path."""
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InvalidInput(f"{what} {path}: can't be read ({error.strerror})") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{what} {path}: not TOML ({error})") from error


def _table(table: object, where: str, known: Set[str]) -> Mapping[str, Any]:
    if not isinstance(table, Mapping):
        raise InvalidInput(f"{where} must be a table, not {type(table).__name__}")
    if strangers := sorted(set(table) - known):
        raise InvalidInput(f"{where}: unknown {', '.join(strangers)}; known are {', '.join(sorted(known))}")
    return table


def _tables(own: Mapping[str, Any], name: str, where: str) -> Mapping[str, Mapping[str, Any]]:
    """The tables below `[name]`, each checked where it is used."""
    tables = own.get(name, {})
    if not isinstance(tables, Mapping) or not all(isinstance(table, Mapping) for table in tables.values()):
        raise InvalidInput(f"{where}: {name} must be tables such as [{name}.mine]")
    return tables


def _key(text: str, setting: str) -> bytes:
    try:
        key = bytes.fromhex(text)
    except ValueError:
        raise InvalidInput(f"{setting} must be hex digits") from None
    if len(key) < 16:
        raise InvalidInput(f"{setting} must have at least 32 hex digits, not {2 * len(key)}")
    return key
