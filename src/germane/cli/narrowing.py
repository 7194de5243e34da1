"""Narrowing: the options that say which stored things count, and the filters they make."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from germane.cli.global_options import GlobalOptions
from germane.errors import InvalidInput

if TYPE_CHECKING:
    from germane.types.query import Filters

__all__ = ["Allow", "Kind", "Narrowing", "Since", "Tag", "Until", "filters"]

Since = Annotated[str | None, typer.Option(help="Only what is from then on (ISO 8601).")]
Until = Annotated[str | None, typer.Option(help="Only what is up to then (ISO 8601).")]
Kind = Annotated[list[str] | None, typer.Option(help="Only memories of this kind (may be repeated).")]
Tag = Annotated[list[str] | None, typer.Option(help="Only what has this tag (may be repeated).")]
Allow = Annotated[list[str] | None, typer.Option(help="Sensitivities to allow: public, private, sensitive (may be repeated).")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrowing:
    """The options as given."""

    since: str | None = None
    until: str | None = None
    kinds: list[str] | None = None
    tags: list[str] | None = None
    allow: list[str] | None = None


def filters(setting: GlobalOptions, given: Narrowing) -> Filters:
    """Raises `InvalidInput` for a time, a kind or a sensitivity that there isn't."""
    from germane.memories.memory import KINDS
    from germane.types.candidate import Sensitivity
    from germane.types.query import Filters

    levels: tuple[Any, ...] = tuple(_known("--allow", name, get_args(Sensitivity)) for name in given.allow or ())
    return Filters(
        since=setting.moment(given.since, "--since"),
        until=setting.moment(given.until, "--until"),
        kinds=tuple(_known("--kind", name, tuple(KINDS)) for name in given.kinds) if given.kinds else None,
        tags=tuple(given.tags) if given.tags else None,
        sensitivities=levels or Filters().sensitivities,
    )


def _known(option: str, name: str, names: tuple[str, ...]) -> str:
    if name not in names:
        raise InvalidInput(f"{option} must be one of {', '.join(names)}, not {name[:40]!r}")
    return name
