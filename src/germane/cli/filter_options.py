"""FilterOptions: the options that narrow a search (--since, --until, --kind, --tag, --allow)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from germane.cli.global_options import GlobalOptions
from germane.errors import InvalidInput

if TYPE_CHECKING:
    from germane.types.query import Filters

__all__ = ["FilterOptions", "known"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterOptions:
    """The options as typed. A command takes them with `option_groups.expand_groups`."""

    since: Annotated[str | None, typer.Option(help="Only items from this time on (ISO 8601).")] = None
    until: Annotated[str | None, typer.Option(help="Only items up to this time (ISO 8601).")] = None
    kind: Annotated[list[str] | None, typer.Option(help="Only memories of this kind (may be repeated).")] = None
    tag: Annotated[list[str] | None, typer.Option(help="Only memories with this tag (may be repeated).")] = None
    allow: Annotated[
        list[str] | None,
        typer.Option(
            help="Only items of this sensitivity: public, private or sensitive (may be repeated).  [default: public, private]"
        ),
    ] = None

    def filters(self, options: GlobalOptions) -> Filters:
        """Returns the filters of a query. Raises `InvalidInput` for an unreadable time, an unknown kind or sensitivity."""
        from germane.memories.memory import KINDS
        from germane.types.candidate import Sensitivity
        from germane.types.query import Filters

        levels: tuple[Any, ...] = tuple(known("--allow", name, get_args(Sensitivity)) for name in self.allow or ())
        return Filters(
            since=options.parse_time(self.since, "--since"),
            until=options.parse_time(self.until, "--until"),
            kinds=tuple(known("--kind", name, tuple(KINDS)) for name in self.kind) if self.kind else None,
            tags=tuple(self.tag) if self.tag else None,
            sensitivities=levels or Filters().sensitivities,
        )


def known(option: str, name: str, names: tuple[str, ...]) -> str:
    """Returns `name`. Raises `InvalidInput`, with the known names, where it is none of them."""
    if name not in names:
        raise InvalidInput(f"{option} must be one of {', '.join(names)}, not {name[:40]!r}")
    return name
