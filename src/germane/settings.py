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
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from germane.errors import InvalidInput

__all__ = ["Settings", "read_toml"]


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
        own = _table({} if path is None else read_toml(Path(path), "settings"), where, {"germane", "models", "strategies"})
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


def read_toml(path: Path, what: str) -> dict[str, Any]:
    """The tables of a file. Raises `InvalidInput` with `what` it is and its path."""
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InvalidInput(f"{what} {path}: can't be read ({error.strerror})") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{what} {path}: not TOML ({error})") from error


def _table(table: object, where: str, known: set[str]) -> Mapping[str, Any]:
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
