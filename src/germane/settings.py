"""Settings: what can be set outside code, from a TOML file and the environment. The only reader of either.

[germane]
embedder = "static"              # GERMANE_EMBEDDER
nonce_key = "64 hex digits"      # GERMANE_NONCE_KEY; without one, a key made once and kept in the store

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

__all__ = ["Settings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """`models` and `strategies` are TOML's tables, checked where they are used."""

    embedder: str = "static"
    nonce_key: bytes | None = None
    models: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    strategies: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path | str | None = None, environ: Mapping[str, str] | None = None) -> Settings:
        """From the file at `path` (none: defaults), over which the variables in `environ` have the last word. Raises
        `InvalidInput` naming the file and the setting."""
        table = {} if path is None else _read(Path(path))
        environ = environ or {}
        own = _tables(table, {"germane", "models", "strategies"}, "settings")
        plain = _tables(own.get("germane", {}), {"embedder", "nonce_key"}, "[germane]")
        key = environ.get("GERMANE_NONCE_KEY", plain.get("nonce_key"))
        embedder = environ.get("GERMANE_EMBEDDER", plain.get("embedder", "static"))
        if not isinstance(embedder, str):
            raise InvalidInput(f"embedder must be a string, not {type(embedder).__name__}")
        return cls(
            embedder=embedder,
            nonce_key=None if key is None else _key(key),
            models=own.get("models", {}),
            strategies=own.get("strategies", {}),
        )


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InvalidInput(f"settings {path}: can't be read ({error.strerror})") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"settings {path}: not TOML ({error})") from error


def _tables(table: Mapping[str, Any], known: set[str], where: str) -> Mapping[str, Any]:
    if strangers := sorted(set(table) - known):
        raise InvalidInput(f"{where}: unknown {', '.join(strangers)}; known are {', '.join(sorted(known))}")
    return table


def _key(text: object) -> bytes:
    try:
        key = bytes.fromhex(str(text))
    except ValueError as error:
        raise InvalidInput("nonce_key must be hex digits") from error
    if len(key) < 16:
        raise InvalidInput(f"nonce_key must have at least 32 hex digits, not {2 * len(key)}")
    return key
